"""Run each fence as a plain file where torch alone is installed, and compare.

This is the check on everything else: no warm parent, no fork, no rewritten
assertion, no documentation tools. What a reader pastes into a file must give the
values that the page shows.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compile_in_practice.environment import process_environment
from compile_in_practice.failure import BuildError, Failure
from compile_in_practice.jobs import page_chains, reads_log
from compile_in_practice.normalize import normalize
from compile_in_practice.page import script
from compile_in_practice.progress import Progress
from compile_in_practice.store import read_json

if TYPE_CHECKING:
    from compile_in_practice.jobs import Chain
    from compile_in_practice.page import Page
    from compile_in_practice.project import Project

TAIL = """
import json as _json
with open("values.json", "w") as _file:
    _json.dump({_name: eval(_text) for _name, _text in %r.items()}, _file)
"""
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


def run_plain(
    project: Project, pages: list[Page], results: Path, python: str, *, width: int
) -> tuple[int, list[Failure]]:
    """Return how many fences ran as plain files, and which of them differ."""
    chains = [chain for page in pages for chain in page_chains(page)]
    progress = Progress(todo={chain.key: chain.page.name for chain in chains})

    def one(chain: Chain) -> list[Failure]:
        progress.started(chain.key)
        try:
            return _compare(project, chain, results, python)
        finally:
            progress.ended(chain.key)

    with ThreadPoolExecutor(width) as pool:
        found = pool.map(one, chains)
        failures = [failure for chain in found for failure in chain]
    progress.close()
    return sum(len(chain.fences) for chain in chains), failures


def _compare(project: Project, chain: Chain, results: Path, python: str) -> list[Failure]:
    last = chain.fences[-1]
    where = f"{project.shown(chain.page.path)}:{last.line}"
    known = read_json(results / "fences" / f"{chain.key}.json")
    if known is None:
        return [Failure(where=where, what="the run has no result for this fence")]
    expected = known["fences"][last.name]
    try:
        values, stdout = _plain(project, chain, python)
    except (subprocess.SubprocessError, ValueError) as error:
        what = f"fence {last.name} fails as a plain file"
        return [Failure(where=where, what=what, details=tuple(str(error).splitlines()[-6:]))]
    failures = [
        Failure(
            where=where,
            what=f"{last.full_name}.{name}: {value!r}, as a plain file {values[name]!r}",
        )
        for name, value in expected["values"].items()
        if value != values[name]
    ]
    printed = "".join(known["fences"][fence.name]["stdout"] for fence in chain.fences)
    if not failures and stdout != printed:
        details = (f"on the page: {printed!r}", f"as a plain file: {stdout!r}")
        failures.append(
            Failure(where=where, what=f"fence {last.name} prints something else", details=details)
        )
    return failures


def _plain(project: Project, chain: Chain, python: str) -> tuple[dict[str, Any], str]:
    """Return the values and the output of a chain that runs as one plain file.

    Raises:
        ValueError: it failed; the message is what it wrote to standard error.

    """
    last = chain.fences[-1]
    text, _ = script(list(chain.fences))
    inside = {name: expr for name, expr in last.values.items() if not reads_log(expr)}
    env = {k: v for k, v in process_environment().items() if not k.startswith("PYTHON")}
    for fence in chain.fences:
        env |= fence.env
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "fence.py").write_text(text + TAIL % inside, encoding="utf-8")
        env |= {"TORCHINDUCTOR_CACHE_DIR": f"{folder}/cache", "TMPDIR": folder}
        done = subprocess.run(
            [python, "fence.py"], cwd=folder, env=env, capture_output=True, text=True,
            timeout=2 * chain.limit_s(project.limit_s), check=False,
        )  # fmt: skip
        if done.returncode:
            raise ValueError(done.stderr)
        values = json.loads(Path(folder, "values.json").read_text(encoding="utf-8"))
        log = normalize(done.stderr, os.path.realpath(folder))
        stdout = normalize(done.stdout, os.path.realpath(folder))
    for name in last.values:
        if name not in values:
            values[name] = eval(last.values[name], {"log": log, "re": re})  # noqa: S307
    return values, stdout
