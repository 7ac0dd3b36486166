"""What happens inside a job's own process."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compile_in_practice.worker import fence, trace, variant
from compile_in_practice.worker.torch_alone import TorchAlone

if TYPE_CHECKING:
    from collections.abc import Callable

Job = dict[str, Any]
OWN = "compile_in_practice"


def run_job(job: Job) -> None:
    """Run the job in this process; write its events to `events.jsonl`.

    The last event says that the end was reached: a process that died, also with
    status 0, leaves a file without it.
    """
    _enter(job)
    if job["env"] and "torch" in sys.modules:  # forked: torch has read its own already
        _set_logs(job["env"])
    with Path("events.jsonl").open("a", encoding="utf-8", buffering=1) as events:

        def tell(event: dict[str, Any]) -> None:
            events.write(json.dumps(event) + "\n")

        (_run_lab if job["kind"] == "lab" else _run_chain)(job, tell)
        _flush()
        tell({"end": True, "threads": _left_threads()})


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _enter(job: Job) -> None:
    """Make this process the job's own: folder, streams, limits, environment."""
    scratch = Path(job["scratch"])
    os.chdir(scratch)
    _flush()
    for fd, name in ((1, "stdout"), (2, "stderr")):
        # The stream objects stay: torch's log handler keeps the stderr of its birth.
        sink = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(sink, fd)
        os.close(sink)
    (scratch / "tmp").mkdir()
    os.environ["TMPDIR"] = str(scratch / "tmp")
    tempfile.tempdir = None  # the warm parent has asked for it, and it is remembered
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(scratch / "cache")
    sys.argv[:] = [fence.FILE]
    sys.path[0] = str(scratch)
    crash = os.open("crash", os.O_WRONLY | os.O_CREAT)
    faulthandler.enable(crash, all_threads=False)
    if sys.platform != "win32":
        faulthandler.register(signal.SIGUSR1, crash, all_threads=False)
        _limit_memory(job["memory_mb"])


def _limit_memory(memory_mb: int) -> None:
    """Allow `memory_mb` MiB of private memory beyond what is held now."""
    import resource  # noqa: PLC0415  (absent on Windows)

    status = Path("/proc/self/status")
    if not status.exists():  # macOS keeps no such file and no such limit
        return
    lines = status.read_text(encoding="ascii").splitlines()
    held_kb = next(int(line.split()[1]) for line in lines if line.startswith("VmData"))
    limit = held_kb * 2**10 + memory_mb * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _set_logs(env: dict[str, str]) -> None:
    """Have torch read its log settings again, from variables set only now.

    Source: torch/testing/_internal/logging_utils.py of torch 2.15.0, whose tests do so.
    """
    os.environ.update(env)
    internal = sys.modules["torch._logging._internal"]
    internal.__dict__["LOG_TRACE_HANDLER"] = None  # made once, for the folder of that time
    internal.__dict__["_init_logs"]()


def _run_chain(job: Job, tell: Callable[[dict[str, Any]], None]) -> None:
    """Execute the cells in order; stop at the first that fails."""
    try:
        variant.enter(job["variant"])
    except AttributeError as error:  # a setting that this release does not have
        told = {**fence.describe(error, fence.FILE), "compared": []}
        tell({"cell": 0, "error": told, "values": {}, "stopped": True})
        return
    TorchAlone.hidden = frozenset({OWN})
    TorchAlone.own = job["scratch"]
    TorchAlone.refuses_inductor = not job["inductor"]
    for name in [m for m in sys.modules if m.partition(".")[0] == OWN]:
        del sys.modules[name]
    Path(fence.FILE).write_text(job["script"], encoding="utf-8")
    module = fence.main_module(job["scratch"])
    tracer = trace.start(Path("trace.jsonl")) if job["trace"] else None
    for index, cell in enumerate(job["cells"]):
        if tracer is not None:
            tracer.cell = index
        if index:
            for stream in (sys.stdout, sys.stderr):
                stream.write(job["mark"])
                stream.flush()
        event = fence.run_cell(cell, cell["first_line"], module)
        if TorchAlone.inductor is not None:
            event = {"inductor": TorchAlone.inductor}
        tell({"cell": index, **event})
        if "held" not in event:
            break
    if tracer is not None:
        tracer.stop()


def _run_lab(job: Job, tell: Callable[[dict[str, Any]], None]) -> None:
    """Call the lab's experiment and report the plain data that it returns."""
    from compile_in_practice.experiment import load  # noqa: PLC0415  (labs alone need it)

    try:
        variant.enter(job["variant"])
        data = load(Path(job["path"]))()
        json.dumps(data, allow_nan=False)
    except BaseException as error:  # noqa: BLE001  (whatever it is, it is reported)
        tell({"error": fence.describe(error, job["path"])})
    else:
        imported = [file for file in _imported_below(job["root"]) if file != job["path"]]
        tell({"data": data, "imported": imported})


def _imported_below(root: str) -> list[str]:
    """Return the files under `root` that this process imported."""
    files = (getattr(module, "__file__", None) or "" for module in [*sys.modules.values()])
    return sorted({f for f in files if f.startswith(root) and "-packages" not in f})


def _left_threads() -> list[str]:
    main = threading.main_thread()
    return [t.name for t in threading.enumerate() if t is not main and not t.daemon]
