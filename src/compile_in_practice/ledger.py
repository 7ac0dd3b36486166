"""The named values of each torch release: read, compare, accept.

`docs/ledger/<torch>.json` holds every named value of every fence and lab with a hash
of the source that gave it. A build of a release that has a ledger must reproduce it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from compile_in_practice.failure import BuildError, Failure
from compile_in_practice.store import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SCHEMA = 1
MISSING = object()
SHORT = 2  # releases in a row that are named one by one


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one fence or lab gave in this run.

    Attributes:
        name: its full name, `graph_breaks.branchy` or `lab.messy_vs_clean`.
        where: file and line, `docs/module/graph-breaks.md:41`.
        source: the hash of its source.
        values: the named values.
        varies: for values declared to vary, what by: `{"n": ("python",)}`.
        warnings: the deprecations that it was warned of.
        fails: how it failed, which only the ledger of a variant holds.

    """

    name: str
    where: str
    source: str
    values: dict[str, Any]
    varies: dict[str, tuple[str, ...]]
    warnings: tuple[str, ...] = ()
    fails: str = ""


Ledger = dict[str, Any]
DEPRECATION = re.compile(
    r"^[^\n]*:\d+: ((?:Pending)?Deprecation|Future)Warning: ([^\n]*)", re.MULTILINE
)


def deprecations(stderr: str) -> tuple[str, ...]:
    r"""Return each deprecation that `stderr` warns of, without its place in torch.

    >>> deprecations("torch/a.py:9: FutureWarning: f is deprecated\n  f()\nfine")
    ('FutureWarning: f is deprecated',)
    """
    found = (f"{kind}Warning: {text.strip()}" for kind, text in DEPRECATION.findall(stderr))
    return tuple(dict.fromkeys(found))


def read_ledgers(folder: Path) -> dict[str, Ledger]:
    """Return the ledgers by release, oldest first.

    Raises:
        BuildError: a file is no ledger of this schema.

    """
    ledgers = {}
    for path in folder.glob("*.json"):
        data = read_json(path)
        if (
            not isinstance(data, dict)
            or data.get("schema") != SCHEMA
            or data.get("torch") != path.stem
        ):
            message = f"no ledger of schema {SCHEMA} for torch {path.stem}"
            remedy = f"write it anew: nox -s ledger -- {path.stem}"
            raise BuildError(message, where=f"docs/ledger/{path.name}", remedy=remedy)
        ledgers[path.stem] = data["fences"]
    return dict(sorted(ledgers.items(), key=lambda item: Version(item[0])))


def base_of(ledgers: dict[str, Ledger], torch: str) -> str | None:
    """Return the release to compare with: the newest up to this one, else the newest known."""
    older = [release for release in ledgers if Version(release) <= Version(torch)]
    return next(reversed(older or [*ledgers]), None)


def stored(ledger: Ledger, name: str, value: str, here: dict[str, str]) -> Any:
    """Return the value as the ledger has it for this Python and platform, or MISSING."""
    values = ledger.get(name, {}).get("values", {})
    if value not in values:
        return MISSING
    found = values[value]
    if isinstance(found, dict) and set(found) == {"varies", "by"}:
        return found["by"].get("|".join(here[kind] for kind in found["varies"]), MISSING)
    return found


