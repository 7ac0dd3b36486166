"""What a torch release does otherwise than its ledger says, as plain data.

The data of one release is a file; `compile_in_practice.drift_report` merges the files
of several. `drift-schema.json` describes both.
"""

from __future__ import annotations

import platform
import re
from typing import TYPE_CHECKING, Any

from compile_in_practice import ledger
from compile_in_practice.claims import read_sentences
from compile_in_practice.failure import BuildError
from compile_in_practice.project import load_project
from compile_in_practice.reading import page_paths, read_page
from compile_in_practice.run import build

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from compile_in_practice.claims import Sentence
    from compile_in_practice.failure import Failure
    from compile_in_practice.ledger import Measured

SCHEMA = 1
LEDGERS_OWN = "nox -s ledger"
NOT_RUN = "did not run: the fence that it continues failed"  # the cause is told already
STALE = "is on no page"
VANISHED = (
    (r"module '([\w.]+)' has no attribute '(\w+)'", "{}.{}"),
    (r"'([\w.]+)' object has no attribute '(\w+)'", "{}.{}"),
    (r"type object '([\w.]+)' has no attribute '(\w+)'", "{}.{}"),
    (r"cannot import name '(\w+)' from '([\w.]+)'", "{1}.{0}"),
    (r"No module named '(torch[\w.]*)'", "{}"),
    (r"(torch[\w.]+) does not exist", "{}"),  # of Dynamo's settings
)


def examine(
    root: Path, torch: str | None = None, *, label: str = "", width: int | None = None
) -> dict[str, Any]:
    """Return what this interpreter's torch does otherwise than the ledger says.

    Args:
        root: a folder of the project.
        torch: the release that must be installed, if it matters.
        label: what the report calls it, the release unless told otherwise.
        width: how many fences at once; as many as there are cores by default.

    """
    python = platform.python_version()
    try:
        report = build(root, torch, width=width)
        project = load_project(root)
        ledgers = ledger.read_ledgers(project.ledger)
    except BuildError as error:
        return could_not_run(label or torch or "torch", str(error), python=python)
    sentences = read_sentences(project, [read_page(project, p)[0] for p in page_paths(project)])
    base = ledger.base_of(ledgers, report.torch)
    known = ledgers.get(base or "", {})
    given = [*report.measured, *report.reached]
    claims = [{"claim": f"{m.name}.{v}", "where": m.where} for m in given for v in m.values]
    return {
        "schema": SCHEMA,
        "label": label or report.torch,
        "torch": report.torch,
        "python": python,
        "platform": report.here["platform"],
        "base": base,
        "error": "",
        "claims": claims,
        "changed": list(_changed(known, given, report.here, sentences)),
        "missing": list(_missing(known, given)) if base in {report.torch, None} else [],
        "stale": [
            {"where": f.where, "what": f.what} for f in report.failures if f.what.endswith(STALE)
        ],
        "vanished": [row for f in report.failures if (row := _vanished(f)) is not None],
        "failed": [_failed(f) for f in report.failures if _is_failure(f)],
        "deprecated": list(_deprecated(known, report.measured)),
    }


def could_not_run(label: str, error: str, *, python: str = "") -> dict[str, Any]:
    """Return the data of a release on which nothing ran."""
    empty: dict[str, Any] = {
        name: []
        for name in ("claims", "changed", "missing", "stale", "vanished", "failed", "deprecated")
    }
    told = {"schema": SCHEMA, "label": label, "torch": "", "python": python, "platform": ""}
    return {**told, "base": None, "error": error, **empty}


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
            told = [{"where": s.where, "text": s.text} for s in sentences if s.rests_on(claim)]
            yield {"claim": claim, "where": item.where, "old": old, "new": new, "sentences": told}


def _missing(known: ledger.Ledger, given: Iterable[Measured]) -> Iterable[dict[str, Any]]:
    """Yield the values that the release's own ledger does not hold yet."""
    for item in given:
        for name in item.values:
            if name not in known.get(item.name, {}).get("values", {}):
                yield {"claim": f"{item.name}.{name}", "where": item.where}


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
