"""Which sentences rest on which named value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compile_in_practice.page import Fence, Prose, page_name
from compile_in_practice.values import ROLE, RST_ROLE, prose_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compile_in_practice.page import Page
    from compile_in_practice.project import Project

    Parts = tuple[Prose | Fence, ...]

END = re.compile(r"(?<=[.?!])\s+(?=[A-Z*`:])")  # of a sentence
RELEASE = re.compile(r"(?<![\w./-])2\.\d+\.\d+\b(?!\.\d)")
HEADING = re.compile(r"#{1,6}\s")
NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A line of prose that shows or judges a value, or says what a release does.

    Attributes:
        where: file and line, `docs/module/graph-breaks.md:17`.
        text: the line as it is written.
        names: full names in its roles, `graph_breaks.branchy.n_graphs`.
        beside: without such names, the fences beside a line that names a release.

    """

    where: str
    text: str
    names: tuple[str, ...]
    beside: tuple[str, ...] = ()

    def rests_on(self, claim: str) -> bool:
        """Return whether the sentence names the value, a part of it, or all around it."""
        return any(f"{name}.".startswith(f"{claim}.") or f"{claim}.".startswith(f"{name}.")
                   for name in (*self.names, *self.beside))  # fmt: skip


def read_sentences(project: Project, pages: Iterable[Page]) -> list[Sentence]:
    """Return every sentence of the pages and of the gallery's scripts that rests on a value."""
    found: list[Sentence] = []
    for page in pages:
        file = project.shown(page.path)
        own = {fence.name for fence in page.fences}
        for number, part in enumerate(page.parts):
            if isinstance(part, Prose):
                beside = page.parts[max(number - 1, 0) : number], page.parts[number + 1 :][:1]
                found += _sentences(part, file, page_name(page.name), own, beside)
    for path in sorted((project.root / "gallery").glob("[lg]*/*.py")):
        found += _script_sentences(path.read_text(encoding="utf-8"), project.shown(path))
    return found


def _sentences(
    part: Prose, file: str, page: str, own: set[str], beside: tuple[Parts, Parts]
) -> Iterator[Sentence]:
    """Yield them; one that names a release and no value rests on its section's next fences."""
    lines = [(number, line) for number, line, prose in prose_lines(part.text) if prose]
    heads = [number for number, line in lines if HEADING.match(line)]
    for number, line in lines:
        named = (name for m in ROLE.finditer(line) for name in NAME.findall(m["text"] or ""))
        names = tuple(f"{page}.{n}" if n.partition(".")[0] in own else n for n in named)
        where, text = f"{file}:{part.line + number}", line.strip()
        if names:
            yield Sentence(where=where, text=text, names=names)
        elif RELEASE.search(line):
            above = beside[0] if not any(head <= number for head in heads) else ()
            below = beside[1] if not any(head > number for head in heads) else ()
            near = tuple(one.full_name for one in (*above, *below) if isinstance(one, Fence))
            if near:
                yield Sentence(where=where, text=text, names=(), beside=near)


def _script_sentences(text: str, file: str) -> Iterator[Sentence]:
    """Yield the sentences of a script's comments, which go on over several lines."""
    lines = [line.lstrip("# ").rstrip() for line in text.split("\n")]
    first = 0
    for number, line in enumerate([*lines, ""]):
        if line and not line.startswith("%%"):
            continue
        paragraph, starts = "", []
        for part in lines[first:number]:
            starts.append(len(paragraph))
            paragraph += f"{part} "
        begin = 0
        for end in [*(match.end() for match in END.finditer(paragraph)), len(paragraph)]:
            sentence = paragraph[begin:end].strip()
            roles = [*RST_ROLE.finditer(paragraph, begin, end)]
            names = tuple(n for role in roles for n in NAME.findall(role["text"] or ""))
            if names:
                offset = next(role.start() for role in roles if role["text"])
                on = first + sum(start <= offset for start in starts)
                yield Sentence(where=f"{file}:{on}", text=sentence, names=names)
            begin = end
        first = number + 1
