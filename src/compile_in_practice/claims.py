"""Which sentences rest on which named value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compile_in_practice.page import Prose, page_name
from compile_in_practice.values import ROLE, RST_ROLE, prose_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compile_in_practice.page import Page
    from compile_in_practice.project import Project

END = re.compile(r"(?<=[.?!])\s+(?=[A-Z*`:])")  # of a sentence
NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A line of prose that shows or judges a value.

    Attributes:
        where: file and line, `docs/module/graph-breaks.md:17`.
        text: the line as it is written.
        names: full names in its roles, `graph_breaks.branchy.n_graphs`.

    """

    where: str
    text: str
    names: tuple[str, ...]

    def rests_on(self, claim: str) -> bool:
        """Return whether the sentence names the value, a part of it, or all around it."""
        return any(f"{name}.".startswith(f"{claim}.") or f"{claim}.".startswith(f"{name}.")
                   for name in self.names)  # fmt: skip


def read_sentences(project: Project, pages: Iterable[Page]) -> list[Sentence]:
    """Return every sentence of the pages and of the gallery's scripts that names a value."""
    found: list[Sentence] = []
    for page in pages:
        file = project.shown(page.path)
        own = {fence.name for fence in page.fences}
        for part in page.parts:
            if isinstance(part, Prose):
                found += _sentences(part.text, file, part.line, page_name(page.name), own)
    for path in sorted((project.root / "gallery").glob("[lg]*/*.py")):
        found += _script_sentences(path.read_text(encoding="utf-8"), project.shown(path))
    return found


def _sentences(text: str, file: str, first: int, page: str, own: set[str]) -> Iterator[Sentence]:
    for number, line, prose in prose_lines(text):
        if not prose:
            continue
        named = (name for m in ROLE.finditer(line) for name in NAME.findall(m["text"] or ""))
        names = tuple(f"{page}.{n}" if n.partition(".")[0] in own else n for n in named)
        if names:
            yield Sentence(where=f"{file}:{first + number}", text=line.strip(), names=names)


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
