"""A small button beside a value that is another elsewhere; it opens what, and where.

Run keeps the marks in the metadata of a page's notebook, so that its text, what is
downloaded and what the search finds stay as they are. Only the HTML has the buttons.
"""

from __future__ import annotations

import base64
import html
import json
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from compile_in_practice.sphinxext.releases import summary

if TYPE_CHECKING:
    from docutils.parsers.rst.states import Inliner
    from nbformat import NotebookNode
    from sphinx.writers.html5 import HTML5Translator

ROLE = "cip-marker"
LABEL = "other elsewhere: the values by release"
JOINED = '<span class="cip-joiner">&#8288;</span>'  # a line does not end at it; not copied


class marker(nodes.Inline, nodes.Element):  # noqa: N801  (docutils names nodes so)
    """The button and its text; without a text of its own, so that no search finds it."""


class Placed(SphinxPostTransform):
    """Puts a button behind the link that it stands in: a link holds no other control.

    Each is told the release of this build.
    """

    default_priority = 900
    formats = ("html",)

    def run(self, **_kwargs: object) -> None:
        """Move each one."""
        torch = summary(self.app)["torch"]
        for node in list(self.document.findall(marker)):
            node["torch"] = torch
            link = node.parent
            while link is not None and not isinstance(link, nodes.reference):
                link = link.parent
            if link is not None:
                node.parent.remove(node)
                link.parent.insert(link.parent.index(link) + 1, node)


def insert(notebook: NotebookNode) -> None:
    """Put a role behind each value of the notebook's prose that has a mark."""
    for cell in notebook.cells:
        lines = cell.source.split("\n")
        for mark in reversed(cell.metadata.get("cip", {}).get("marks", [])):
            line, column = lines[mark["line"]], mark["column"]
            told = json.dumps([mark["shown"], mark["others"]]).encode()
            role = f"{{{ROLE}}}`{base64.urlsafe_b64encode(told).decode()}`"
            lines[mark["line"]] = line[:column] + role + line[column:]
        cell.source = "\n".join(lines)


def read_marker(
    _name: str,
    _rawtext: str,
    text: str,
    _line: int,
    _inliner: Inliner,
    _options: dict[str, Any] | None = None,
    _content: list[str] | None = None,
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Return the node of a role that `insert` has put there."""
    shown, others = json.loads(base64.urlsafe_b64decode(text))
    return [marker(shown=shown, others=others)], []


def visit(self: HTML5Translator, node: marker) -> None:
    """Write the button, and what it opens, which the browser shows and hides by itself."""
    number = self.builder.env.new_serialno(ROLE)
    name = f"{ROLE}-{self.builder.current_docname.replace('/', '-')}-{number}"
    rows = [(f"shown here, on torch {node['torch']}", node["shown"]), *node["others"]]
    told = "".join(f"<span>{_code(value)} {html.escape(where)}</span>" for where, value in rows)
    self.body.append(
        f'{JOINED}<button type="button" class="cip-marker" popovertarget="{name}" '
        f'aria-label="{LABEL}"></button><span popover class="cip-others" id="{name}">{told}</span>'
    )
    raise nodes.SkipNode


def _code(value: str) -> str:
    """A value as HTML, as code where the page shows it so."""
    text = html.escape(value.strip("`"))
    return f"<code>{text}</code>" if value.startswith("`") else f"<b>{text}</b>"
