"""Merge the drift of several releases: `python -m compile_in_practice.drift_report FILE...`.

Needs no torch: each file holds what `compile_in_practice.drift` found on one release.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import (  # type: ignore[import-untyped]
    Draft202012Validator,
    ValidationError,
)
from packaging.version import InvalidVersion, Version

from compile_in_practice.drift_formats import (
    KINDS,
    commands,
    junit,
    markdown,
    place,
    terminal,
)
from compile_in_practice.store import read_json, write_json, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable

AGREES, DRIFTED, COULD_NOT_RUN = 0, 1, 2
SCHEMA = 1
LONGEST = 60
PLAIN_RELEASE = re.compile(r"\d+\.\d+\.\d+")
RELEASE = re.compile(r"torch \d")  # the line of a failure that names its release


def main(argv: list[str] | None = None) -> int:
    """Write the report of all files; return 0, 1 for drift, 2 where one could not run."""
    parser = argparse.ArgumentParser(prog="python -m compile_in_practice.drift_report")
    parser.add_argument("files", nargs="*", type=Path, help="what each release gave")
    parser.add_argument(
        "--expect", action="append", default=[], help="a release that must be there"
    )
    parser.add_argument("--optional", action="append", default=[], help="one that fails nothing")
    parser.add_argument("--out", type=Path, required=True, help="folder of the report")
    arguments = parser.parse_args(argv)
    results = [read(path) for path in arguments.files]
    report = merge(results, arguments.expect, arguments.optional)
    write_json(arguments.out / "report.json", report)
    write_text(arguments.out / "junit.xml", junit(report))
    write_text(arguments.out / "summary.md", markdown(report))
    print(terminal(report))
    if os.environ.get("GITHUB_ACTIONS"):
        print("\n".join(commands(report)))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(markdown(report))
    return int(report["status"])


def schema() -> dict[str, Any]:
    """Return the JSON schema of the report, and in `$defs/result` of one release's file."""
    text = Path(__file__).with_name("drift-schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def read(path: Path) -> dict[str, Any]:
    """Return one release's file, or the data of one that could not run."""
    if not path.is_file():
        return _absent(path.stem, f"{path.name} is not there")
    data = read_json(path)
    if data is None:
        return _absent(path.stem, f"{path.name} is no JSON")
    one = {**schema(), "$ref": "#/$defs/result"}
    for key in ("type", "required", "properties", "additionalProperties"):
        one.pop(key)
    try:
        Draft202012Validator(one).validate(data)
    except ValidationError as error:
        where = error.json_path
        return _absent(path.stem, f"{path.name} is no result: {where}: {error.message[:200]}")
    label, torch = data["label"], data["torch"]
    if not data["error"] and not data["claims"]:
        return _absent(label, f"{path.name} holds no claim: nothing was compared")
    if not data["error"] and label != torch and PLAIN_RELEASE.fullmatch(label):
        return _absent(label, f"{path.name} is of torch {torch}")
    return dict(data)


def _absent(label: str, error: str) -> dict[str, Any]:
    lists: dict[str, Any] = {name: [] for name in ("claims", "under", *KINDS)}
    told = {"schema": SCHEMA, "label": label, "torch": "", "python": "", "platform": ""}
    return {**told, "variant": "", "base": None, "error": error, **lists}


def merge(
    results: Iterable[dict[str, Any]], expected: Iterable[str] = (), optional: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the report: every release, oldest first, and each difference once.

    Args:
        results: what each release gave.
        expected: labels that must be among them.
        optional: labels whose drift is told and fails nothing, as a nightly's.

    """
    given = list(results)
    labels = Counter(result["label"] for result in given)
    given += [_absent(label, "it gave no result") for label in expected if label not in labels]
    optional = set(optional)
    required = [result for result in given if result["label"] not in optional]
    status = _status(required)
    ordered = sorted((_told_apart(result, labels) for result in given), key=_age)
    rows: dict[str, dict[str, Any]] = {}
    for result in ordered:
        for kind in KINDS:
            for found in result[kind]:
                row = _row(kind, found)
                first = rows.setdefault(json.dumps(row, sort_keys=True), {**row, "releases": []})
                first["releases"].append(result["label"])
    _add_variants(rows, ordered)
    rank = [*KINDS, "under"]
    differs = sorted(
        rows.values(), key=lambda r: (rank.index(r["kind"]), place(r["where"]), r["claim"])
    )
    return {
        "schema": SCHEMA,
        "status": status,
        "optional": sorted(optional & {result["label"] for result in given}),
        "releases": ordered,
        "rows": [{**row, "first": row["releases"][0]} for row in differs],
    }


def _told_apart(result: dict[str, Any], labels: Counter[str]) -> dict[str, Any]:
    """Return a result whose label names its machine where another has the same label."""
    label = result["label"]
    if labels[label] < 2:  # noqa: PLR2004  (two of a name)
        return result
    return {**result, "label": f"{label} on Python {result['python']}, {result['platform']}"}


def _add_variants(rows: dict[str, dict[str, Any]], results: list[dict[str, Any]]) -> None:
    """Put into each claim's rows what variants give, and add rows of its own for the others."""
    for result in results:
        for found in result["under"]:
            change = f"{_short(found['old'])} -> {_short(found['new'])}"
            same = [
                row
                for row in rows.values()
                if row["kind"] in {"changed", "under"} and row["claim"] == found["claim"]
            ]
            if not same:
                row = {key: found[key] for key in ("claim", "where", "sentences")}
                row |= {"kind": "under", "change": "", "details": [], "releases": []}
                rows[f"under {found['claim']}"] = row
                same = [row]
            for row in same:
                row.setdefault("under", {}).setdefault(result["variant"], change)
                if row["kind"] == "under":
                    row["releases"].append(result["label"])


def _status(results: list[dict[str, Any]]) -> int:
    if not results or any(result["error"] for result in results):
        return COULD_NOT_RUN
    return DRIFTED if any(result[kind] for result in results for kind in KINDS) else AGREES


def _row(kind: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return one difference as the table shows it, without its release."""
    claim, change = _told(kind, found)
    row = {"kind": kind, "claim": claim, "where": found["where"], "change": change}
    row |= {key: found[key] for key in ("old", "new", "sentences") if key in found}
    details = [line for line in found.get("details", []) if not RELEASE.match(line)]
    return row | {"details": details}


def _told(kind: str, found: dict[str, Any]) -> tuple[str, str]:
    """Return what is named, and what became of it."""
    match kind:
        case "changed":
            return found["claim"], f"{_short(found['old'])} -> {_short(found['new'])}"
        case "vanished":
            near = f" -> {' or '.join(found['near'])}?" if found["near"] else ""
            return found["name"], f"gone{near}"
        case "deprecated":
            return found["fence"], str(found["text"])
        case "lost" | "missing":
            return found["claim"], "not measured" if kind == "lost" else "not in the ledger"
        case "stale":
            return found["what"].partition(" ")[0], "on no page"
    return found["claim"], str(found["what"])


def _age(result: dict[str, Any]) -> tuple[Version, str]:
    """Return what orders releases; what is no version comes last."""
    try:
        return Version(result["torch"] or result["label"]), result["label"]
    except InvalidVersion:
        return Version("9999"), result["label"]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


if __name__ == "__main__":
    raise SystemExit(main())
