"""Since when each value of a page is what it is, as Markdown that the page asks for.

A page holds an empty directive, ```` ```{periods} ````, and gets a row for each value
of its own fences, with the releases of the ledgers on which it has been the same.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from compile_in_practice.page import Prose, page_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compile_in_practice.ledger import Ledger
    from compile_in_practice.page import Page

MARK = re.compile(r"^```\{periods\}\n+```$", re.MULTILINE)


def expand(page: Page, ledgers: dict[str, Ledger], sources: dict[str, str]) -> Page:
    """Return the page with the table where it asks for one.

    `sources` are the hashes of this build's fences: what other code gave is not shown.
    """
    asking = [part for part in page.parts if isinstance(part, Prose) and MARK.search(part.text)]
    if not asking:
        return page
    table = "\n".join(_table(page, ledgers, sources))
    parts = [
        replace(part, text=MARK.sub(lambda _: table, part.text)) if part in asking else part
        for part in page.parts
    ]
    return replace(page, parts=tuple(parts))


def _table(page: Page, ledgers: dict[str, Ledger], sources: dict[str, str]) -> Iterator[str]:
    yield "::::{div} cip-ledger cip-filter\n"
    yield "| Name | Value by release |\n| --- | --- |"
    for fence in page.fences:
        full = f"{page_name(page.name)}.{fence.name}"
        entries = {release: ledger.get(full, {}) for release, ledger in ledgers.items()}
        for name in fence.values:
            found = [
                (release, entry["values"].get(name))
                if entry.get("source", "") == sources.get(full)
                else (release, None)
                for release, entry in entries.items()
            ]
            yield f"| `{name}` | {periods(found)} |"
    yield "\n::::"


def periods(found: list[tuple[str, Any]]) -> str:
    """Return each value with the releases on which it has been the same.

    `found` are release and value, oldest first, None where it was not measured.

    >>> periods([("2.8.0", "absent"), ("2.9.1", "absent"), ("2.10.0", "True")])
    '`absent` on 2.8.0 to 2.9.1, `True` on 2.10.0'
    >>> periods([("2.8.0", "8"), ("2.9.1", "8")])
    '`8` on all, 2.8.0 to 2.9.1'
    >>> periods([("2.8.0", "8"), ("2.9.1", None), ("2.10.0", "8")])
    '`8` on 2.8.0, `8` on 2.10.0'
    """
    runs = [(value, [r for r, _ in run]) for value, run in groupby(found, key=lambda one: one[1])]
    everywhere = "all, " if len(runs) == 1 and len(found) > 1 else ""
    told = [
        f"`{value}` on {everywhere}{on[0]}{f' to {on[-1]}' if len(on) > 1 else ''}"
        for value, on in runs
        if value is not None
    ]
    return ", ".join(told).replace("|", "\\|") or "not measured yet"
