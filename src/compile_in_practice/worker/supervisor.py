"""Keep jobs running, each within its limits, and leave nothing behind."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from compile_in_practice.worker.child import Job, run_job

if TYPE_CHECKING:
    from collections.abc import Callable

POLL_S = 0.005
DYING_S = 1.0
CRASHED = 70
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def die_with_parent(signum: int | None = None) -> None:
    """Have the kernel send SIGKILL, or `signum`, here when the parent dies (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signum or signal.SIGKILL), 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of processes whose own parent in a job died (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def n_threads() -> int:
    """Return how many threads this process has, 1 where it cannot be told."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else 1


class Process(Protocol):
    """What the supervisor needs of a running job."""

    pid: int

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal, None while it runs."""


class Forked:
    """A job in a child forked from this process."""

    def __init__(self, job: Job, events: int) -> None:
        """Fork; the child closes the descriptor `events`, runs `job` and ends.

        Raises:
            RuntimeError: this process has threads, which no child would survive.

        """
        if (threads := n_threads()) != 1:
            message = f"cannot fork: this process has {threads} threads"
            raise RuntimeError(message)
        self.status: int | None = None
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid:
            return
        status = CRASHED
        try:
            os.setsid()
            os.close(events)  # who waits for the worker must not wait for this
            die_with_parent()
            if os.getppid() != parent:  # it died first
                os._exit(status)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            run_job(job)
            status = 0
        finally:
            os._exit(status)

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal, None while it runs."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status


def spawn(job: Job) -> Process:
    """Start `job` in a fresh interpreter, with the variables that it declares."""
    order = Path(job["scratch"]) / "job.json"
    order.write_text(json.dumps(job), encoding="utf-8")
    with (order.parent / "start").open("wb") as sink:
        return subprocess.Popen(
            [sys.executable, "-m", __package__, "--one", str(order)],
            env={**os.environ, **job["env"]},
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )


def kill(process: Process) -> None:
    """Kill the job's process and its group."""
    try:
        if sys.platform == "win32":
            os.kill(process.pid, signal.SIGTERM)
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        if process.poll() is None:  # it has no group of its own yet
            os.kill(process.pid, signal.SIGKILL)


class Supervisor:
    """Runs jobs, up to `width` at once."""

    def __init__(
        self,
        start: Callable[[Job], Process],
        width: int,
        tell: Callable[[dict[str, Any]], None],
    ) -> None:
        """Take how a job is started, how many at once, and where events go."""
        self.start, self.width, self.tell = start, width, tell
        self.running: dict[str, tuple[Process, Job, float]] = {}
        self.strays: set[str] = set()

    def run(self, jobs: list[Job]) -> None:
        """Run all jobs; however this ends, nothing that they started is left."""
        parent = os.getppid()
        waiting = list(reversed(jobs))
        try:
            while (waiting or self.running) and os.getppid() == parent:
                while waiting and len(self.running) < self.width:
                    self._begin(waiting.pop())
                for process, job, since in [*self.running.values()]:
                    if (ending := self._ending(process, job, since)) is not None:
                        self._finish(process, job, since, ending)
                time.sleep(POLL_S)
        finally:
            left = [process for process, _, _ in self.running.values()]
            self.running.clear()
            for process in left:
                kill(process)
            while any(process.poll() is None for process in left):
                time.sleep(POLL_S)
            while self._kill_orphans():  # each hands its own children over as it dies
                pass

    def _begin(self, job: Job) -> None:
        process = self.start(job)
        self.running[job["id"]] = process, job, time.monotonic()
        self.tell({"started": job["id"], "pid": process.pid})

    def _ending(self, process: Process, job: Job, since: float) -> str | None:
        """Return why the job ends now ('' by itself), or None if it goes on."""
        if process.poll() is not None:
            return ""
        if time.monotonic() - since > job["limit_s"]:
            return "time"
        scratch = Path(job["scratch"])
        written = sum(_size(scratch / name) for name in ("stdout", "stderr"))
        return "output" if written > job["output_kb"] * 2**10 else None

    def _finish(self, process: Process, job: Job, since: float, ending: str) -> None:
        if ending and sys.platform != "win32":
            os.kill(process.pid, signal.SIGUSR1)  # it writes where it is, see child.py
            time.sleep(0.1)
        if ending:
            kill(process)
        while (status := process.poll()) is None:
            time.sleep(POLL_S)
        left = self._outlived(process)
        del self.running[job["id"]]
        self._kill_orphans()
        left = left or job["scratch"] in self.strays
        seconds = round(time.monotonic() - since, 3)
        self.tell(
            {
                "done": job["id"],
                "status": status,
                "ending": ending,
                "left": left,
                "seconds": seconds,
            }
        )

    def _outlived(self, process: Process) -> bool:
        """Return whether processes outlived their job by a second; kill them."""
        if sys.platform == "win32":
            return False
        deadline = time.monotonic() + DYING_S
        while time.monotonic() < deadline:
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return False
            time.sleep(POLL_S)
        kill(process)
        return True

    def _kill_orphans(self) -> bool:
        """Kill this process's children that are no job; return whether there were any.

        It notes where they worked.
        """
        children = Path(f"/proc/self/task/{os.getpid()}/children")
        if not children.exists():
            return False
        jobs = {process.pid for process, _, _ in self.running.values()}
        orphans = {int(text) for text in children.read_text().split()} - jobs
        for pid in orphans:
            with suppress(OSError):  # it ended meanwhile and has no folder any more
                self.strays.add(os.readlink(f"/proc/{pid}/cwd"))
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        return bool(orphans)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
