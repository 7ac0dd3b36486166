"""The script that a reader downloads of a page holds what `nox -s plain` runs."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from compile_in_practice.failure import Failure
from compile_in_practice.page import chains, script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from compile_in_practice.page import Page

CELL = re.compile(r"(?m)^# %%( \[markdown\])?\n")


def check(html: Path, pages: list[Page]) -> list[Failure]:
    """Return each download of the site in `html` that is not its page's fences, in order."""
    return [failure for page in pages if page.fences for failure in _check_page(html, page)]


def _check_page(html: Path, page: Page) -> Iterator[Failure]:
    path = html / f"{page.name}.py"
    if not path.is_file():
        yield Failure(where=f"{page.name}.py", what="the page has fences and no script")
        return
    found = code_cells(path.read_text(encoding="utf-8"))
    names = [fence.name for fence in page.fences]
    for name, cell, wanted in zip_longest(names, found, _wanted(page)):
        if cell != wanted:
            yield Failure(
                where=f"{page.name}.py",
                what=f"the cell of {name} is not what runs" if name else "a cell is of no fence",
                details=(f"what runs: {wanted!r}", f"the download: {cell!r}"),
            )


def code_cells(text: str) -> list[str]:
    r"""Return the code of each cell; of one that is commented out, what it holds.

    >>> code_cells("# %% [markdown]\n# Prose\n\n# %%\nx = 1\n\n# %%\n# not run: why\n# y\n")
    ['x = 1', 'y']
    """
    _, *parts = CELL.split(text)
    cells = zip(parts[::2], parts[1::2], strict=True)
    return [_uncommented(body.strip("\n")) for is_prose, body in cells if not is_prose]


def _wanted(page: Page) -> list[str]:
    """The code of each fence, with what it continues where a command starts it afresh."""
    recorders = {None, *(fence.record for fence in page.fences)}
    started = {
        chain[n].name: script(chain[: n + 1])[0].strip("\n")
        for record in recorders
        for chain in chains(page, record=record)
        for n in range(len(chain))
    }
    return [
        started[fence.name] if fence.env and fence.not_run is None else fence.source.strip("\n")
        for fence in page.fences
    ]


def _uncommented(cell: str) -> str:
    lines = cell.splitlines()
    if not all(line.startswith("#") for line in lines):
        return cell
    return "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[1:])
