"""The terms of the glossary, and prose that calls one of them by another name.

An entry of `docs/reference/glossary.md` is the term, a sentence, and where other texts
have other names for it a line `Elsewhere: name, name.`; pages here use none of these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from compile_in_practice.failure import Failure
from compile_in_practice.page import Prose
from compile_in_practice.prose import ELSEWHERE as NOT_PROSE
from compile_in_practice.values import prose_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from compile_in_practice.page import Page

PAGE = "reference/glossary.md"
ENTRY = re.compile(r"^(?P<name>[^\s:(#].*)\n(?P<text>(?:  .+\n)+)", re.MULTILINE)
OTHERS = re.compile(r"^\s*Elsewhere: (?P<names>.+)\.$", re.MULTILINE)
QUOTING = "reference/symptoms/"  # whose headings are the words of a message


@dataclass(frozen=True, kw_only=True)
class Term:
    """An entry: its name, what it means, and the names that other texts use."""

    name: str
    meaning: str
    others: tuple[str, ...]


def read_terms(docs: Path) -> list[Term]:
    """Return the entries in their order; none where there is no glossary."""
    path = docs / PAGE
    if not path.exists():
        return []
    terms = []
    for match in ENTRY.finditer(path.read_text(encoding="utf-8")):
        others = OTHERS.search(match["text"])
        names = tuple(others["names"].split(", ")) if others else ()
        meaning = " ".join(OTHERS.sub("", match["text"]).split())
        terms.append(Term(name=match["name"], meaning=meaning, others=names))
    return terms


def spelled(name: str) -> str:
    """Return a pattern for a name in prose, in the plural too.

    >>> sorted(w for w in ("Graph breaks", "graph-break", "paragraph break")
    ...        if re.fullmatch(spelled("graph break"), w, re.IGNORECASE))
    ['Graph breaks', 'graph-break']
    """
    words = [re.escape(word) for word in re.split(r"[\s-]", name)]
    *first, last = words
    plural = f"{last[:-1]}(?:y|ies)" if last.endswith("y") else f"{last}(?:e?s)?"
    return r"\b" + r"[\s-]".join([*first, plural]) + r"\b"


def other_names(page: Page, file: str, terms: list[Term]) -> list[Failure]:
    """Return a failure for each term that the page's prose calls by another name."""
    wrong = [
        (term, name, _pattern(name), [t for t in terms if _pattern(name).search(t.name)])
        for term in terms
        for name in term.others
    ]
    found = []
    for line, text in _prose(page):
        for term, name, pattern, around in wrong:
            rest = text
            for other in around:  # "cudagraph tree" is a term, "cudagraph" is none
                rest = _pattern(other.name).sub(" x ", rest)
            if pattern.search(rest):
                what = f"a term under another name: {name!r}"
                remedy = f"the glossary calls it {term.name!r}; quote what others say"
                found.append(Failure(where=f"{file}:{line}", what=what, remedy=remedy))
    return found


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(spelled(name), re.IGNORECASE)


def _prose(page: Page) -> Iterator[tuple[int, str]]:
    """Yield the lines of prose with their numbers; what is quoted or code is left out."""
    for part in page.parts:
        if not isinstance(part, Prose):
            continue
        for number, line, is_prose in prose_lines(part.text):
            quotes = page.name.startswith(QUOTING) and line.startswith("#")
            lists = f"{page.name}.md" == PAGE and OTHERS.match(line)
            if is_prose and not quotes and not lists:
                yield part.line + number, NOT_PROSE.sub(" x ", line)