def resolved(ledger: Ledger, here: dict[str, str]) -> Ledger:
    """Return a ledger with the values of this Python and platform, where it knows them."""
    found = {}
    for name, entry in ledger.items():
        values = {value: stored(ledger, name, value, here) for value in entry["values"]}
        known = {value: one for value, one in values.items() if one is not MISSING}
        found[name] = {**entry, "values": known}
    return found


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What differs between a run and the ledger.

    Attributes:
        failures: values that the ledger of this very release contradicts.
        drift: values that differ from the release before it, on an unknown one.
        unknown: names that the ledger of this release does not hold yet, all without one.

    """

    failures: list[Failure]
    drift: list[Failure]
    unknown: list[Failure]


def compare(
    ledgers: dict[str, Ledger], measured: Iterable[Measured], torch: str, here: dict[str, str]
) -> Comparison:
    """Compare the run's values with the ledger of `torch`, or what `base_of` gives."""
    base = base_of(ledgers, torch)
    ledger = ledgers.get(base or "", {})
    measured = list(measured)
    differs: list[Failure] = []
    unknown: list[Failure] = []
    for item in measured:
        if item.name not in ledger:
            unknown.append(_unknown(item.where, item.name, torch))
        elif ledger[item.name]["source"] != item.source:
            unknown.append(_unknown(item.where, f"the code of {item.name}", torch))
        for name, value in item.values.items():
            old = stored(ledger, item.name, name, here)
            if old is MISSING:
                unknown.append(_unknown(item.where, f"{item.name}.{name}", torch))
            elif differ(old, value):
                what = f"{item.name}.{name}: {old!r} -> {value!r}"
                details = (f"the ledger of torch {base} against this run on torch {torch}",)
                differs.append(
                    Failure(
                        where=item.where, what=what, details=details, remedy=ACCEPT.format(torch)
                    )
                )
    if base != torch:
        unknown = [_unknown(item.where, item.name, torch) for item in measured]
        return Comparison(failures=[], drift=differs, unknown=unknown)
    return Comparison(failures=differs, drift=[], unknown=unknown)


def differ(old: Any, new: Any) -> bool:
    """Return whether two values differ as JSON, where true is not 1."""
    return json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True)


ACCEPT = "if the page is right as it stands: nox -s ledger -- {}"


def _unknown(where: str, name: str, torch: str) -> Failure:
    what = f"{name} is not in the ledger of torch {torch}"
    return Failure(where=where, what=what, remedy=f"nox -s ledger -- {torch}")


def stale(ledger: Ledger, measured: Iterable[Measured], hidden: set[str]) -> list[str]:
    """Return what the ledger holds though no page has it any more.

    `hidden` are the fences, labs and whole pages that failed, and may have it.
    """
    present = {item.name: item.values for item in measured}
    gone = []
    for name, entry in ledger.items():
        if not hidden.isdisjoint({name, name.partition(".")[0]}):
            continue
        if name in present:
            gone += [f"{name}.{value}" for value in entry["values"] if value not in present[name]]
        else:
            gone.append(name)
    return gone


def last_held(ledgers: dict[str, Ledger], name: str, source: str) -> str | None:
    """Return the newest release on which this very source passed."""
    for torch in reversed(ledgers):
        if ledgers[torch].get(name, {}).get("source") == source:
            return torch
    return None


def cut(text: str, other: str, longest: int) -> str:
    """Return `text`, or the part of a long one where it begins to differ from `other`.

    >>> cut("0123456789 abc", "0123456789 xyz", 8), cut("0123", "0456", 8)
    ('…89 abc', '0123')
    >>> cut("0123456789 abc", "5", 8)
    '0123456…'
    """
    if len(text) <= longest:
        return text
    pairs = enumerate(zip(text, f"{other}\0", strict=False))
    same = next((number for number, (one, two) in pairs if one != two), len(text))
    start = 0 if same < longest // 2 else same - longest // 2
    end = start + longest - 1
    shown = f"…{text[start + 1 : end]}" if start else text[:end]
    return shown if end >= len(text) else f"{shown}…"


