"""Check the work list: `python -m compile_in_practice.coverage`, without torch.

`docs/reference/coverage.toml` says for every statement of the source text and every
reader's report where on the site it stands. A row that is done must point at a page,
an anchor on it, and values that a ledger or a record holds.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compile_in_practice.failure import BuildError, Failure
from compile_in_practice.project import load_project
from compile_in_practice.store import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compile_in_practice.project import Project

STATUSES = ("done", "differs", "blocked", "todo")
KEYS = {"id", "page", "anchor", "value", "status", "note"}
TABLE = "docs/reference/coverage.toml"


def check(project: Project) -> tuple[Counter[str], list[Failure]]:
    """Return how many rows have each status, and what is wrong with the table.

    Raises:
        BuildError: the table is missing or no TOML.

    """
    path = project.root / TABLE
    try:
        text = path.read_text(encoding="utf-8")
        rows = tomllib.loads(text).get("claim", [])
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BuildError(str(error), where=TABLE) from error
    lines = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() == "[[claim]]"]
    names = set(_names(project))
    failures = []
    seen: set[str] = set()
    for line, row in zip(lines, rows, strict=True):
        problems = [*_problems(project, row, names)]
        if row.get("id") in seen:
            problems.append(f"the id {row['id']!r} stands twice")
        seen.add(row.get("id", ""))
        failures += [Failure(where=f"{TABLE}:{line}", what=text) for text in problems]
    return Counter(str(row.get("status")) for row in rows), failures


def _problems(project: Project, row: dict[str, Any], names: set[str]) -> Iterator[str]:
    """Yield what is wrong with one row."""
    if unknown := set(row) - KEYS:
        yield f"unknown keys {sorted(unknown)}"
    status = row.get("status")
    if not row.get("id") or status not in STATUSES:
        yield f"a row needs an id and a status among {STATUSES}: {row.get('id')!r}, {status!r}"
        return
    if status in {"blocked", "differs"} and not row.get("note"):
        yield f"{row['id']}: {status} needs a note that says why"
    if status not in {"done", "differs"}:
        return
    page = _page(project, str(row.get("page", "")))
    if page is None:
        yield f"{row['id']}: there is no page {row.get('page')!r}"
    elif (anchor := str(row.get("anchor", ""))) not in _anchors(page):
        yield f"{row['id']}: {row['page']} has no anchor {anchor!r}"
    for name in re.findall(r"[\w.]+", str(row.get("value", ""))):
        if name not in names:
            yield f"{row['id']}: no ledger and no record holds {name!r}"
    if not row.get("value") and not row.get("note"):
        yield f"{row['id']}: a row without a value needs a note that says what proves it"


def _page(project: Project, page: str) -> Path | None:
    """Return the file of a page, or of a gallery script."""
    for path in (project.docs / f"{page}.md", project.root / "gallery" / f"{page}.py"):
        if path.exists():
            return path
    return None


def _anchors(page: Path) -> set[str]:
    """Return the explicit labels and the headings' anchors of a page."""
    text = page.read_text(encoding="utf-8")
    labels = set(re.findall(r"^\(([\w.-]+)\)=", text, re.MULTILINE))
    headings = re.findall(r"^#{1,6}\s+(.*?)\s*$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}
    ids = {re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") for title in headings}
    return {"", *labels, *slugs, *ids}


def _names(project: Project) -> Iterator[str]:
    """Yield every name that a ledger or a record holds, and the groups above it."""
    for path in project.ledger.glob("*.json"):
        for name, entry in (read_json(path) or {}).get("fences", {}).items():
            yield from _below(name, entry["values"])
    for path in project.records.glob("*.json"):
        data = read_json(path) or {}
        for entry in data.get("fences", {}).values():
            page = entry["page"].rpartition("/")[2].replace("-", "_")
            yield from _below(f"{page}.{entry['name']}", entry["values"])
        for row in data.get("rows", ()):
            yield f"records.{data['experiment']}"
            name = f"records.{data['experiment']}.{row['name']}"
            for group in row.values():
                yield from _below(name, group)


def _below(name: str, value: Any) -> Iterator[str]:
    """Yield `name` and the names of all that `value` holds."""
    yield name
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _below(f"{name}.{key}", item)


def main() -> int:
    """Print the counts and what is wrong; return 1 if anything is."""
    try:
        counts, failures = check(load_project(Path.cwd()))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(map(str, failures)))
    print(", ".join(f"{counts[status]} {status}" for status in STATUSES))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
