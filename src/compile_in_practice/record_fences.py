"""Run the fences that need Inductor, with PyTorch's own defaults, and record them."""

from __future__ import annotations

import platform
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from compile_in_practice import record as records
from compile_in_practice.environment import read_environment
from compile_in_practice.failure import BuildError, Failure
from compile_in_practice.jobs import Chain, chain_job, page_chains
from compile_in_practice.outcome import chain_outcome
from compile_in_practice.project import load_project
from compile_in_practice.reading import page_paths, read_page
from compile_in_practice.recorded import recorded_digest
from compile_in_practice.runner import run_jobs
from compile_in_practice.store import read_json, results_folder

if TYPE_CHECKING:
    from pathlib import Path

    from compile_in_practice.project import Project
    from compile_in_practice.runner import Ended

LIMIT_S = 300.0


def record_fences(root: Path, torch: str | None = None) -> tuple[Path, int, list[Failure]]:
    """Return the record's path, how many fences it holds, and what failed.

    Fences that fail are not in the record, so that a page shows them as missing. What
    the same compiler has recorded on the same release is not run again.

    Raises:
        BuildError: there is no C++ compiler, or torch is not the release asked for.

    """
    project = load_project(root)
    environment = read_environment(project, torch)
    compiler = _compiler()
    chains = [
        chain
        for path in page_paths(project)
        for chain in page_chains(read_page(project, path)[0], record="inductor")
    ]
    kept = _known(project, environment.torch, compiler)
    kept = {sha: kept[sha] for chain in chains for sha in _digests(chain) if sha in kept}
    chains = [chain for chain in chains if not _digests(chain) <= set(kept)]
    failures: list[Failure] = []
    by_key = {chain.key: chain for chain in chains}

    def ended(key: str, how: Ended) -> None:
        if how.complete:  # Inductor's own pool, which the interpreter's exit joins
            how.events[-1]["threads"] = []
        found, wrong = chain_outcome(project, by_key[key], how)
        failures.extend(wrong)
        for fence in by_key[key].fences:
            if fence.name in found:
                result = found[fence.name]
                kept[recorded_digest(fence)] = {
                    "page": fence.page,
                    "name": fence.name,
                    "stdout": result.stdout,
                    "values": result.values,
                    "n_asserts": result.n_held,
                }

    with results_folder(project.results / environment.folder) as results:
        scratch = results / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)

        def job(chain: Chain) -> dict[str, Any]:
            own = chain_job(project, environment, chain, scratch)
            limit_s = chain.limit_s(LIMIT_S)
            # A record keeps no trace, and Inductor's is long.
            return {**own, "fresh": True, "inductor": True, "trace": False, "limit_s": limit_s}

        try:
            run_jobs(
                environment, results, [job(chain) for chain in chains],
                width=1, started=lambda _: None, ended=ended, settings={},
            )  # fmt: skip
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    kept = dict(sorted(kept.items(), key=lambda item: (item[1]["page"], item[1]["name"])))
    path = records.save_fences(
        environment.torch, kept, compiler=compiler,
        python=platform.python_version(), folder=project.records,
    )  # fmt: skip
    return path, len(kept), failures


def _digests(chain: Chain) -> set[str]:
    return {recorded_digest(fence) for fence in chain.fences}


def _known(project: Project, torch: str, compiler: str) -> dict[str, dict[str, Any]]:
    """Return what this compiler has recorded on this release already."""
    path = project.records / f"{records.FENCES}--torch-{torch}.json"
    if (read_json(path) or {}).get("compiler") != compiler:
        return {}
    return records.load_fences(torch, project.records)


def _compiler() -> str:
    """Return what the C++ compiler that Inductor finds says of itself.

    Raises:
        BuildError: there is none.

    """
    for name in ("g++", "clang++"):
        try:
            told = subprocess.run([name, "--version"], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return told.stdout.splitlines()[0]
    message = "recording needs a C++ compiler, and none is here"
    raise BuildError(message, remedy="install g++")
