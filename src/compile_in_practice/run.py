"""Run every page and lab, compare with the ledger, and write what Sphinx renders."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compile_in_practice import ledger, outcome
from compile_in_practice.environment import read_environment
from compile_in_practice.failure import Failure, in_order
from compile_in_practice.jobs import Chain, Lab, chain_job, lab_job, labs, page_chains
from compile_in_practice.notebook import Shown, make_notebook
from compile_in_practice.page import page_name, page_paths, read_page
from compile_in_practice.progress import Progress
from compile_in_practice.project import load_project
from compile_in_practice.prose import typed_numbers
from compile_in_practice.recorded import record_values, recorded_fence
from compile_in_practice.runner import run_jobs
from compile_in_practice.store import read_json, results_folder, write_json, write_text
from compile_in_practice.values import Group, Scope, substitute

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compile_in_practice.environment import Environment
    from compile_in_practice.page import Page
    from compile_in_practice.project import Project
    from compile_in_practice.runner import Ended


@dataclass(kw_only=True)
class Report:
    """What a run did.

    Attributes:
        results: the folder of this environment's results.
        torch: the release that it ran on.
        failures: why the build fails; empty where it does not.
        notices: what an author should know: marks, values that no ledger holds.
        n_pages: pages read.
        n_labs: labs with data.
        n_fences: fences with a result of this environment.
        n_reused: of these, the ones that an earlier run had executed.
        n_held: assertions that held.
        measured: the named values, for the ledger.

    """

    results: Path
    torch: str
    failures: list[Failure] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    n_pages: int = 0
    n_labs: int = 0
    n_fences: int = 0
    n_reused: int = 0
    n_held: int = 0
    measured: list[ledger.Measured] = field(default_factory=list)
    here: dict[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return the report as a person reads it."""
        counts = (
            f"torch {self.torch}: {self.n_pages} pages, {self.n_fences} fences"
            f" ({self.n_reused} unchanged), {self.n_held} assertions held,"
            f" {self.n_labs} labs"
        )
        verdict = f"{len(self.failures)} failures" if self.failures else "no failure"
        return [*map(str, self.failures), *self.notices, f"{counts}, {verdict}"]


def build(root: Path, torch: str | None = None, *, width: int | None = None) -> Report:
    """Run what has no result yet, write every page's notebook, and report.

    Args:
        root: a folder of the project.
        torch: the release that must be installed, if it matters.
        width: how many fences at once; as many as there are cores by default.

    Raises:
        BuildError: torch is missing, broken or another release, a ledger is damaged,
            or the results cannot be written.

    """
    project = load_project(root)
    environment = read_environment(project, torch)
    ledgers = ledger.read_ledgers(project.ledger)
    with results_folder(project.results / environment.folder) as results:
        one = _Run(project, environment, results, ledgers)
        one.read()
        one.execute(width or len(os.sched_getaffinity(0)))
        one.compare()
        one.write()
        return one.report


