"""Run each fence as a plain file where torch alone is installed, and compare.

This is the check on everything else: no warm parent, no fork, no rewritten
assertion, no documentation tools. What a reader pastes into a file must give the
values that the page shows. Where time matters more, `warm` gives up the first two:
that Python imports torch once and forks for each file. With `torch` a file still meets
nothing that it did not import; with `all`, the fastest, what a first compile imports is
there before it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal

from compile_in_practice import ledger
from compile_in_practice.environment import process_environment
from compile_in_practice.failure import BuildError, Failure
from compile_in_practice.jobs import page_chains, reads_log
from compile_in_practice.normalize import normalize
from compile_in_practice.progress import Progress
from compile_in_practice.store import read_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from compile_in_practice.jobs import Chain
    from compile_in_practice.page import Page
    from compile_in_practice.project import Project

TAIL = '__import__("json").dump({_name: eval(_text) for _name, _text in %r.items()}, open(%r, "w"))'
Warm = Literal["torch", "all"] | None
WARM = Path(__file__).with_name("plain_warm.py")
PROBE = "import sys, torch; print(torch.__version__.partition('+')[0], 'numpy' in sys.modules)"


def check_python(python: str, torch: str) -> None:
    """Return if `python` runs torch of this release without numpy.

    Raises:
        BuildError: it does not, so that it would prove nothing.

    """
    told = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, check=False)
    if told.stdout.split() != [torch, "False"]:
        message = f"{python} is no Python with torch {torch} alone: {told.stdout}{told.stderr}"
        raise BuildError(message.strip(), remedy="nox -s plain makes one")


@dataclass(frozen=True, kw_only=True)
class File:
    """A plain file to run: `fence.py` in a folder of its own.

    Attributes:
        folder: where it lies and runs; its output goes to `stdout` and `stderr` there.
        env: all variables that it starts with.
        starts: the names of those that torch reads as it is imported.
        limit_s: the seconds that it may take.

    """

    folder: str
    env: dict[str, str]
    starts: frozenset[str]
    limit_s: float


def run_plain(
    project: Project,
    pages: list[Page],
    results: Path,
    python: str,
    *,
    width: int,
    warm: Warm = None,
) -> tuple[int, list[Failure]]:
    """Return how many fences ran as plain files, and which of them differ.

    Args:
        project: where the pages stand.
        pages: the pages whose fences run.
        results: the folder of the run that the files are compared with.
        python: a Python that has torch alone.
        width: how many files at once.
        warm: what is imported once for many files, in `width` processes: `torch`, or
            `all` that the run of `results` found warm; each file by itself if None.

    Raises:
        BuildError: all is to be warm, and the run itself has not forked.

    """
    modules = ["torch"] if warm == "torch" else read_json(results / "warm.json")
    if warm and modules is None:
        message = "this run did not fork, so that nobody knows what to import beforehand"
        raise BuildError(message, remedy="nox -s plain -- --warm torch")
    chains = [chain for page in pages for chain in page_chains(page)]
    progress = Progress(todo={chain.key: chain.page.name for chain in chains})
    parents: SimpleQueue[WarmPython] = SimpleQueue()

    def start(file: File) -> int:
        if not warm or file.starts:
            return start_python(python, file)
        parent = parents.get()
        try:
            return parent.start(file)
        finally:
            parents.put(parent)

    def one(chain: Chain) -> list[Failure]:
        progress.started(chain.key)
        try:
            return _compare(project, chain, results, start)
        finally:
            progress.ended(chain.key)

    with ExitStack() as stack, ThreadPoolExecutor(width) as pool:
        for _ in range(width if warm else 0):
            parents.put(stack.enter_context(closing(WarmPython(python, modules))))
        found = pool.map(one, chains)
        failures = [failure for chain in found for failure in chain]
    progress.close()
    return sum(len(chain.fences) for chain in chains), failures


def start_python(python: str, file: File) -> int:
    """Run a file in an interpreter of its own; return its exit status.

    Raises:
        subprocess.TimeoutExpired: it took longer than its limit.

    """
    with Path(file.folder, "stdout").open("wb") as out, Path(file.folder, "stderr").open("wb") as e:
        return subprocess.run(
            [python, "fence.py"], cwd=file.folder, env=file.env, stdout=out, stderr=e,
            timeout=file.limit_s, check=False,
        ).returncode  # fmt: skip


class WarmPython:
    """A Python that has imported modules and forks for each file, one after the other."""

    def __init__(self, python: str, modules: list[str]) -> None:
        """Start it, and wait until it has imported them."""
        self.process = subprocess.Popen(
            [python, str(WARM), json.dumps(modules)], env=_environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        try:
            self._answer()
        except ValueError:
            self.close()
            raise

    def start(self, file: File) -> int:
        """Run a file in a fork; return its exit status, negative for a signal.

        Raises:
            ValueError: the process that forks has died.

        """
        asked = {"folder": file.folder, "env": file.env, "limit_s": file.limit_s}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return int(self._answer())

    def close(self) -> None:
        """End it, and wait until it is gone."""
        self.process.terminate()
        self.process.communicate()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        if not (line := self.process.stdout.readline()):
            message = "the process that forks has died"
            raise ValueError(message)
        return line.strip()


def _compare(
    project: Project, chain: Chain, results: Path, start: Callable[[File], int]
) -> list[Failure]:
    last = chain.fences[-1]
    where = f"{project.shown(chain.page.path)}:{last.line}"
    known = read_json(results / "fences" / f"{chain.key}.json")
    if known is None:
        return [Failure(where=where, what="the run has no result for this fence")]
    try:
        values, stdout = _plain(project, chain, start)
    except (subprocess.SubprocessError, ValueError) as error:
        what = f"fence {last.name} fails as a plain file"
        return [Failure(where=where, what=what, details=tuple(str(error).splitlines()[-6:]))]
    failures = [
        Failure(
            where=f"{project.shown(chain.page.path)}:{fence.line}",
            what=f"{fence.full_name}.{name}: {value!r}, as a plain file {found!r}",
        )
        for fence in chain.fences
        for name, found in values[fence.name].items()
        if ledger.differ(value := known["fences"][fence.name]["values"][name], found)
    ]
    printed = "".join(known["fences"][fence.name]["stdout"] for fence in chain.fences)
    if not failures and stdout != printed:
        details = (f"on the page: {printed!r}", f"as a plain file: {stdout!r}")
        failures.append(
            Failure(where=where, what=f"fence {last.name} prints something else", details=details)
        )
    return failures


def _environment() -> dict[str, str]:
    """Return the variables of a reader's shell: none of Python's own."""
    return {k: v for k, v in process_environment().items() if not k.startswith("PYTHON")}


def _plain(
    project: Project, chain: Chain, start: Callable[[File], int]
) -> tuple[dict[str, dict[str, Any]], str]:
    """Return each fence's values as it ends, and the output of their chain as one plain file.

    What an earlier fence counts in its log is left out: the file has one log.

    Raises:
        ValueError: it failed; the message is what it wrote to standard error.

    """
    last = chain.fences[-1]
    text = ""
    for fence in chain.fences:  # the tail takes the empty line between two: no number changes
        inside = {name: expr for name, expr in fence.values.items() if not reads_log(expr)}
        text += f"{fence.source}\n{TAIL % (inside, f'{fence.name}.json')}\n"
    own = {name: value for fence in chain.fences for name, value in fence.env.items()}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "fence.py").write_text(text, encoding="utf-8")
        places = {"TORCHINDUCTOR_CACHE_DIR": f"{folder}/cache", "TMPDIR": folder}
        file = File(
            folder=folder,
            env=_environment() | own | places,
            starts=frozenset(own),
            limit_s=2 * chain.limit_s(project.limit_s),
        )
        status = start(file)
        stdout, log = (Path(folder, name).read_text("utf-8") for name in ("stdout", "stderr"))
        if status:
            raise ValueError(log or f"exit status {status}")
        values = {
            fence.name: json.loads(Path(folder, f"{fence.name}.json").read_text(encoding="utf-8"))
            for fence in chain.fences
        }
        log = normalize(log, os.path.realpath(folder))
        stdout = normalize(stdout, os.path.realpath(folder))
    for name, expr in last.values.items():
        if reads_log(expr):
            values[last.name][name] = eval(expr, {"log": log, "re": re})  # noqa: S307
    return values, stdout
