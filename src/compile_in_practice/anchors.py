"""Addresses that stay: each page and anchor that was published, or where it went.

`docs/reference/anchors.list` has a line for each, `module/graph-breaks#find-every-break`;
one that moved has ` -> ` and its new address. `nox -s docs -- --new-addresses` adds what
the site has and the list has not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from compile_in_practice.budget import pages
from compile_in_practice.failure import Failure
from compile_in_practice.store import write_text

LIST = Path("docs/reference/anchors.list")
ARROW = " -> "
OWN_NAMES = {"section", "span", "dt", "li"}  # headings, labels, terms, entries
# Named by number or by a program; nobody can rely on these.
UNSTABLE = re.compile(
    r"id\d+|index-\d+|(?:std-)?sphx-glr-.*|compile_in_practice\..*|furo-.*|definition-.*|cip-.*"
)
NOT_OURS = {"404", "genindex", "py-modindex", "search"}


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A line of the list: an address, and where it went if it moved."""

    line: int
    address: str
    moved_to: str = ""


class _Reader(HTMLParser):
    """Collects the anchors of a page's article."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.in_article = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = dict(attrs).get("id") or ""
        if tag == "article":
            self.in_article = True
        elif self.in_article and name and tag in OWN_NAMES and not UNSTABLE.fullmatch(name):
            self.found.add(name)

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self.in_article = False


def read(path: Path) -> list[Promise]:
    """Return what the list promises, nothing where there is no list."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    promises = []
    for number, line in enumerate(lines, start=1):
        address, _, moved_to = line.partition(ARROW)
        if address.strip():
            promise = Promise(line=number, address=address.strip(), moved_to=moved_to.strip())
            promises.append(promise)
    return promises


def built(html: Path) -> set[str]:
    """Return the address of each page and anchor of a built site."""
    found = set()
    for path in pages(html):
        page = path.relative_to(html).with_suffix("").as_posix()
        if page not in NOT_OURS:
            reader = _Reader()
            reader.feed(path.read_text(encoding="utf-8"))
            found |= {page, *(f"{page}#{name}" for name in reader.found)}
    return found


def check(html: Path, root: Path) -> tuple[list[Failure], list[Failure]]:
    """Return each address that vanished or leads nowhere, and what the list has not yet."""
    there, promises = built(html), read(root / LIST)
    vanished = [
        Failure(
            where=f"{LIST.as_posix()}:{promise.line}",
            what=f"nothing has the address {promise.moved_to or promise.address} any more",
            remedy="give the section its old name as a label, `(old-name)=`, or say where it"
            f" went: `{promise.address}{ARROW}page#anchor`",
        )
        for promise in promises
        if (promise.moved_to or promise.address) not in there
    ]
    new = sorted(there - {promise.address for promise in promises})
    unlisted = Failure(
        where=LIST.as_posix(),
        what=f"{len(new)} addresses are not in it yet, {new[0]} among them" if new else "",
        remedy="nox -s docs -- --new-addresses",
    )
    return vanished, [unlisted] if new else []


def add_new(html: Path, root: Path) -> list[str]:
    """Add to the list what the site has and the list has not; return that."""
    kept = {promise.address: promise.moved_to for promise in read(root / LIST)}
    new = sorted(built(html) - kept.keys())
    kept |= dict.fromkeys(new, "")
    lines = [f"{old}{ARROW}{moved}" if moved else old for old, moved in sorted(kept.items())]
    write_text(root / LIST, "\n".join(lines) + "\n")
    return new