class _Run:
    """One run: read, execute, compare, write, in this order."""

    def __init__(
        self,
        project: Project,
        environment: Environment,
        results: Path,
        ledgers: dict[str, ledger.Ledger],
    ) -> None:
        self.project, self.environment, self.results = project, environment, results
        self.ledgers = ledgers
        self.report = Report(results=results, torch=environment.torch, here=environment.varies_by)
        self.pages: list[Page] = []
        self.chains: list[Chain] = []
        self.labs: list[Lab] = []
        self.fences: dict[str, dict[str, Any]] = {}
        self.lab_data: dict[str, Any] = {}
        self.now = {
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "commit": _commit(project.root),
        }

    def read(self) -> None:
        """Read all pages and labs; what is wrong as written is a failure."""
        for path in page_paths(self.project):
            page, failures = read_page(self.project, path)
            self.pages.append(page)
            self.report.failures += failures
            self.report.failures += typed_numbers(page, self.project.shown(path))
            self.chains += page_chains(page)
        stems: dict[str, Page] = {}
        for page in self.pages:
            first = stems.setdefault(page_name(page.name), page)
            if first is not page and page.fences and first.fences:
                what = f"two pages are named {page_name(page.name)} in expressions"
                self._fail(f"{self.project.shown(page.path)}:1", what, "rename one of the files")
        self.labs = labs(self.project)
        self.report.n_pages = len(self.pages)

    def execute(self, width: int) -> None:
        """Run the chains and labs that have no result; keep the results that passed."""
        scratch = self.results / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        todo: dict[str, Chain | Lab] = {}
        for item in (*self.chains, *self.labs):
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
        return all(_digest(Path(path)) == digest for path, digest in known.get("imported", {}).items())

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
                imported = {path: _digest(Path(path)) for path in data["imported"]}
                known = {**self.now, "data": data["data"], "imported": imported}
        else:
            results, failures = outcome.chain_outcome(self.project, item, how)
            failures = [self._with_history(item, failure) for failure in failures]
            known = {**self.now, "fences": {name: vars(result) for name, result in results.items()}}
        self.report.failures += failures
        if not failures:
            write_json(self._path(item), known)
            self._keep(item, known)

    def _with_history(self, chain: Chain, failure: Failure) -> Failure:
        """Add the torch release, and the last one on which this very fence passed."""
        line = int(failure.where.rpartition(":")[2])
        fence = [f for f in chain.fences if f.line <= line][-1]
        held = ledger.last_held(self.ledgers, fence.full_name, fence.digest)
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
            self.fences[fence.full_name] = {**result, "date": known["date"], "commit": known["commit"]}
            self.report.n_fences += 1
            self.report.n_held += result["n_held"]

    def compare(self) -> None:
        """Hold the values against the ledger; report marks and what never ran."""
        running = [fence for chain in self.chains for fence in chain.fences]
        for fence in running:
            where = f"{self.project.shown(self.project.docs / (fence.page + '.md'))}:{fence.line}"
            if fence.full_name in self.fences:
                measured = ledger.Measured(
                    name=fence.full_name, where=where, source=fence.digest,
                    values=self.fences[fence.full_name]["values"], varies=fence.varies,
                )  # fmt: skip
                self.report.measured.append(measured)
            if fence.setup is not None:
                self.report.notices.append(f"{where}: setup, asserts nothing: {fence.setup}")
        for lab in self.labs:
            if lab.name in self.lab_data:
                values = dict(_exact(self.lab_data[lab.name]))
                where = f"{self.project.shown(lab.path)}:1"
                name = f"lab.{lab.name}"
                self.report.measured.append(
                    ledger.Measured(name=name, where=where, source=lab.key, values=values, varies={})
                )
        if not running and not self.labs:
            self._fail("docs:1", "no page has a fence that runs", "a build must prove something")
        failed = {failure.where.partition(":")[0] for failure in self.report.failures}
        found = ledger.compare(
            self.ledgers, self.report.measured, self.environment.torch, self.environment.varies_by
        )
        stale_because_failed = [f for f in found.failures if f.where.startswith("docs/ledger") and failed]
        self.report.failures += [f for f in found.failures if f not in stale_because_failed]
        self.report.notices += [str(item) for item in found.drift]
        required = {self.project.reference, self.project.current}
        if os.environ.get("CI") and self.environment.torch in required:
            self.report.failures += found.unknown
        elif found.unknown:
            self.report.notices.append(
                f"{len(found.unknown)} names are not in the ledger of torch"
                f" {self.environment.torch} yet: nox -s ledger -- {self.environment.torch}"
            )

    def write(self) -> None:
        """Write the notebooks, the labs' data and the gallery's scripts."""
        recorded, failures = record_values(self.project.records, self.environment.torch)
        self.report.failures += failures
        by_page = _by_page(self.fences)
        everywhere = {**by_page, "lab": self.lab_data, "records": recorded}
        for page in self.pages:
            shown, failures = self._shown(page)
            self.report.failures += failures
            local = {name: one.values for name, one in shown.items() if one.kind in {"run", "recorded"}}
            scope = Scope(names=Group.of({**everywhere, **local}))
            file = self.project.shown(page.path)
            text, failures = make_notebook(
                page, shown, scope, file=file, evidence=self._evidence(page)
            )
            self.report.failures += self._unless_failed(page, failures)
            write_text(self.results / "pages" / f"{page.name}.ipynb", text)
        scope = Scope(names=Group.of(everywhere))
        for path in sorted((self.project.root / "gallery").glob("[lg]*/*.py")):
            self._write_script(path, scope)
        for name, data in self.lab_data.items():
            write_json(self.results / "labs" / f"{name}.json", data)
        self.report.failures = in_order(self.report.failures)
        write_json(
            self.results / "summary.json",
            {"torch": self.environment.torch, "report": self.report.lines(),
             "n_failures": len(self.report.failures)},
        )  # fmt: skip

    def _unless_failed(self, page: Page, failures: list[Failure]) -> list[Failure]:
        """Return the failures, but for names of fences that failed themselves."""
        broken = [f.name for f in page.fences if f.full_name not in self.fences and f.not_run is None]
        return [f for f in failures if not any(f"{name}." in f.what for name in broken)]

    def _write_script(self, path: Path, scope: Scope) -> None:
        """Write a gallery script with the values in its comments put in."""
        lines = path.read_text(encoding="utf-8").split("\n")
        text, failures = substitute(
            "\n".join(lines), scope, file=self.project.shown(path), line=1, rst=True
        )
        self.report.failures += failures
        write_text(self.results / "gallery" / path.parent.name / path.name, text)

    def _shown(self, page: Page) -> tuple[dict[str, Shown], list[Failure]]:
        shown: dict[str, Shown] = {}
        failures: list[Failure] = []
        for fence in page.fences:
            where = f"{self.project.shown(page.path)}:{fence.line}"
            if fence.not_run is not None:
                shown[fence.name] = Shown(kind="not_run", reason=fence.not_run, values={}, elsewhere={})
                self.report.notices.append(f"{where}: not run: {fence.not_run}")
            elif fence.record is not None:
                shown[fence.name], found = recorded_fence(
                    self.project.records, fence, self.environment.torch,
                    self.project.releases, where=where,
                )  # fmt: skip
                failures += found
                if shown[fence.name].kind == "missing" and not found:
                    self.report.notices.append(f"{where}: not recorded yet")
            elif fence.full_name in self.fences:
                shown[fence.name] = self._run_fence(fence.full_name, where)
        return shown, failures

    def _run_fence(self, name: str, where: str) -> Shown:
        result = self.fences[name]
        measured = next(item for item in self.report.measured if item.name == name)
        elsewhere = ledger.elsewhere(
            self.ledgers, measured, self.environment.torch, self.environment.varies_by
        )
        return Shown(
            kind="run", stdout=result["stdout"], stderr=result["stderr"],
            values=result["values"], elsewhere=elsewhere,
        )  # fmt: skip

    def _evidence(self, page: Page) -> str:
        """Return the line that says what was run for this page, when and where."""
        results = [self.fences[f.full_name] for f in page.fences if f.full_name in self.fences]
        if not results:
            return ""
        last = max(results, key=lambda result: result["date"])
        held = sum(result["n_held"] for result in results)
        build = self.environment.build.split()[0]
        return (
            f"Evidence: torch {build}, Python {self.environment.python},"
            f" {self.environment.platform}, commit {last['commit']}, run on {last['date']}:"
            f" {_count(len(results), 'fence')} ran, {_count(held, 'assertion')} held."
        )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _by_page(fences: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    pages: dict[str, dict[str, Any]] = {}
    for full_name, result in fences.items():
        page, _, name = full_name.partition(".")
        pages.setdefault(page, {})[name] = result["values"]
    return pages


def _exact(data: Any, prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield the exact leaves of a lab's data; floats are not exact."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _exact(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(data, bool | int | str) or (
        isinstance(data, list) and all(isinstance(item, bool | int | str) for item in data)
    ):
        yield prefix, data


def _digest(path: Path) -> str:
    import hashlib  # noqa: PLC0415

    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def _commit(root: Path) -> str:
    """Return the short commit, with a + where the tree differs from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()
