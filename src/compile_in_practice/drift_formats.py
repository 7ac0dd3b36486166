"""The drift report as people and machines read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from compile_in_practice.variant import TITLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KINDS = {
    "changed": "values that changed",
    "vanished": "APIs that vanished or were renamed",
    "failed": "fences that fail, and verdicts that are false",
    "lost": "values that were not measured, because a fence or lab failed",
    "deprecated": "new deprecation warnings",
    "missing": "values that the ledger does not hold yet",
    "stale": "values that the ledger holds though no page has them",
}
UNDER = "what other settings change, which is no drift"
HEAD = ("claim", "page:line", "old -> new", "first release")


def place(where: str) -> tuple[str, int]:
    """Return the file and the line, 0 where there is none."""
    file, _, line = where.partition(":")
    return file, int(line) if line.isdigit() else 0


# --- for people ------------------------------------------------------------------


def state(result: dict[str, Any]) -> str:
    """Return one line about a release."""
    name = result["label"]
    if result["error"]:
        return f"{name}: could not run: {result['error'].splitlines()[0]}"
    if result["variant"]:
        name = f"{result['torch']} {TITLES[result['variant']]}"
    elif name != result["torch"]:
        name += f" (torch {result['torch']})"
    n_values, n_lost = len(result["claims"]), len(result["lost"])
    counted = f"{n_values} of {n_values + n_lost} values" if n_lost else f"{n_values} values"
    base = result["base"]
    own = "its ledger" if base == result["torch"] else f"the ledger of {base or 'no release'}"
    found = [f"{len(result[kind])} {kind}" for kind in KINDS if result[kind]]
    told = f"{name}: {counted} against {own}: {', '.join(found) or 'all agree'}"
    return f"{told}; {len(result['under'])} as in no plain run" if result["variant"] else told


def terminal(report: dict[str, Any]) -> str:
    """Return the report as a table for a terminal."""
    lines: list[str] = []
    for title, head, rows in _tables(report):
        cells = [_cells(row, head) for row in rows]
        widths = [max(len(line[n]) for line in (head, *cells)) for n in range(len(head))]
        lines += ["", title, "", _line(head, widths), _line(["-" * w for w in widths], widths)]
        for row, cell in zip(rows, cells, strict=True):
            lines.append(_line(cell, widths))
            told = [f"{s['where']}: {s['text']}" for s in row.get("sentences", [])]
            lines += [f"    {line}" for line in (told or row["details"])]
    return "\n".join([*lines, "", *map(state, report["releases"])]).lstrip("\n")


def _tables(
    report: dict[str, Any],
) -> Iterator[tuple[str, tuple[str, ...], list[dict[str, Any]]]]:
    """Yield title, head and rows of each part; a variant that ran has a column."""
    ran = {result["variant"] for result in report["releases"]}
    shown = _counted_apart(report)
    for kind, title in {**KINDS, "under": UNDER}.items():
        rows = [row for row in shown if row["kind"] == kind]
        others = tuple(TITLES[v] for v in TITLES if v in ran and kind in {"changed", "under"})
        if rows:
            yield title, (*HEAD, *others), rows


def _counted_apart(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows but for what releases without any ledger lack: their line counts it."""
    bare = {one["label"] for one in report["releases"] if one["base"] is None}
    rows: list[dict[str, Any]] = report["rows"]
    return [row for row in rows if row["kind"] != "missing" or not bare.issuperset(row["releases"])]


def _cells(row: dict[str, Any], head: tuple[str, ...]) -> tuple[str, ...]:
    n_more = len(row["releases"]) - 1
    first = f"{row['first']} (+{n_more})" if n_more else row["first"]
    variants = (v for v, title in TITLES.items() if title in head)
    others = (row.get("under", {}).get(v, "") for v in variants)
    return row["claim"] or "-", row["where"], row["change"], first, *others