def grouped(found: Iterable[str], among: Iterable[str]) -> str:
    """Return releases as a sentence names them, three or more in a row as a range.

    >>> grouped(["2.8.0", "2.9.1", "2.10.0", "2.12.1"], ["2.11.0"])
    '2.8.0 to 2.10.0 and 2.12.1'
    """
    wanted = set(found)
    runs: list[list[str]] = [[]]
    for release in sorted({*among, *wanted}, key=Version):
        if release in wanted:
            runs[-1].append(release)
        elif runs[-1]:
            runs.append([])
    parts = []
    for run in runs:
        parts += [f"{run[0]} to {run[-1]}"] if len(run) > SHORT else run
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def by_release(
    ledgers: dict[str, Ledger], item: Measured, torch: str, here: dict[str, str]
) -> dict[str, dict[str, Any]]:
    """Return each value as every release gives it, oldest first, this run's included."""
    known = [name for name, entries in ledgers.items() if _has(entries, item)]
    found: dict[str, dict[str, Any]] = {name: {} for name in item.values}
    for release in sorted({*known, torch}, key=Version):
        for name, value in item.values.items():
            told = value if release == torch else stored(ledgers[release], item.name, name, here)
            if told is not MISSING:
                found[name][release] = told
    return found


def _has(entries: Ledger, item: Measured) -> bool:
    return bool(entries.get(item.name, {}).get("source") == item.source)


def outdated(ledgers: dict[str, Ledger], measured: Iterable[Measured], torch: str) -> list[str]:
    """Return a line for each other release whose ledger holds other code of a fence.

    What such a fence gives there is not shown.
    """
    sources = {item.name: item.source for item in measured}
    lines = []
    for release, ledger in ledgers.items():
        names = [n for n, entry in ledger.items() if sources.get(n) not in {None, entry["source"]}]
        if names and release != torch:
            count = f"{len(names)} fences" if len(names) > 1 else names[0]
            what = f"{count} had other code, so what differs there is not shown"
            lines.append(f"docs/ledger/{release}.json:1: {what}: nox -s ledger -- {release}")
    return lines


def accept(
    folder: Path,
    measured: Iterable[Measured],
    torch: str,
    here: dict[str, str],
    changes: dict[str, Any] | None = None,
) -> tuple[list[str], int]:
    """Write the run's values as the ledger of `torch`.

    `changes` are what a variant changed for the run. Return what changed, a line each, and
    how many values that are. All values of a first ledger are new, so that its lines say
    what is other than in the ledger of the release before it.
    """
    ledgers = read_ledgers(folder)
    old = ledgers.get(torch, {})
    new: Ledger = {}
    for item in measured:
        before = old.get(item.name, {}).get("values", {})
        values = {
            name: _entry(value, item.varies.get(name, ()), before.get(name), here)
            for name, value in item.values.items()
        }
        new[item.name] = {"source": item.source, "values": values}
        if item.warnings:
            new[item.name]["warnings"] = list(item.warnings)
        if item.fails:
            new[item.name]["fails"] = item.fails
    told = {"changes": changes} if changes else {}
    path = folder / f"{torch}.json"
    write_json(path, {"schema": SCHEMA, "torch": torch, **told, "fences": new})
    if torch in ledgers:
        lines = _changes(_flat(old), _flat(new))
        return lines, len(lines)
    base = base_of(ledgers, torch)
    before = resolved(ledgers.get(base or "", {}), here)
    lines = [s for s in _changes(_flat(before), _flat(resolved(new, here))) if s[0] != "+"]
    head = [f"against the ledger of torch {base}:"] if lines else []
    return [*head, *lines], len(_flat(new))


def _entry(value: Any, varies: tuple[str, ...], before: Any, here: dict[str, str]) -> Any:
    if not varies:
        return value
    known = (
        before["by"] if isinstance(before, dict) and before.get("varies") == list(varies) else {}
    )
    return {"varies": list(varies), "by": {**known, "|".join(here[kind] for kind in varies): value}}


def _flat(ledger: Ledger) -> dict[str, Any]:
    return {
        f"{name}.{value}": found
        for name, entry in ledger.items()
        for value, found in entry["values"].items()
    }


def _changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    lines = []
    for name in sorted({*old, *new}):
        before, after = old.get(name, MISSING), new.get(name, MISSING)
        if before is MISSING:
            lines.append(f"+ {name}: {after!r}")
        elif after is MISSING:
            lines.append(f"- {name}: {before!r}")
        elif differ(before, after):
            lines.append(f"  {name}: {before!r} -> {after!r}")
    return lines
