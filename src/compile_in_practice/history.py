"""What each release does, as Markdown that a page asks for: nothing in it is typed.

A page holds an empty directive, ```` ```{releases} changes ```` or `behaviour`, and
gets the table of the ledgers in its place when its notebook is written.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from compile_in_practice.ledger import cut, differ, grouped
from compile_in_practice.page import Fence, Prose

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compile_in_practice.ledger import Ledger
    from compile_in_practice.page import Page

MARK = re.compile(r"^```\{releases\} (?P<kind>changes|behaviour)\n+```$", re.MULTILINE)
HEADING = re.compile(r"^#{1,3}\s+(.+?)\s*$")
LONGEST = 80


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a fence stands: a page, and the title and anchor of its section."""

    page: str
    title: str
    anchor: str

    @property
    def link(self) -> str:
        """Return a link to the section."""
        anchor = f"#{self.anchor}" if self.anchor else ""
        return f"[{self.title}](/{self.page}.md{anchor})"


def expand(
    page: Page,
    places: dict[str, Place],
    ledgers: dict[str, Ledger],
    under: dict[str, Ledger],
) -> Page:
    """Return the page with the tables that it asks for; `under` as `behaviour` takes it."""
    if not any(isinstance(part, Prose) and MARK.search(part.text) for part in page.parts):
        return page

    def table(match: re.Match[str]) -> str:
        if match["kind"] == "changes":
            return "\n".join(changes(ledgers, places))
        return "\n".join(behaviour(ledgers, places, under))

    parts = (
        replace(part, text=MARK.sub(table, part.text)) if isinstance(part, Prose) else part
        for part in page.parts
    )
    return replace(page, parts=tuple(parts))


def find_places(pages: Iterable[Page]) -> dict[str, Place]:
    """Return the section of each fence, by the fence's full name."""
    found = {}
    for page in pages:
        headings = find_headings(page)
        for fence in page.fences:
            above = [place for line, place in headings if line < fence.line]
            whole = Place(page=page.name, title=page.name, anchor="")
            found[fence.full_name] = above[-1] if above else whole
    return found


def find_headings(page: Page) -> list[tuple[int, Place]]:
    """Return each section of a page with the line of its heading."""
    found: list[tuple[int, Place]] = []
    seen: Counter[str] = Counter()
    for part in page.parts:
        if isinstance(part, Fence):
            continue
        for number, line in enumerate(part.text.split("\n")):
            if (match := HEADING.match(line)) is not None:
                slug = re.sub(r"[^\w\- ]", "", match[1].lower()).replace(" ", "-")
                title = f"{found[0][1].title}: {match[1]}" if found else match[1]
                anchor = f"{slug}-{seen[slug]}" if seen[slug] else slug
                seen[slug] += 1
                place = Place(page=page.name, title=title, anchor=anchor)
                found.append((part.line + number, place))
    return found


def changes(ledgers: dict[str, Ledger], places: dict[str, Place]) -> Iterator[str]:
    """Yield a section for each release, the newest first: what differs from the one before."""
    releases = list(ledgers)
    for older, newer in reversed([*pairwise(releases)]):
        rows = [
            f"| {_where(name, value, places)} | {_cell(old, new)} | {_cell(new, old)} |"
            for name, value, old, new in _differing(ledgers[older], ledgers[newer])
        ]
        yield f"## PyTorch {newer}\n"
        if not rows:
            yield f"Nothing that is measured here differs from PyTorch {older}.\n"
            continue
        noun = "value differs" if len(rows) == 1 else "values differ"
        yield f"{len(rows)} {noun} from PyTorch {older}.\n"
        yield f"::::{{div}} cip-ledger\n\n| Value | {older} | {newer} |\n| --- | --- | --- |"
        yield "\n".join(rows) + "\n\n::::\n"


def _differing(older: Ledger, newer: Ledger) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield the values of the same source that are not the same."""
    for name, entry in newer.items():
        before = older.get(name, {})
        if before.get("source") != entry["source"]:
            continue
        for value, new in entry["values"].items():
            if value in before["values"] and differ(before["values"][value], new):
                yield name, value, before["values"][value], new


def behaviour(
    ledgers: dict[str, Ledger], places: dict[str, Place], under: dict[str, Ledger]
) -> Iterator[str]:
    """Yield one table of every value: the newest release's, and where it is another.

    Args:
        ledgers: by release, oldest first.
        places: where each fence stands.
        under: what each variant gives on the newest release, by its title: a column each.

    """
    if not ledgers:
        return
    newest = next(reversed(ledgers))
    heads = ["Value", newest, "Elsewhere", *(title[0].upper() + title[1:] for title in under)]
    yield "::::{div} cip-ledger cip-filter\n"
    yield f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}"
    for name, entry in ledgers[newest].items():
        for value, new in entry["values"].items():
            cells = [_where(name, value, places), _cell(new), _others(ledgers, name, value, new)]
            cells += [_other(one.get(name, {}), entry, value) for one in under.values()]
            yield f"| {' | '.join(cells)} |"
    yield "\n::::"


def _other(found: dict[str, Any], entry: dict[str, Any], value: str) -> str:
    """Return what a variant gives for a value of `entry`, nothing where it is the same."""
    if found.get("source") != entry["source"]:
        return "not measured"
    if value not in found["values"]:
        return "the code fails"
    other = found["values"][value]
    here = entry["values"][value]
    return _cell(other, here) if differ(here, other) else ""


def _others(ledgers: dict[str, Ledger], name: str, value: str, new: Any) -> str:
    """Return which releases measure something else, each value once."""
    source = ledgers[next(reversed(ledgers))][name]["source"]
    found: dict[str, list[str]] = {}
    unknown = []
    for release, ledger in ledgers.items():
        entry = ledger.get(name, {})
        if entry.get("source") != source or value not in entry["values"]:
            unknown.append(release)
        elif differ(entry["values"][value], new):
            found.setdefault(_cell(entry["values"][value], new), []).append(release)
    parts = [f"{text} on {grouped(releases, ledgers)}" for text, releases in found.items()]
    if unknown:
        parts.append(f"not measured on {grouped(unknown, ledgers)}")
    return "; ".join(parts) or "the same"


def _where(name: str, value: str, places: dict[str, Place]) -> str:
    """Return a link to what measures the value, and the value's name there."""
    page, _, own = name.partition(".")
    if name in places:
        link = _escaped(places[name].link)
    else:
        link = f"[Lab {own}](/lab/{own}.rst)" if page == "lab" else page
    return f"{link} `{value if page == 'lab' else f'{own}.{value}'}`"


def _cell(value: Any, other: Any = None) -> str:
    r"""Return a value as a code span in a table, a long one where it differs from `other`.

    >>> print(_cell("a|b"), _cell([1, "`"]))
    `"a\|b"` ``[1, "`"]``
    """
    text, beside = (json.dumps(v, ensure_ascii=False, sort_keys=True) for v in (value, other))
    text = cut(text, beside, LONGEST)
    ticks = "``" if "`" in text else "`"
    return _escaped(f"{ticks}{text}{ticks}")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
