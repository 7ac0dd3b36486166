"""Write what Sphinx renders: notebooks, the labs' data, the gallery's scripts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compile_in_practice import claim_table, history, ledger, periods, variant
from compile_in_practice.abroad import Abroad, left_out, read_variants
from compile_in_practice.failure import Failure, in_order
from compile_in_practice.notebook import Shown, make_notebook
from compile_in_practice.page import page_name
from compile_in_practice.recorded import record_values, recorded_fence
from compile_in_practice.store import file_digest, write_json, write_text
from compile_in_practice.values import Group, Scope, substitute

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from compile_in_practice.environment import Environment
    from compile_in_practice.page import Fence, Page
    from compile_in_practice.project import Project
    from compile_in_practice.report import Report


@dataclass(frozen=True, kw_only=True)
class Site:
    """What a finished run hands over.

    Attributes:
        project: the project.
        environment: where it ran.
        results: the folder of its results.
        ledgers: the ledgers by release, oldest first.
        pages: the pages as written.
        fences: what each fence did, by full name.
        lab_data: the labs' data, by name.
        report: the report, to which failures and notices are added here.

    """

    project: Project
    environment: Environment
    results: Path
    ledgers: dict[str, ledger.Ledger]
    pages: list[Page]
    fences: dict[str, dict[str, Any]]
    lab_data: dict[str, Any]
    report: Report


def write_site(site: Site) -> None:
    """Write everything that Sphinx reads, and the summary."""
    recorded, failures = record_values(site.project.records, site.environment.torch)
    site.report.failures += failures
    abroad = Abroad(
        site.project, site.environment.torch, site.environment.varies_by, site.report.measured
    )
    shown_by_page: dict[str, dict[str, Shown]] = {}
    by_page: dict[str, dict[str, Any]] = {}
    for page in site.pages:
        shown_by_page[page.name], failures = _shown(site, abroad, page)
        site.report.failures += failures
        if page.fences:
            by_page[page_name(page.name)] = _values(shown_by_page[page.name])
    everywhere = {**by_page, "lab": site.lab_data, "records": recorded}
    unrecorded = frozenset(
        f"{page_name(page)}.{name}"
        for page, shown in shown_by_page.items()
        for name, one in shown.items()
        if one.kind == "missing"
    )
    everything = Scope(names=Group.of(everywhere), unrecorded=unrecorded)
    scopes = {
        page: Scope(
            names=Group.of({**everywhere, **_values(shown)}),
            unrecorded=unrecorded | {name for name, one in shown.items() if one.kind == "missing"},
        )
        for page, shown in shown_by_page.items()
    }
    places = history.find_places(site.pages)

    def claims() -> Iterator[str]:
        n_held = {name: result["n_held"] for name, result in site.fences.items()}
        read = claim_table.read_claims(site.project, site.pages, n_held)
        return claim_table.rows(read, site.pages, scopes, everything)

    here = site.environment.varies_by
    ledgers = {release: ledger.resolved(one, here) for release, one in site.ledgers.items()}
    variants = read_variants(site.project, next(reversed(ledgers), ""))
    under = {
        variant.told(site.project, name): ledger.resolved(one, here)
        for name, one in variants.items()
    }
    sources = {item.name: item.source for item in site.report.measured}
    for wrong in left_out(site.project, site.environment.torch, site.report.measured):
        _demand(site, wrong, on=(site.project.current,))
    for page in site.pages:
        listed = history.expand(page, places, ledgers, under, site.environment.torch)
        whole = periods.expand(listed, ledgers, sources)
        text, failures = make_notebook(
            claim_table.expand(whole, claims),
            shown_by_page[page.name],
            scopes[page.name],
            file=site.project.shown(page.path),
            evidence=_evidence(site, page),
            others=abroad.teller(page, scopes[page.name]),
        )
        site.report.failures += _unless_failed(site, page.fences, failures)
        write_text(site.results / "pages" / f"{page.name}.ipynb", text)
    for path in sorted((site.project.root / "gallery").glob("[lg]*/*.py")):
        _write_script(site, path, everything)
    for name, data in site.lab_data.items():
        write_json(site.results / "labs" / f"{name}.json", data)
    site.report.failures = in_order(site.report.failures)
    write_json(
        site.results / "summary.json",
        {"pages": {page.name: file_digest(page.path) for page in site.pages},
         "torch": site.environment.torch, "report": site.report.lines(),
         "setup": site.report.setups,
         "n_failures": len(site.report.failures),
         "releases": site.project.releases, "current": site.project.current},
    )  # fmt: skip


def _unless_failed(site: Site, own: tuple[Fence, ...], failures: list[Failure]) -> list[Failure]:
    """Return the failures, but for names of fences and labs that failed themselves.

    `own` are the fences of the page, which it names without its own name.
    """
    broken = {f"{fence.name}." for fence in own if _failed(site, fence)}
    broken |= {
        f"{fence.full_name}."
        for page in site.pages
        for fence in page.fences
        if _failed(site, fence)
    }
    broken |= {
        f"lab.{path.stem}."
        for path in site.project.labs.glob("*.py")
        if path.stem not in site.lab_data
    }
    return [f for f in failures if not any(name in f.what for name in broken)]


def _failed(site: Site, fence: Fence) -> bool:
    """Return whether a fence that runs in each build has no result."""
    runs = fence.not_run is None and fence.record is None
    return runs and fence.full_name not in site.fences


def _write_script(site: Site, path: Path, scope: Scope) -> None:
    """Write a gallery script with the values in its comments put in."""
    lines = path.read_text(encoding="utf-8").split("\n")
    text, failures = substitute(
        "\n".join(lines), scope, file=site.project.shown(path), line=1, rst=True
    )
    site.report.failures += _unless_failed(site, (), failures)
    write_text(site.results / "gallery" / path.parent.name / path.name, text)


def _shown(site: Site, abroad: Abroad, page: Page) -> tuple[dict[str, Shown], list[Failure]]:
    shown: dict[str, Shown] = {}
    failures: list[Failure] = []
    for fence in page.fences:
        where = f"{site.project.shown(page.path)}:{fence.line}"
        if fence.not_run is not None:
            shown[fence.name] = Shown(kind="not_run", reason=fence.not_run, values={}, elsewhere={})
            site.report.notices.append(f"{where}: not run: {fence.not_run}")
        elif fence.record is not None:
            shown[fence.name], found = recorded_fence(
                site.project.records, fence, site.environment.torch,
                site.project.releases, where=where,
            )  # fmt: skip
            failures += found
            if (lack := _lack(site, shown[fence.name])) and not found:
                _demand(site, Failure(where=where, what=lack, remedy="nox -s record"))
        elif fence.full_name in site.fences:
            shown[fence.name] = _run_fence(site, abroad, fence.full_name)
    return shown, failures


def _lack(site: Site, shown: Shown) -> str:
    """Return what a page lacks of a record, which the releases that it quotes must have."""
    here = site.environment.torch
    if shown.kind == "missing":
        return "not recorded yet"
    if shown.recorded_on != here and here in {site.project.reference, site.project.current}:
        return f"not recorded on torch {here}: it shows what torch {shown.recorded_on} gave"
    return ""


def _demand(site: Site, failure: Failure, *, on: tuple[str, ...] = ()) -> None:
    """Add what fails in CI, on these releases or all, and else is a notice."""
    if os.environ.get("CI") and site.environment.torch in (on or (site.environment.torch,)):
        site.report.failures.append(failure)
    else:
        site.report.notices.append(str(failure))


def _run_fence(site: Site, abroad: Abroad, name: str) -> Shown:
    result = site.fences[name]
    measured = next(item for item in site.report.measured if item.name == name)
    releases = ledger.by_release(
        site.ledgers, measured, site.environment.torch, site.environment.varies_by
    )
    xray = result["xray"]
    return Shown(
        kind="run", stdout=result["stdout"], stderr=result["stderr"],
        values=result["values"], elsewhere=abroad.elsewhere(name, result["values"]),
        releases=releases,
        xray=None if xray is None or "problem" in xray else xray,
    )  # fmt: skip


def _evidence(site: Site, page: Page) -> str:
    """Return the line that says what was run for this page, when and where."""
    results = [site.fences[f.full_name] for f in page.fences if f.full_name in site.fences]
    if not results:
        return ""
    last = max(results, key=lambda result: result["date"])
    held = sum(result["n_held"] for result in results)
    build = site.environment.build.split()[0]
    return (
        f"Evidence: torch {build}, Python {site.environment.python},"
        f" {site.environment.platform}, commit {last['commit']}, run on {last['date']}:"
        f" {_count(len(results), 'fence')} ran, {_count(held, 'assertion')} held."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _values(shown: dict[str, Shown]) -> dict[str, dict[str, Any]]:
    """Return the values of the fences that have a result, by fence."""
    return {name: one.values for name, one in shown.items() if one.kind in {"run", "recorded"}}
