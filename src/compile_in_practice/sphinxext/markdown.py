"""Each page as Markdown, for tools that read: what the reader sees, values included."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes

from compile_in_practice.store import write_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from docutils.nodes import Element, Node
    from sphinx.application import Sphinx

LEFT_OUT = {
    "sphx-glr-download-link-note",
    "sphx-glr-footer",
    "sphx-glr-timing",
    "toctree-wrapper",
}
SILENT = (nodes.comment, nodes.raw, nodes.target, nodes.system_message, addnodes.index)
PAGE = re.compile(r"^(?!https?:|mailto:)([^#]+)\.html(?=#|$)")
PYTHON = re.compile(r"^(?:ipython3?|Python|)$")
MARKS: dict[type[Node], str] = {nodes.emphasis: "*", nodes.strong: "**", nodes.term: "**"}


def write_page(
    app: Sphinx,
    pagename: str,
    _template: str,
    _context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Write the page's Markdown beside its HTML."""
    if doctree is not None:
        write_text(Path(app.outdir, f"{pagename}.md"), markdown(doctree))


def markdown(doctree: nodes.document) -> str:
    """Return a resolved page as Markdown."""
    return _blocks(doctree, 0) + "\n"


def _blocks(parent: Element, depth: int) -> str:
    """Return the children of a node as blocks, an empty line between them."""
    found = [_block(child, depth) for child in parent.children]
    return "\n\n".join(block for block in found if block.strip())


def _block(node: Node, depth: int) -> str:
    """Return one block; of a node that is none of these, its children."""
    if isinstance(node, nodes.raw) and "markdown" in node:
        return str(node["markdown"])
    if isinstance(node, SILENT) or LEFT_OUT.intersection(node.get("classes", ())):  # type: ignore[attr-defined]
        return ""
    if isinstance(node, nodes.paragraph) and "cip-path" in node["classes"]:
        return ""  # the page's place in the learning path is no claim of it
    for kind, write in BLOCKS.items():
        if type(node).__name__ == kind or (isinstance(kind, type) and isinstance(node, kind)):
            return write(node, depth)
    is_text = isinstance(node, nodes.TextElement | nodes.Text)
    return _inline(node) if is_text else _blocks(node, depth)  # type: ignore[arg-type]


def _section(node: Element, depth: int) -> str:
    return _blocks(node, depth + 1)


def _title(node: Element, depth: int) -> str:
    if isinstance(node.parent, nodes.Admonition):  # put there by Sphinx's writer of HTML
        return f"**{_inline(node)}**"
    return f"{'#' * max(depth, 1)} {_inline(node)}"


def _code(node: Element, _depth: int) -> str:
    return fenced(node.astext(), node.get("language", "text"))


def fenced(text: str, language: str) -> str:
    """Return code as a fence that nothing in it closes."""
    language = PYTHON.sub("python", language)
    known = language if language in {"python", "console", "bash", "toml", "yaml", "json"} else ""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{known or 'text'}\n{text.rstrip()}\n{ticks}"


def figure(alt: str) -> str:
    """Return what stands for a picture: what it finds."""
    return f"(Figure: {alt})"


def _list(node: Element, depth: int) -> str:
    is_numbered = isinstance(node, nodes.enumerated_list)
    lines = []
    for number, item in enumerate(node.children, start=node.get("start", 1)):
        mark = f"{number}. " if is_numbered else "- "
        lines.append(mark + _indented(_blocks(item, depth), len(mark)))  # type: ignore[arg-type]
    return "\n".join(lines)


def _definition(node: Element, depth: int) -> str:
    terms = [_inline(child) for child in node.children if isinstance(child, nodes.term)]
    (body,) = (child for child in node.children if isinstance(child, nodes.definition))
    return "\n".join(terms) + "\n: " + _indented(_blocks(body, depth), 2)


def _field(node: Element, depth: int) -> str:
    name, body = node.children
    return f"- {_inline(name)}:\n\n  {_indented(_blocks(body, depth), 2)}"  # type: ignore[arg-type]


def _table(node: Element, _depth: int) -> str:
    rows = [[_cell(entry) for entry in row.children] for row in node.findall(nodes.row)]  # type: ignore[arg-type]
    if not rows:
        return ""
    rows.insert(1, ["---"] * len(rows[0]))
    caption = "".join(f"{_inline(child)}\n\n" for child in node.findall(nodes.title))
    return caption + "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(entry: Element) -> str:
    return _blocks(entry, 0).replace("|", "\\|").replace("\n\n", "<br>").replace("\n", " ")


def _quoted(node: Element, depth: int) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _blocks(node, depth).split("\n"))


def _picture(node: Element, _depth: int = 0) -> str:
    return figure(node.get("alt", ""))


def _signature(node: Element, _depth: int) -> str:
    return f"`{node.astext()}`"


def _inline(node: Node) -> str:
    """Return a paragraph's content on the lines that it has."""
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, nodes.literal):
        return _literal(node.astext())
    if isinstance(node, nodes.image):
        return _picture(node)
    if isinstance(node, SILENT):
        return ""
    text = "".join(_inline(child) for child in node.children)
    if isinstance(node, nodes.reference) and "refuri" in node:
        is_page = node.get("internal", False)
        target = PAGE.sub(r"\1.md", node["refuri"]) if is_page else node["refuri"]
        return f"[{text}]({target})"
    mark = next((mark for kind, mark in MARKS.items() if isinstance(node, kind)), "")
    return f"{mark}{text}{mark}"


def _literal(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def _indented(text: str, width: int) -> str:
    return re.sub(r"\n(?=[^\n])", "\n" + " " * width, text)


BLOCKS: dict[Any, Callable[[Any, int], str]] = {
    nodes.section: _section,
    nodes.title: _title,
    nodes.rubric: lambda node, _depth: f"**{_inline(node)}**",
    nodes.literal_block: _code,
    "code_links_block": lambda node, _depth: fenced(node.astext(), "python"),
    "imgsgnode": _picture,
    addnodes.desc: _blocks,
    nodes.bullet_list: _list,
    nodes.enumerated_list: _list,
    nodes.definition_list_item: _definition,
    nodes.field: _field,
    nodes.table: _table,
    nodes.block_quote: _quoted,
    nodes.Admonition: _quoted,
    nodes.transition: lambda _node, _depth: "---",
    nodes.image: _picture,
    addnodes.desc_signature: _signature,
}
