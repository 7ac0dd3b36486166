"""Start the worker, follow its events, and leave no process behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compile_in_practice.environment import SETTINGS, process_environment
from compile_in_practice.failure import BuildError
from compile_in_practice.normalize import normalize
from compile_in_practice.store import read_json, write_json, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compile_in_practice.environment import Environment

Job = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a job ended.

    Attributes:
        events: what the job's own process reported, in order.
        stdout: what it wrote to standard output, one text for each cell.
        stderr: what it wrote to standard error, one text for each cell.
        trace: what torch traced in it, an event each, normalized.
        crash: the stack that it left when it crashed or was stopped.
        status: exit status, negative for a signal.
        ending: `time` or `output` where a limit stopped it, else empty.
        left: whether processes outlived it.
        seconds: wall time, for the progress display alone.

    """

    events: list[dict[str, Any]]
    stdout: list[str]
    stderr: list[str]
    trace: list[dict[str, Any]]
    crash: str
    status: int
    ending: str
    left: bool
    seconds: float

    @property
    def complete(self) -> bool:
        """Return whether the job came to its own end."""
        return bool(self.events) and "end" in self.events[-1]


def run_jobs(
    environment: Environment,
    results: Path,
    jobs: list[Job],
    *,
    width: int,
    started: Callable[[str], None],
    ended: Callable[[str, Ended], None],
    settings: dict[str, str] = SETTINGS,
) -> None:
    """Run `jobs` under `settings`, calling back as each starts and ends.

    Raises:
        BuildError: torch cannot be imported, is not the release that its metadata
            says, or the worker itself died.

    """
    if not jobs:
        return
    jobs = sorted(jobs, key=lambda job: not job["fresh"])  # the slow ones first
    for job in jobs:
        with writing(Path(job["scratch"])):
            Path(job["scratch"]).mkdir(parents=True)
    by_id = {job["id"]: job for job in jobs}
    forking = any(not job["fresh"] for job in jobs)
    order = {
        "mode": "fork" if forking else "fresh",
        "allowed": environment.allowed,
        "width": width,
        "jobs": jobs,
        "modules": _warm_modules(environment, results) if forking else [],
    }
    pids: dict[str, int] = {}
    with _worker(results, order, settings) as events:
        try:
            for event in events:
                if "torch" in event:
                    _check_release(environment, event["torch"])
                elif "started" in event:
                    pids[event["started"]] = event["pid"]
                    started(event["started"])
                elif "done" in event:
                    del pids[event["done"]]
                    ended(event["done"], _ended(by_id[event["done"]], event))
        finally:
            for key, pid in pids.items():  # the worker was killed: its jobs are ours to end
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
                _kill_below(Path(by_id[key]["scratch"]))


def _kill_below(folder: Path) -> None:
    """Kill the processes that work in `folder`, in whatever group they are (Linux)."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if Path(os.readlink(process / "cwd")).is_relative_to(folder):
                os.kill(int(process.name), signal.SIGKILL)


def _check_release(environment: Environment, reported: str) -> None:
    if reported.partition("+")[0] != environment.torch:
        message = f"torch says that it is {reported}, its metadata says {environment.torch}"
        raise BuildError(message, remedy="install torch again")


def _warm_modules(environment: Environment, results: Path) -> list[str]:
    """Return what a first compile imports, asked once for each environment."""
    known = read_json(results / "warm.json")
    if known is None:
        order = {"mode": "scout", "allowed": environment.allowed}
        with _worker(results, order, SETTINGS) as events:
            known = [name for event in events for name in event["modules"]]
        write_json(results / "warm.json", known)
    return list(known)


@contextmanager
def _worker(
    results: Path, order: dict[str, Any], settings: dict[str, str]
) -> Iterator[Iterator[dict[str, Any]]]:
    """Start a worker on `order` and give its events; it is gone afterwards."""
    path = results / "scratch" / f"order-{order['mode']}.json"
    write_json(path, order)
    with writing(path), path.with_suffix(".err").open("w+b") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "compile_in_practice.worker", str(path)],
            env=process_environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,  # Ctrl-C reaches this process, which ends that one
        )
        try:
            yield _events(process)
            if process.wait() != 0:
                errors.seek(0)
                raise _worker_error(process.returncode, errors.read().decode(errors="replace"))
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _events(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        if not line.endswith(b"\n"):  # the worker was killed in the middle of a line
            return
        yield json.loads(line)


def _worker_error(status: int, errors: str) -> BuildError:
    lines = errors.strip().splitlines() or [f"status {status}"]
    if "import_module" in errors:
        return BuildError(f"torch cannot be imported: {lines[-1]}", remedy="install torch again")
    return BuildError("the worker that runs the fences died:\n" + "\n".join(lines[-12:]))


def _ended(job: Job, event: dict[str, Any]) -> Ended:
    scratch = Path(job["scratch"])
    mark = job.get("mark", "\x1e")
    texts = {}
    for name in ("stdout", "stderr"):
        raw = _read(scratch / name, job["output_kb"] * 2**10)
        texts[name] = [normalize(part, job["scratch"]) for part in raw.split(mark)]
    written = sum(_size(scratch / name) for name in ("stdout", "stderr"))
    too_much = "output" if written > job["output_kb"] * 2**10 else ""  # written between two looks
    return Ended(
        events=_json_lines(scratch / "events.jsonl"),
        stdout=texts["stdout"],
        stderr=texts["stderr"],
        trace=[_normal(event, job["scratch"]) for event in _json_lines(scratch / "trace.jsonl")],
        crash=_read(scratch / "crash") or _read(scratch / "start"),
        status=event["status"],
        ending=event["ending"] or too_much,
        left=event["left"],
        seconds=event["seconds"],
    )


def _normal(told: Any, scratch: str) -> Any:
    """Return what an event of the trace tells, each text as it is in any run."""
    if isinstance(told, dict):
        return {key: _normal(value, scratch) for key, value in told.items()}
    return normalize(told, scratch) if isinstance(told, str) else told


def _json_lines(path: Path) -> list[dict[str, Any]]:
    """Return what the whole lines of a file hold; its writer may have been killed."""
    lines = _read(path).splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _read(path: Path, limit: int = -1) -> str:
    if not path.exists():
        return ""
    with path.open("rb") as file:
        return file.read(limit).decode("utf-8", errors="replace")
