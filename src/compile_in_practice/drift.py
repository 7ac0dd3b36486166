"""What a torch release does otherwise than its ledger says, as plain data.

The data of one release is a file; `compile_in_practice.drift_report` merges the files
of several. `drift-schema.json` describes both.
"""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from compile_in_practice import ledger
from compile_in_practice.claims import read_sentences
from compile_in_practice.drift_formats import place
from compile_in_practice.failure import BuildError
from compile_in_practice.project import load_project
from compile_in_practice.reading import page_paths, read_page
from compile_in_practice.run import build
from compile_in_practice.variant import read_variant

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from compile_in_practice.claims import Sentence
    from compile_in_practice.failure import Failure
    from compile_in_practice.ledger import Measured
    from compile_in_practice.page import Page
    from compile_in_practice.variant import Variant

SCHEMA = 1
LEDGERS_OWN = "nox -s ledger"
HOLDS = "holds"
NOT_RUN = "did not run: the fence that it continues failed"  # the cause is told already
VANISHED = (
    (r"module '([\w.]+)' has no attribute '(\w+)'", "{}.{}"),
    (r"'([\w.]+)' object has no attribute '(\w+)'", "{}.{}"),
    (r"type object '([\w.]+)' has no attribute '(\w+)'", "{}.{}"),
    (r"cannot import name '(\w+)' from '([\w.]+)'", "{1}.{0}"),
    (r"No module named '(torch[\w.]*)'", "{}"),
    (r"(torch[\w.]+) does not exist", "{}"),  # of Dynamo's settings
)


def examine(
    root: Path,
    torch: str | None = None,
    *,
    label: str = "",
    width: int | None = None,
    variant: str = "",
) -> dict[str, Any]:
    """Return what this interpreter's torch does otherwise than the ledger says.

    Args:
        root: a folder of the project.
        torch: the release that must be installed, if it matters.
        label: what the report calls it, the release unless told otherwise.
        width: how many fences at once; as many as there are cores by default.
        variant: what is other than in a plain run, compared with the ledger of such runs.

    """
    python = platform.python_version()
    try:
        project = load_project(root)
        other = read_variant(project, variant)
        report = build(root, torch, width=width, variant=variant)
        ledgers = ledger.read_ledgers(other.ledger(project))
        plain = ledger.read_ledgers(project.ledger).get(report.torch, {}) if variant else {}
        _refuse_unknown(report.reached, other, report.torch)
    except BuildError as error:
        name = label or _label(torch or "torch", variant)
        return could_not_run(name, str(error), python=python, variant=variant)
    pages = [read_page(project, path)[0] for path in page_paths(project)]
    sentences = read_sentences(project, pages)
    owner = _Owner({project.shown(page.path): page for page in pages}, project.shown(project.labs))
    base = ledger.base_of(ledgers, report.torch)
    known = ledgers.get(base or "", {})
    own = base in {report.torch, None}
    folder = project.shown(other.ledger(project))
    given = [*report.measured, *report.reached]
    claims = [{"claim": f"{m.name}.{v}", "where": m.where} for m in given for v in m.values]
    return {
        "schema": SCHEMA,
        "label": label or _label(report.torch, variant),
        "variant": variant,
        "torch": report.torch,
        "python": python,
        "platform": report.here["platform"],
        "base": base,
        "error": "",
        "claims": claims,
        "changed": list(_changed(known, given, report.here, sentences)),
        "lost": list(_lost(known, report.reached, report.here, sentences)),
        "missing": list(_missing(known, given, report.here)) if own else [],
        "stale": [
            {"where": f"{folder}/{base}.json:1", "what": f"{name} is on no page"}
            for name in ledger.stale(known, report.measured, report.hidden)
        ],
        **(
            _outcomes(known, given, report.failures, owner)
            if variant
            else _failures(report.failures, owner)
        ),
        "under": list(_under(plain, given, report.here, sentences)) if variant else [],
        "deprecated": list(_deprecated(known, report.measured)),
    }


def _label(torch: str, variant: str) -> str:
    return f"{torch}-{variant}" if variant else torch


def could_not_run(label: str, error: str, *, python: str = "", variant: str = "") -> dict[str, Any]:
    """Return the data of a release on which nothing ran."""
    empty: dict[str, Any] = {
        name: []
        for name in (
            "claims", "changed", "lost", "missing", "stale",
            "vanished", "failed", "deprecated", "under",
        )
    }  # fmt: skip
    told = {"schema": SCHEMA, "label": label, "torch": "", "python": python, "platform": ""}
    return {**told, "variant": variant, "base": None, "error": error, **empty}


def _refuse_unknown(reached: Iterable[Measured], variant: Variant, torch: str) -> None:
    """Refuse a variant whose settings this release does not have.

    Raises:
        BuildError: it lacks one.

    """
    fails = {item.fails for item in reached}
    for name in variant.changes.get("settings", {}):
        if any(f"{name} does not exist" in text for text in fails):
            message = f"torch {torch} has no {name}"
            raise BuildError(message, remedy="ask a release that has it")


