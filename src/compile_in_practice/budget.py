"""What each page of a built site asks of a reader's connection, and what is too much.

It reads the built files alone. Transferred is the page with every stylesheet and script
that its HTML names, each compressed as a server sends it; figures are not counted.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from compile_in_practice.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TRANSFERRED = 200_000
# A new connection sends 10 segments, and 20 in the next round trip: the first holds
# the page, the second what it needs to be painted. Source: RFC 6928, RFC 5681.
BLOCKING = 20 * 1460
INDEX = "searchindex.js"
SEARCH_PAGE = "search.html"
LOST_PAGE = "404.html"
REMEDY_SIZE = "split the page, or load on use what few readers need"
REMEDY_PAINT = "load a stylesheet only where its classes are used (sphinxext/assets.py)"
ELSEWHERE = re.compile(r"(?:https?:)?//")
ASKS_MORE = re.compile(rb"@import|url\(\s*['\"]?(?!data:|#)([^)'\"]+)")


@dataclass(kw_only=True)
class Asked:
    """What the HTML of a page asks for.

    Attributes:
        blocking: what must be there before the first paint.
        later: scripts that wait for the page.
        pictures: each `<img>`, with whether its place is known beforehand.

    """

    blocking: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)
    pictures: list[tuple[str, bool]] = field(default_factory=list)


class _Reader(HTMLParser):
    """Collects what a page asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = Asked()
        self.in_head = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "body":
            self.in_head = False
        elif tag == "link" and told.get("rel") == "stylesheet":
            self.asked.blocking.append(told["href"])
        elif tag == "script" and "src" in told:
            waits = not self.in_head or "defer" in told or "async" in told
            (self.asked.later if waits else self.asked.blocking).append(told["src"])
        elif tag == "img":
            self.asked.pictures.append((told.get("src", ""), {"width", "height"} <= told.keys()))


def check(html: Path) -> list[Failure]:
    """Return what is over the budget on any page of the site in `html`."""
    return [failure for page in pages(html) for failure in _check_page(html, page)]


def pages(html: Path) -> list[Path]:
    """Return every page of the site that furo lays out, sorted."""
    others = {"_static", LOST_PAGE}  # published, a lost page names files by full addresses
    ours = (path for path in html.rglob("*.html") if others.isdisjoint(path.parts))
    return sorted(path for path in ours if b'id="furo-main-content"' in path.read_bytes())


def weigh(html: Path, page: Path) -> dict[str, int]:
    """Return the compressed bytes of a page and of each file that its HTML names."""
    asked = ask(page)
    named = dict.fromkeys(_file(page, one) for one in [*asked.blocking, *asked.later])
    files = [page, *(path for path in named if path.is_file())]
    return {_shown(html, path): compressed(path) for path in files}


def ask(page: Path) -> Asked:
    """Return what the HTML of a page asks for."""
    reader = _Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    return reader.asked


def compressed(path: Path) -> int:
    """Return how many bytes a server sends for a file."""
    return _compressed(path.read_bytes())


@cache  # every page names the same stylesheets
def _compressed(data: bytes) -> int:
    return len(gzip.compress(data, compresslevel=6, mtime=0))


def _check_page(html: Path, page: Path) -> Iterator[Failure]:
    asked = ask(page)
    where = _shown(html, page)
    yield from _check_sizes(html, page, asked)
    for one in [*asked.blocking, *asked.later]:
        path = _file(page, one)
        if ELSEWHERE.match(one):
            yield Failure(where=where, what=f"a request leaves the site: {one}")
        elif not path.is_file():
            yield Failure(where=where, what=f"it asks for a file that is not there: {one}")
        elif path.name == INDEX and where != SEARCH_PAGE:
            yield Failure(where=where, what="the search index is loaded before it is used")
        elif one in asked.blocking and (more := ASKS_MORE.search(path.read_bytes())):
            what = f"{one} asks for more before the first paint: {more[0].decode()}"
            yield Failure(where=where, what=what, remedy="name it in the page, or embed it")
    for source, has_place in asked.pictures:
        if ELSEWHERE.match(source):
            yield Failure(where=where, what=f"a request leaves the site: {source}")
        elif not has_place:
            what = f"the page shifts when {source} arrives: it has no width and height"
            yield Failure(where=where, what=what)


def _check_sizes(html: Path, page: Path, asked: Asked) -> Iterator[Failure]:
    where = _shown(html, page)
    weights = weigh(html, page)
    if (total := sum(weights.values())) > TRANSFERRED:
        what = f"a reader transfers {_kb(total)}, of at most {_kb(TRANSFERRED)}"
        yield Failure(where=where, what=what, details=_largest(weights), remedy=REMEDY_SIZE)
    names = {_shown(html, _file(page, one)) for one in asked.blocking}
    blocking = {name: size for name, size in weights.items() if name in names}
    if (total := sum(blocking.values())) > BLOCKING:
        what = f"the first paint waits for {_kb(total)}, of at most {_kb(BLOCKING)}"
        yield Failure(where=where, what=what, details=_largest(blocking), remedy=REMEDY_PAINT)


def _file(page: Path, address: str) -> Path:
    """Return the file that an address on a page names."""
    return (page.parent / address.partition("?")[0]).resolve()


def _shown(html: Path, path: Path) -> str:
    root = html.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _largest(weights: dict[str, int]) -> tuple[str, ...]:
    ranked = sorted(weights.items(), key=lambda item: -item[1])
    return tuple(f"{_kb(size):>8}  {name}" for name, size in ranked[:5])


def _kb(size: int) -> str:
    return f"{size / 1000:.1f} kB"
