"""Links between the files of a built site: each leads to a file, and to its anchor.

Sphinx checks what pages say; templates, scripts of the gallery and raw HTML it does not.
Links to other sites are checked by `nox -s linkcheck`, which needs a network.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote

from compile_in_practice.archive import ONLINE
from compile_in_practice.budget import LOST_PAGE
from compile_in_practice.failure import BuildError, Failure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOT_OURS = {"_static", "tlparse"}  # furo's and Sphinx's files; tlparse's own report
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
BROKEN = {"broken", "timeout"}
NO_NETWORK = "NameResolutionError"
REMEDY = "write the link as a reference that Sphinx resolves, or mend its address"


@dataclass(kw_only=True)
class Linked:
    """What a page can be entered by, and where it leads.

    Attributes:
        names: its anchors.
        links: each link within the site, with the line of the file.

    """

    names: set[str] = field(default_factory=set)
    links: list[tuple[int, str]] = field(default_factory=list)


class _Reader(HTMLParser):
    """Collects the anchors and the links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.linked = Linked()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        self.linked.names |= {told["id"]} if "id" in told else set()
        if tag == "a" and "href" in told and not ELSEWHERE.match(told["href"]):
            self.linked.links.append((self.getpos()[0], told["href"]))


def check(html: Path) -> list[Failure]:
    """Return each link of the site in `html` that leads nowhere in it."""
    root = html.resolve()
    pages = {path: read(path) for path in files(root)}
    return [failure for page in pages for failure in _check_page(root, page, pages)]


def files(html: Path) -> list[Path]:
    """Return every HTML file that is this site's own, sorted."""
    found = (path for path in html.rglob("*.html"))
    return sorted(path for path in found if path.relative_to(html).parts[0] not in NOT_OURS)


def read(page: Path) -> Linked:
    """Return a page's anchors and links; those that a folder has not are left out."""
    reader = _Reader()
    data = ONLINE.sub(lambda match: b"\n" * match[0].count(b"\n"), page.read_bytes())
    reader.feed(data.decode())
    return reader.linked


def outside(told: Path) -> tuple[list[Failure], int]:
    """Return the outside links that lead nowhere, and how many were asked for.

    Args:
        told: what Sphinx's linkcheck wrote, one JSON object a line.

    Raises:
        BuildError: no name was found at all, so that nothing is known of any link.

    """
    rows = [json.loads(line) for line in told.read_text(encoding="utf-8").splitlines()]
    asked = [row for row in rows if row["status"] not in {"local", "unchecked", "ignored"}]
    broken = [row for row in asked if row["status"] in BROKEN]
    if broken and all(NO_NETWORK in row["info"] for row in broken) and len(broken) == len(asked):
        message = f"no network: none of {len(asked)} links was asked for"
        raise BuildError(message, remedy="run it where a browser reaches those pages")
    return [
        Failure(
            where=f"docs/{row['filename']}:{row['lineno']}",
            what=f"{row['uri']}: {row['info'] or row['status']}",
            remedy="find where it went, or take the link out",
        )
        for row in broken
    ], len(asked)


def _check_page(root: Path, page: Path, pages: dict[Path, Linked]) -> Iterator[Failure]:
    for line, link in pages[page].links:
        address, _, name = link.partition("#")
        address = unquote(address.partition("?")[0])
        is_lost = page.name == LOST_PAGE  # shown at any depth, so its links start at the root
        start = root if is_lost and address.startswith("/") else page.parent
        target = (start / address.removeprefix("/" * is_lost)).resolve() if address else page
        where = f"{page.relative_to(root).as_posix()}:{line}"
        if not target.is_relative_to(root) or not target.is_file():
            yield Failure(where=where, what=f"no file has the address {link}", remedy=REMEDY)
        elif name and target in pages and unquote(name) not in pages[target].names:
            yield Failure(where=where, what=f"no anchor has the address {link}", remedy=REMEDY)
