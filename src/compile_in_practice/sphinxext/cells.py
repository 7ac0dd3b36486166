"""What stands around a fence: its command, its mark, and its chain when copied."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

from compile_in_practice.sphinxext import below
from compile_in_practice.sphinxext.markdown import fenced

if TYPE_CHECKING:
    from collections.abc import Iterator

MARKS = {
    "not_run": "Not run here",
    "recorded": "Recorded",
    "missing": "Not recorded",
}
LINES = {"Evidence: torch ": "cip-evidence", "Elsewhere: ": "cip-elsewhere"}


class MarkCells(SphinxTransform):
    """Puts the command and the mark of a cell above its code, and the control below."""

    default_priority = 500

    def apply(self, **_kwargs: object) -> None:
        """Mark each cell that was not run here or needs a command of its own."""
        for cell in _code_cells(self.document):
            told: dict[str, Any] = cell["cell_metadata"].get("cip", {})
            kind = told.get("kind", "run")
            cell["classes"].append(f"cip-{kind}")
            above = [*_mark(kind, told), *_command(told)]
            for place, node in enumerate(above):
                node.source, node.line = cell.source, cell.line
                cell.insert(place, node)
            below.add(cell, told.get("below", {}))
        for line in self.document.findall(nodes.paragraph):
            for start, css_class in LINES.items():
                if line.astext().startswith(start):
                    line["classes"].append(css_class)


class CopyWithChain(SphinxPostTransform):
    """Gives the copy button the whole chain of a fence that continues another.

    The copy button takes the text of the `<pre>`, hidden parts included.
    """

    default_priority = 900
    formats = ("html",)

    def run(self, **_kwargs: object) -> None:
        """Put the chain of each cell, hidden, in front of its code."""
        for cell in list(_code_cells(self.document)):
            chain = cell["cell_metadata"].get("cip", {}).get("chain")
            if chain:
                code = next(iter(cell.findall(nodes.literal_block)))
                code.replace_self(self._with_chain(code, chain))

    def _with_chain(self, code: nodes.literal_block, chain: str) -> nodes.raw:
        """The highlighted code as HTML, with the hidden chain before it."""
        highlighter = self.app.builder.highlighter  # type: ignore[attr-defined]
        language = code.get("language", "python")
        body: str = highlighter.highlight_block(code.rawsource, language)
        hidden = f'<span class="cip-chain" hidden>{html.escape(chain)}\n\n</span>'
        body = body.replace("<pre>", f"<pre>{hidden}", 1)
        box = f'<div class="highlight-{language} notranslate">{body}</div>'
        return nodes.raw("", box, format="html", markdown=fenced(code.rawsource, language))


def _code_cells(document: nodes.document) -> Iterator[nodes.container]:
    """The containers that MyST-NB made of code cells."""
    for node in document.findall(nodes.container):
        if node.get("nb_element") == "cell_code":
            yield node


def _mark(kind: str, told: dict[str, Any]) -> list[nodes.Element]:
    """What kind of run stands behind the cell, and why, unless it ran here."""
    if kind not in MARKS:
        return []
    text = told.get("label") or MARKS[kind]
    mark = nodes.paragraph(classes=["cip-mark"])
    mark += nodes.strong("", text)
    if told.get("reason"):
        mark += nodes.Text(f": {told['reason']}")
    return [mark]


def _command(told: dict[str, Any]) -> list[nodes.Element]:
    """The command line that this cell needs, where it needs one."""
    if not told.get("command"):
        return []
    line = nodes.paragraph(classes=["cip-command"])
    line += nodes.literal("", told["command"])
    return [line]
