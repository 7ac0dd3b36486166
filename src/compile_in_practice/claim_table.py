"""Every claim of the site in one table, as Markdown that a page asks for.

A page holds an empty directive, ```` ```{claims} ````, and gets a row for each sentence
that names a value, each fence that no sentence names, and each assertion of a lab:
the sentence, the values of this build, the page and line.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from compile_in_practice.claims import read_sentences
from compile_in_practice.history import find_headings
from compile_in_practice.page import Fence, Prose
from compile_in_practice.values import ValueNameError, prose_lines, substitute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from compile_in_practice.page import Page
    from compile_in_practice.project import Project
    from compile_in_practice.values import Scope

MARK = re.compile(r"^```\{claims\}\n+```$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)|:\w+:`([^`<]+?)\s*(?:<[^>]*>)?`")
ITEM = re.compile(r"^\s*(?:[-:*>]|\d+\.)\s+")
LONGEST = 80
DIGITS = 4
MARKED = re.compile(r"\s*(?:\([\w-]+\)=|:{3,}.*|`{3,}.*|#{1,6}\s.*|)")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A row: what is said, what proves it here, and where it stands.

    Attributes:
        text: the sentence as it is written, its roles included.
        values: full names of what it rests on.
        proof: what holds besides, such as how many assertions.
        where: file and line.

    """

    text: str
    values: tuple[str, ...]
    proof: str = ""
    where: str


def expand(page: Page, rows: Callable[[], Iterator[str]]) -> Page:
    """Return the page with the table where it asks for one."""
    asking = [part for part in page.parts if isinstance(part, Prose) and MARK.search(part.text)]
    if not asking:
        return page
    table = "\n".join(
        [
            "::::{div} cip-ledger cip-filter cip-claims\n",
            "| Claim | Here | Page and line |\n| --- | --- | --- |",
            *rows(),
            "\n::::",
        ]
    )
    parts = [
        replace(part, text=MARK.sub(lambda _: table, part.text)) if part in asking else part
        for part in page.parts
    ]
    return replace(page, parts=tuple(parts))


def read_claims(project: Project, pages: list[Page], n_held: Mapping[str, int]) -> Iterator[Claim]:
    """Yield every claim, by file and line.

    Args:
        project: the project.
        pages: its pages.
        n_held: how many assertions of each fence held, by full name.

    """
    sentences = [one for one in read_sentences(project, pages) if one.names]
    claims = [Claim(text=one.text, values=one.names, where=one.where) for one in sentences]
    for page in pages:
        file = project.shown(page.path)
        for line, text, fence in _before_fences(page):
            name = fence.full_name
            if name in n_held and not any(one.rests_on(name) for one in sentences):
                values = tuple(f"{name}.{value}" for value in fence.values)
                proof = f"{n_held[name]} assertion{'s' * (n_held[name] != 1)} held"
                where = f"{file}:{line}"
                claims.append(Claim(text=text, values=values, proof=proof, where=where))
    for path in sorted(project.labs.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assert):
                where = f"{project.shown(path)}:{node.lineno}"
                text = f"`assert {ast.unparse(node.test)}`"
                claims.append(Claim(text=text, values=(), proof="held", where=where))
    return iter(sorted(claims, key=_place))


def rows(
    claims: Iterator[Claim], pages: list[Page], scopes: Mapping[str, Scope], everywhere: Scope
) -> Iterator[str]:
    """Yield the rows of the table.

    Args:
        claims: what `read_claims` gives.
        pages: the pages, for the sections of their lines.
        scopes: what names mean on each page, by its name.
        everywhere: what full names mean.

    """
    headings = {page.name: find_headings(page) for page in pages}
    for claim in claims:
        file, line = _place(claim)
        document = PurePath(*PurePath(file).with_suffix("").parts[1:]).as_posix()
        is_script = file.endswith(".py")
        scope = scopes.get(document, everywhere)
        text, failures = substitute(claim.text, scope, file=file, line=line, rst=is_script)
        if failures:  # of its own page, which reports them
            continue
        above = [place for number, place in headings.get(document, ()) if number <= line]
        anchor = f"#{above[-1].anchor}" if above else ""
        target = f"/{document}.rst" if is_script else f"/{document}.md{anchor}"
        yield f"| {_plain(text)} | {_here(claim, everywhere)} | [{claim.where}]({target}) |"


def _plain(text: str) -> str:
    """Return a sentence as a cell: its links, which leave from its own page, are words.

    >>> print(_plain("| `a` | [two](b.md) |"), _plain("1. See :doc:`a lab </lab/a>`."), sep=" / ")
    `a` · two / See a lab.
    """
    if text.startswith("|"):  # a row of a table
        text = " · ".join(cell.strip() for cell in re.split(r"(?<!\\)\|", text.strip("| ")))
    return re.sub(r"(?<!\\)\|", r"\|", LINK.sub(r"\1\2", ITEM.sub("", text)))


def _here(claim: Claim, scope: Scope) -> str:
    """Return what proves a claim in this build, or that it waits for a record."""
    parts = [claim.proof] if claim.proof else []
    for name in dict.fromkeys(claim.values):
        try:
            shown = _code(str(rounded(scope.look_up(name))))
        except ValueNameError:
            shown = "not recorded yet"
        parts.append(f"`{name.partition('.')[2]}` {shown}")
    return "; ".join(parts)


def rounded(value: Any) -> Any:
    """Return a value whose floats have the digits that a reader needs.

    >>> print(rounded([2.090206880000096, 61234.5, 0.00012345678, 3, True, {"ms": 0.1 + 0.2}]))
    [2.09, 61234.0, 0.0001235, 3, True, {'ms': 0.3}]
    """
    if isinstance(value, float):
        return round(value) * 1.0 if abs(value) >= 10**DIGITS else float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def _code(text: str) -> str:
    text = f"{text[:LONGEST]}…" if len(text) > LONGEST else text
    ticks = "``" if "`" in text else "`"
    return f"{ticks} {' '.join(text.split())} {ticks}".replace("|", "\\|")


def _before_fences(page: Page) -> Iterator[tuple[int, str, Fence]]:
    """Yield each fence with the sentence that its unit begins with, and its line."""
    line, text = 1, page.name
    for part in page.parts:
        if isinstance(part, Fence):
            if not part.setup:
                yield line, text, part
            continue
        found: tuple[int, str] | None = None
        for number, source, prose in prose_lines(part.text):
            if re.match(r"#{1,6}\s", source):
                found = None
            elif found is None and prose and not MARKED.fullmatch(source):
                found = part.line + number, source.strip()
        line, text = found or (line, text)


def _place(claim: Claim) -> tuple[str, int]:
    file, _, line = claim.where.partition(":")
    return file, int(line)