def _changed(
    known: ledger.Ledger,
    given: Iterable[Measured],
    here: dict[str, str],
    sentences: list[Sentence],
) -> Iterable[dict[str, Any]]:
    for item in given:
        for name, new in item.values.items():
            old = ledger.stored(known, item.name, name, here)
            if old is ledger.MISSING or not ledger.differ(old, new):
                continue
            claim = f"{item.name}.{name}"
            told = _resting(sentences, claim)
            yield {"claim": claim, "where": item.where, "old": old, "new": new, "sentences": told}


def _resting(sentences: Iterable[Sentence], claim: str) -> list[dict[str, str]]:
    return [{"where": s.where, "text": s.text} for s in sentences if s.rests_on(claim)]


def _lost(
    known: ledger.Ledger,
    reached: Iterable[Measured],
    here: dict[str, str],
    sentences: list[Sentence],
) -> Iterable[dict[str, Any]]:
    """Yield the known values that a fence or lab did not give, since it or one before failed."""
    for item in reached:
        for name in known.get(item.name, {}).get("values", {}):
            if name in item.values or ledger.stored(known, item.name, name, here) is ledger.MISSING:
                continue
            claim = f"{item.name}.{name}"
            told = _resting(sentences, claim)
            yield {"claim": claim, "where": item.where, "sentences": told}


def _missing(
    known: ledger.Ledger, given: Iterable[Measured], here: dict[str, str]
) -> Iterable[dict[str, Any]]:
    """Yield the values and the code that the release's own ledger does not hold yet."""
    for item in given:
        if item.name in known and known[item.name]["source"] != item.source:
            yield {"claim": f"the code of {item.name}", "where": item.where}
        elif item.name not in known and not item.values:
            yield {"claim": item.name, "where": item.where}
        for name in item.values:
            if ledger.stored(known, item.name, name, here) is ledger.MISSING:
                yield {"claim": f"{item.name}.{name}", "where": item.where}


def _failures(failures: Iterable[Failure], owner: _Owner) -> dict[str, list[dict[str, Any]]]:
    """Return the names that vanished, and what fails otherwise."""
    failures = list(failures)
    return {
        "vanished": [row for f in failures if (row := _vanished(f)) is not None],
        "failed": [{"claim": owner.of(f.where), **_failed(f)} for f in failures if _is_failure(f)],
    }


@dataclass(frozen=True)
class _Owner:
    """Whose a line is: the pages by their file, and the folder of the labs."""

    pages: dict[str, Page]
    labs: str

    def of(self, where: str) -> str:
        """Return the full name of the fence or lab that a place is in, or an empty text."""
        file, line = place(where)
        if PurePath(file).parent == PurePath(self.labs):
            return f"lab.{PurePath(file).stem}"
        fences = self.pages[file].fences if file in self.pages else ()
        ends = ((fence, fence.first_line + fence.source.count("\n")) for fence in fences)
        return next((fence.full_name for fence, end in ends if fence.line <= line <= end), "")


def _outcomes(
    known: ledger.Ledger, given: Iterable[Measured], failures: Iterable[Failure], owner: _Owner
) -> dict[str, list[dict[str, Any]]]:
    """Return the fences that end otherwise than the ledger of such runs says, and labs that fail.

    A fence asserts what holds in a plain run, so that its failure may be what is known.
    """
    found = _failures((f for f in failures if f.where.startswith("gallery/")), owner)
    for item in given:
        before = known.get(item.name, {}).get("fails", "")
        if item.fails != before:
            what = f"{before or HOLDS} -> {item.fails or HOLDS}"
            told = {"claim": item.name, "where": item.where, "what": what, "details": []}
            found["failed"].append(told)
    return found


def _under(
    plain: ledger.Ledger,
    given: Iterable[Measured],
    here: dict[str, str],
    sentences: list[Sentence],
) -> Iterable[dict[str, Any]]:
    """Yield what the variant does otherwise than a plain run of the release: no drift."""
    given = list(given)
    yield from _changed(plain, given, here, sentences)
    for item in given:
        if item.fails:
            told = {"claim": item.name, "where": item.where, "old": HOLDS, "new": item.fails}
            yield {**told, "sentences": []}


def _is_failure(failure: Failure) -> bool:
    """Return whether a failure is neither a ledger's nor the end of another's chain."""
    told_elsewhere = LEDGERS_OWN in failure.remedy or failure.what == NOT_RUN
    return not told_elsewhere and _vanished(failure) is None


def _failed(failure: Failure) -> dict[str, Any]:
    return {"where": failure.where, "what": failure.what, "details": list(failure.details)}


def _vanished(failure: Failure) -> dict[str, Any] | None:
    for pattern, name in VANISHED:
        if match := re.search(pattern, failure.what):
            near = [d.removeprefix("there is ") for d in failure.details if d[:9] == "there is "]
            return {**_failed(failure), "name": name.format(*match.groups()), "near": near}
    return None


def _deprecated(known: ledger.Ledger, measured: Iterable[Measured]) -> Iterable[dict[str, Any]]:
    for item in measured:
        before = known.get(item.name, {}).get("warnings", [])
        for text in item.warnings:
            if text not in before:
                yield {"where": item.where, "fence": item.name, "text": text}
