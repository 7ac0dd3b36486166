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

from compile_in_practice.ledger import base_of, cut, differ, grouped
from compile_in_practice.page import Fence, Prose

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compile_in_practice.ledger import Ledger
    from compile_in_practice.page import Page

MARK = re.compile(r"^```\{releases\} (?P<kind>changes|behaviour)\n+```$", re.MULTILINE)
HEADING = re.compile(r"^#{1,3}\s+(.+?)\s*$")
LONGEST = 80
KINDS = {  # of what changed, by the name `page.fence.value`, the first that fits
    "Texts and ids of messages": r"\.(template|gb|first_id)$",
    "Settings and names": (
        r"^(settings|what_appeared_when)\.|\.(signature|switches|modes)\.|\.(has_|names|present)"
    ),
    "Counts and outcomes": "",
}


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
    torch: str,
) -> Page:
    """Return the page with its tables; `under` and `torch` as `behaviour` takes them."""
    if not any(isinstance(part, Prose) and MARK.search(part.text) for part in page.parts):
        return page

    def table(match: re.Match[str]) -> str:
        if match["kind"] == "changes":
            return "\n".join(changes(ledgers, places))
        return "\n".join(behaviour(ledgers, places, under, torch))

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
    for older, newer in reversed([*pairwise(ledgers)]):
        old, new = ledgers[older], ledgers[newer]
        found = [*_differing(old, new)]
        skipped = sum(old.get(n, {}).get("source") != entry["source"] for n, entry in new.items())
        same = "No value that both measure" if skipped else "Nothing that is measured here"
        few = "1 value" if found else same
        told = f"{len(found)} values differ" if len(found) > 1 else f"{few} differs"
        yield f"## PyTorch {newer}\n"
        yield f"{told} from PyTorch {older}."
        if skipped:
            yield f"{skipped} of {len(new)} fences are not compared: {older} ran no such code."
        yield ""
        for kind in reversed(KINDS):
            rows = [
                f"| {_where(name, value, places)} | {_cell(one, two)} | {_cell(two, one)} |"
                for name, value, one, two in found
                if _kind(f"{name}.{value}") == kind
            ]
            if rows:
                yield f"{kind}, {len(rows)} of {len(found)}:\n"
                yield f"::::{{div}} cip-ledger\n\n| Value | {older} | {newer} |"
                yield "\n".join(["| --- | --- | --- |", *rows]) + "\n\n::::\n"


def _kind(full: str) -> str:
    """Return what kind of value has this name.

    >>> _kind("graph_breaks.gate.item"), _kind("graph_breaks.logged.first_id")
    ('Counts and outcomes', 'Texts and ids of messages')
    """
    return next(kind for kind, pattern in KINDS.items() if re.search(pattern, full))


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
    ledgers: dict[str, Ledger],
    places: dict[str, Place],
    under: dict[str, Ledger],
    torch: str,
) -> Iterator[str]:
    """Yield one table of every value: this build's, and where it is another.

    Args:
        ledgers: by release, oldest first.
        places: where each fence stands.
        under: what each variant gives on the newest release, by its title: a column each.
        torch: the release of this build; the newest before it stands for one without a ledger.

    """
    base = base_of(ledgers, torch)
    if base is None:
        return
    newest = next(reversed(ledgers))
    here = f"{base}, this build" if base == torch else base
    on = "" if base == newest else f", {newest}"
    variants = [f"{title[0].upper()}{title[1:]}{on}" for title in under]
    heads = ["Value", here, "Elsewhere", *variants]
    yield "::::{div} cip-ledger cip-filter\n"
    yield f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}"
    for name, entry in ledgers[base].items():
        for value, new in entry["values"].items():
            cells = [_where(name, value, places), _cell(new), _others(ledgers, name, value, base)]
            last = ledgers[newest].get(name, {})
            cells += [_other(one.get(name, {}), last, value) for one in under.values()]
            yield f"| {' | '.join(cells)} |"
    yield "\n::::"


def _other(found: dict[str, Any], entry: dict[str, Any], value: str) -> str:
    """Return what a variant gives for a value of `entry`, nothing where it is the same."""
    if value not in entry.get("values", {}) or found.get("source") != entry["source"]:
        return "not measured"
    if value not in found["values"]:
        return "the code fails"
    other = found["values"][value]
    here = entry["values"][value]
    return _cell(other, here) if differ(here, other) else ""


def _others(ledgers: dict[str, Ledger], name: str, value: str, base: str) -> str:
    """Return which releases measure something else than `base`, each value once."""
    source, new = ledgers[base][name]["source"], ledgers[base][name]["values"][value]
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
