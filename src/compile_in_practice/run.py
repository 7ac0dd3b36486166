"""Run every page and lab, compare with the ledger, and write what Sphinx renders."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from compile_in_practice import ledger, outcome
from compile_in_practice.answers import unmeasured
from compile_in_practice.contents import unlisted
from compile_in_practice.environment import read_environment
from compile_in_practice.failure import Failure
from compile_in_practice.glossary import read_terms
from compile_in_practice.jobs import Chain, Lab, chain_job, lab_job, labs, page_chains
from compile_in_practice.lint import wrong_prose, wrong_scripts
from compile_in_practice.page import page_name
from compile_in_practice.progress import Progress
from compile_in_practice.project import load_project
from compile_in_practice.reading import page_paths, read_page
from compile_in_practice.report import Report
from compile_in_practice.runner import run_jobs
from compile_in_practice.site import Site, write_site
from compile_in_practice.store import file_digest, read_json, results_folder, write_json
from compile_in_practice.variant import read_variant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compile_in_practice.environment import Environment
    from compile_in_practice.page import Page
    from compile_in_practice.project import Project
    from compile_in_practice.runner import Ended

COMPILING = 5  # times the limit of a fence: a C++ compiler takes seconds a kernel
GENERATED = re.compile(r"\S*/\w+\.main\.cpp:\d+, ")  # where Inductor wrote a kernel
OTHER_SOURCES = {".rst", ".txt", ".ipynb"}
READ_TRACE = "teach src/compile_in_practice/xray.py and worker/trace.py what it is called now"


def build(
    root: Path, torch: str | None = None, *, width: int | None = None, variant: str = ""
) -> Report:
    """Run what has no result yet, write every page's notebook, and report.

    Args:
        root: a folder of the project.
        torch: the release that must be installed, if it matters.
        width: how many fences at once; as many as there are cores by default.
        variant: what is other than in a plain run, if anything.

    Raises:
        BuildError: torch is missing, broken or another release, a ledger is damaged,
            or the results cannot be written.

    """
    project = load_project(root)
    other = read_variant(project, variant)
    environment = read_environment(project, torch, other)
    with results_folder(project.results / environment.folder) as results:
        one = _Run(project, environment, results, other.ledger(project))
        one.read()
        one.execute(width or os.cpu_count() or 1)
        one.compare()
        site = Site(
            project=one.project, environment=one.environment, results=results, ledgers=one.ledgers,
            pages=one.pages, fences=one.fences, lab_data=one.lab_data, report=one.report,
        )  # fmt: skip
        write_site(site)
        return one.report


class _Run:
    """One run: read, execute, compare, write, in this order."""

    def __init__(
        self,
        project: Project,
        environment: Environment,
        results: Path,
        folder: Path,
    ) -> None:
        self.project, self.environment, self.results = project, environment, results
        self.ledgers, self.ledger = ledger.read_ledgers(folder), project.shown(folder)
        self.report = Report(results=results, torch=environment.torch, here=environment.varies_by)
        self.pages: list[Page] = []
        self.chains: list[Chain] = []
        self.labs: list[Lab] = []
        self.fences: dict[str, dict[str, Any]] = {}
        self.reached: dict[str, dict[str, Any]] = {}
        self.failed: dict[str, str] = {}
        self.lab_data: dict[str, Any] = {}
        self.now = {
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "commit": _commit(project.root),
        }

    def read(self) -> None:
        """Read all pages and labs; what is wrong as written is a failure."""
        terms = read_terms(self.project.docs)
        for path in page_paths(self.project):
            page, failures = read_page(self.project, path)
            self.pages.append(page)
            self.report.failures += failures
            self.report.unread |= {page_name(page.name)} if failures else set()
            self.report.failures += wrong_prose(page, self.project.shown(path), terms)
            self.report.failures += unmeasured(page, self.project.shown(path))
            self.chains += page_chains(page)
        self.report.failures += wrong_scripts(self.project)
        self.report.failures += unlisted(self.project, self.pages)
        known = {*self.project.releases, self.environment.torch}
        for release in self.ledgers.keys() - known:
            where = f"{self.ledger}/{release}.json:1"
            remedy = "add it to releases in pyproject.toml, or remove its ledger"
            self._fail(where, f"torch {release} is no release of the matrix", remedy)
        for path in sorted(self.project.docs.rglob("*.*")):
            if path.suffix.lower() in OTHER_SOURCES:
                where = f"{self.project.shown(path)}:1"
                self._fail(where, "no fence of this file is run", "write the page as .md")
        stems: dict[str, Page] = {}
        for page in (page for page in self.pages if page.fences):
            first = stems.setdefault(page_name(page.name), page)
            if first is not page:
                what = f"two pages are named {page_name(page.name)} in expressions"
                self._fail(f"{self.project.shown(page.path)}:1", what, "rename one of the files")
        self.labs, failures = labs(self.project)
        self.report.failures += failures
        self.report.unread |= {f"lab.{PurePath(f.where.rpartition(':')[0]).stem}" for f in failures}
        self.report.n_pages = len(self.pages)

    def execute(self, width: int) -> None:
        """Run the chains and labs that have no result; keep the results that passed."""
        scratch = self.results / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        todo: dict[str, Chain | Lab] = {}
        items: list[Chain | Lab] = [*self.chains, *self.labs]
        for item in items:
            known = read_json(self._path(item))
            if known is not None and self._still_valid(known):
                self._keep(item, known)
                self.report.n_reused += len(known.get("fences", ()))
            else:
                todo[item.key] = item
        jobs = [
            chain_job(self.project, self.environment, item, scratch)
            if isinstance(item, Chain)
            else lab_job(self.project, self.environment, item, scratch)
            for item in todo.values()
        ]
        if self.environment.variant.get("inductor"):
            for job in jobs:
                job["limit_s"] *= COMPILING
        progress = Progress(
            todo={
                key: item.page.name if isinstance(item, Chain) else f"lab {item.name}"
                for key, item in todo.items()
            }
        )

        def ended(key: str, how: Ended) -> None:
            progress.ended(key)
            self._ended(todo.pop(key), how)

        try:
            run_jobs(
                self.environment, self.results, jobs,
                width=width, started=progress.started, ended=ended,
            )  # fmt: skip
        finally:
            progress.close()
            shutil.rmtree(scratch, ignore_errors=True)
        for item in todo.values():
            self._fail(self._where(item), "never ran", "run the build again")

    def _path(self, item: Chain | Lab) -> Path:
        folder = "fences" if isinstance(item, Chain) else "experiments"
        return self.results / folder / f"{item.key}.json"

    def _still_valid(self, known: dict[str, Any]) -> bool:
        """Return whether the project's files that a lab imported are as they were."""
        return all(
            file_digest(Path(path)) == digest for path, digest in known.get("imported", {}).items()
        )

    def _where(self, item: Chain | Lab) -> str:
        if isinstance(item, Lab):
            return f"{self.project.shown(item.path)}:1"
        return f"{self.project.shown(item.page.path)}:{item.fences[0].line}"

    def _fail(self, where: str, what: str, remedy: str = "") -> None:
        self.report.failures.append(Failure(where=where, what=what, remedy=remedy))

    def _ended(self, item: Chain | Lab, how: Ended) -> None:
        if isinstance(item, Lab):
            data, failures = outcome.lab_outcome(self.project, item, how)
            if data is not None:
                imported = {path: file_digest(Path(path)) for path in data["imported"]}
                known = {**self.now, "data": data["data"], "imported": imported}
        else:
            results, failures = outcome.chain_outcome(self.project, item, how)
            failures = [self._with_history(item, failure) for failure in failures]
            known = {**self.now, "fences": {name: vars(result) for name, result in results.items()}}
            if failures:
                what = GENERATED.sub("", failures[0].what)
                self.failed |= {f.full_name: what for f in item.fences}
                reached = outcome.reached_values(item, how)
                self.reached |= {f.full_name: reached.get(f.name, {}) for f in item.fences}
        self.report.failures += failures
        if not failures:
            write_json(self._path(item), known)
            self._keep(item, known)

    def _with_history(self, chain: Chain, failure: Failure) -> Failure:
        """Add the torch release, and the last one on which this very fence passed."""
        line = int(failure.where.rpartition(":")[2])
        fence = [f for f in chain.fences if f.line <= line][-1]
        held = ledger.last_held(self.ledgers, fence.full_name, chain.digest(fence))
        history = f"torch {self.environment.torch}"
        if held is not None:
            history += f"; this very fence last held on torch {held}"
        return Failure(
            where=failure.where,
            what=failure.what,
            details=(*failure.details, history),
            remedy=failure.remedy,
        )

    def _keep(self, item: Chain | Lab, known: dict[str, Any]) -> None:
        if isinstance(item, Lab):
            self.lab_data[item.name] = known["data"]
            self.report.n_labs += 1
            return
        for fence in item.fences:
            result = known["fences"][fence.name]
            self.fences[fence.full_name] = {
                **result,
                "date": known["date"],
                "commit": known["commit"],
            }
            self.report.n_fences += 1
            self.report.n_held += result["n_held"]

    def compare(self) -> None:
        """Hold the values against the ledger; report marks and what never ran."""
        running = [(chain, fence) for chain in self.chains for fence in chain.fences]
        for chain, fence in running:
            where = f"{self.project.shown(self.project.docs / (fence.page + '.md'))}:{fence.line}"
            passed = self.fences.get(fence.full_name)
            values = passed["values"] if passed else self.reached.get(fence.full_name, {})
            fails = self.failed.get(fence.full_name, "")
            if fence.compares and self.environment.variant.get("inductor"):
                values, fails = {}, ""  # all that it holds side by side is one there
            measured = ledger.Measured(
                name=fence.full_name, where=where, source=chain.digest(fence),
                values=values, varies=fence.varies,
                warnings=ledger.deprecations(passed["stderr"]) if passed else (),
                fails=fails,
            )  # fmt: skip
            (self.report.measured if passed else self.report.reached).append(measured)
            if fence.setup is not None:
                self.report.setups.append(f"{where}: {fence.setup}")
        for lab in self.labs:
            ran = lab.name in self.lab_data
            measured = ledger.Measured(
                name=f"lab.{lab.name}", where=f"{self.project.shown(lab.path)}:1", source=lab.key,
                values=dict(_exact(self.lab_data[lab.name])) if ran else {}, varies={},
            )  # fmt: skip
            (self.report.measured if ran else self.report.reached).append(measured)
        self._tell_unknown_traces()
        if not running and not self.labs:
            self._fail("docs:1", "no page has a fence that runs", "a build must prove something")
        found = ledger.compare(
            self.ledgers, self.report.measured, self.environment.torch, self.environment.varies_by
        )
        self.report.notices += ledger.outdated(
            self.ledgers, self.report.measured, self.environment.torch
        )
        self.report.failures += found.failures
        own = self.ledgers.get(self.environment.torch, {})
        for name in ledger.stale(own, self.report.measured, self.report.hidden):
            where = f"{self.ledger}/{self.environment.torch}.json:1"
            remedy = f"nox -s ledger -- {self.environment.torch}"
            self._fail(where, f"{name} is on no page", remedy)
        self.report.notices += [str(item) for item in found.drift]
        required = {self.project.reference, self.project.current}
        if os.environ.get("CI") and self.environment.torch in required:
            self.report.failures += found.unknown
        elif found.unknown:
            self.report.notices.append(
                f"the ledger of torch {self.environment.torch} does not know"
                f" {len({item.where for item in found.unknown})} of the fences and labs"
                f" as they stand: nox -s ledger -- {self.environment.torch}"
            )

    def _tell_unknown_traces(self) -> None:
        """Say that the X-ray cannot read this release, rather than show an empty one.

        It is a failure on the releases that this site follows and a notice on any other.
        """
        unknown = [
            fence
            for chain in self.chains
            for fence in chain.fences
            if "problem" in (self.fences.get(fence.full_name, {}).get("xray") or {})
        ]
        if not unknown:
            return
        first = unknown[0]
        where = f"{self.project.shown(self.project.docs / (first.page + '.md'))}:{first.line}"
        what = (
            f"the trace of torch {self.environment.torch} has a shape that is not known:"
            f" {self.fences[first.full_name]['xray']['problem']}"
        )
        others = [f"and so for {len(unknown) - 1} other fences"] if len(unknown) > 1 else []
        failure = Failure(where=where, what=what, details=tuple(others), remedy=READ_TRACE)
        if self.environment.torch in self.project.releases:
            self.report.failures.append(failure)
        else:
            self.report.notices.append(str(failure))


def _exact(data: Any, prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield the exact leaves of a lab's data; floats are not exact."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _exact(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(data, bool | int | str) or (
        isinstance(data, list) and all(isinstance(item, bool | int | str) for item in data)
    ):
        yield prefix, data


def _commit(root: Path) -> str:
    """Return the short commit, with a + where the tree differs from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()
