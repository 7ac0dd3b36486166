"""Answers that are closed until asked for, with the fence that measures them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from docutils.nodes import Element
    from sphinx.writers.html5 import HTML5Translator

SUMMARY = "Answer"


class answer(nodes.General, nodes.Element):  # noqa: N801  # docutils names visitors after it
    """What opens when the reader asks for it."""


class Answer(SphinxDirective):
    """The answer to the question above it."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return its text; the fence that measures it joins later."""
        return [answer("", *self.parse_content_to_nodes())]


class FoldFences(SphinxTransform):
    """Takes the fence that stands before an answer into it.

    Only one that continues another: that one shows the reader what is asked about.
    """

    default_priority = 510  # after the cells were marked

    def apply(self, **_kwargs: object) -> None:
        """Move each cell and the lines that belong to it."""
        for found in list(self.document.findall(answer)):
            section = found.parent
            end = start = section.index(found)
            while start and _is_elsewhere(section[start - 1]):
                start -= 1
            if start and _continues(section[start - 1]):
                moved = section.children[start - 1 : end]
                del section[start - 1 : end]
                found.extend(moved)


def _is_elsewhere(node: nodes.Node) -> bool:
    return isinstance(node, nodes.paragraph) and "cip-elsewhere" in node["classes"]


def _continues(node: nodes.Node) -> bool:
    """Whether this is the cell of a fence that continues another."""
    is_cell = isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"
    return is_cell and "chain" in node["cell_metadata"].get("cip", {})  # type: ignore[index]


def open_answer(self: HTML5Translator, _node: Element) -> None:
    """Begin the element that browsers close, open and read out without a script."""
    self.body.append(f'<details class="cip-answer"><summary>{SUMMARY}</summary>\n')


def close_answer(self: HTML5Translator, _node: Element) -> None:
    """End it."""
    self.body.append("</details>\n")


def pass_answer(_self: nodes.NodeVisitor, _node: Element) -> None:
    """Show what it holds, where nothing can be closed."""