def _line(cells: Iterable[str], widths: list[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    return "  ".join(cell.ljust(width) for cell, width in pairs).rstrip()


def markdown(report: dict[str, Any]) -> str:
    """Return the report as Markdown, as an issue or a summary shows it."""
    verdict = ("All releases agree", "Drift", "A release could not run")[report["status"]]
    lines = [f"## {verdict}", "", *(f"- {_cell(state(one))}" for one in report["releases"])]
    for title, head, rows in _tables(report):
        lines += ["", f"### {title.capitalize().replace('Apis', 'APIs')}", ""]
        lines += [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
        lines += [f"| {' | '.join(map(_cell, _cells(row, head)))} |" for row in rows]
    told = {(s["where"], s["text"]) for row in report["rows"] for s in row.get("sentences", [])}
    if told:
        lines += ["", "### Sentences that rest on them", ""]
        ordered = sorted(told, key=lambda pair: place(pair[0]))
        lines += [f"- `{where}` {_cell(text)}" for where, text in ordered]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    r"""Return `text` as a table's cell shows it: no markup of its own, one line.

    >>> print(_cell("a|b <c>\nd"))
    a\|b &lt;c> d
    """
    line = " ".join(text.split())
    return line.replace("<", "&lt;").replace("|", "\\|").replace("@", "@\u200b")


# --- for machines ----------------------------------------------------------------


def commands(report: dict[str, Any]) -> Iterator[str]:
    """Yield a workflow command for each difference: an error, or a warning if optional."""
    optional = set(report["optional"])
    for row in _counted_apart(report):
        level = "warning" if set(row["releases"]) <= optional else "error"
        level = "notice" if row["kind"] == "under" else level
        file, line = place(row["where"])
        title = f"{row['kind']} on torch {', '.join(row['releases'])}"
        change = row["change"] or "; ".join(row["under"].values())
        text = f"{row['claim']}: {change}" if row["claim"] else change
        at = f"file={_property(file)},line={line or 1},title={_property(title)}"
        yield f"::{level} {at}::{_data(text)}"
    for result in report["releases"]:
        if result["error"]:
            level = "warning" if result["label"] in optional else "error"
            yield f"::{level} title=torch {_property(result['label'])}::{_data(state(result))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def junit(report: dict[str, Any]) -> str:
    """Return the report as JUnit XML: a suite a release, a case a value."""
    root = ET.Element("testsuites", name="drift")
    for result in report["releases"]:
        rows = [
            row
            for row in report["rows"]
            if result["label"] in row["releases"] and row["kind"] != "under"
        ]
        by_claim = {row["claim"]: row for row in rows if row["kind"] in {"changed", "missing"}}
        cases = [
            (one["claim"], one["where"], by_claim.get(one["claim"])) for one in result["claims"]
        ]
        measured = {one["claim"] for one in result["claims"]}
        others = [
            row
            for row in rows
            if row["kind"] not in {"changed", "missing"} or row["claim"] not in measured
        ]
        cases += [(row["claim"] or row["change"], row["where"], row) for row in others]
        n_failed = sum(row is not None for _, _, row in cases)
        n_errors = int(bool(result["error"]))
        suite = ET.SubElement(
            root, "testsuite", name=f"torch {result['label']}", tests=str(len(cases) + n_errors),
            failures=str(n_failed), errors=str(n_errors),
        )  # fmt: skip
        for name, where, row in cases:
            file, line = place(where)
            case = ET.SubElement(
                suite, "testcase", name=_xml(name), classname=file, file=file, line=str(line)
            )
            if row is not None:
                message = _xml(f"{where}: {row['change']}")
                failure = ET.SubElement(case, "failure", type=row["kind"], message=message)
                told = [f"{s['where']}: {s['text']}" for s in row.get("sentences", [])]
                failure.text = _xml("\n".join([*told, *row["details"]]))
        if result["error"]:
            case = ET.SubElement(suite, "testcase", name="runs", classname="drift")
            ET.SubElement(case, "error", message=_xml(result["error"]))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Return `text` without the characters that XML has no way to write."""
    return "".join(c if c >= " " or c in "\t\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
