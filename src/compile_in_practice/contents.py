"""Tables of contents: which pages they name, and the pages that none names."""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from compile_in_practice.failure import Failure
from compile_in_practice.values import prose_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compile_in_practice.page import Page
    from compile_in_practice.project import Project

FIRST = "index"
OPENS = re.compile(r"\s*(`{3,}|:{3,})\{(toctree|learning-path)\}")
ENTRY = {
    "toctree": re.compile(r"(?:.*<)?([^<>]+)>?\s*"),  # `page`, `Title <page>` or `part/*`
    "learning-path": re.compile(r"([^:]+):?.*"),  # `page: needed, needed`
}


def unlisted(project: Project, pages: Iterable[Page]) -> list[Failure]:
    """Return a failure for each page that no table of contents names.

    Sphinx says so too, once all is run and rendered. Where no page is the first there
    are no tables to look at.
    """
    by_name = {page.name: page for page in pages}
    if FIRST not in by_name:
        return []
    named = [entry for page in by_name.values() for entry in entries(page)]
    return [
        Failure(
            where=f"{project.shown(page.path)}:1",
            what="no table of contents names this page",
            remedy=f"name it in docs/{_contents(name, by_name)}.md",
        )
        for name, page in by_name.items()
        if name != FIRST
        and not page.metadata.get("orphan")
        and not any(fnmatchcase(name, entry) for entry in named)
    ]


def entries(page: Page) -> Iterator[str]:
    """Yield each page that the page's tables of contents name, or the pattern of several."""
    mark = kind = ""
    for _, line, is_prose in prose_lines("\n".join(page.lines)):
        if not is_prose:
            continue
        if opened := OPENS.match(line):
            mark, kind = opened.groups()
        elif mark and line.strip() == mark:
            mark = ""
        elif mark and line.strip()[:1] not in {"", ":"} and (entry := ENTRY[kind].fullmatch(line)):
            folder = posixpath.dirname(page.name)
            yield posixpath.normpath(posixpath.join("/", folder, entry[1].strip()))[1:]


def _contents(name: str, pages: Iterable[str]) -> str:
    """Return the page whose table names the other pages of the folder."""
    folder = posixpath.dirname(name)
    near = (f"{folder}/{FIRST}", folder)  # `how-to/index.md`, or `symptoms.md` for `symptoms/`
    return next((page for page in near if page in pages and page != name), FIRST)
