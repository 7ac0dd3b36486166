"""`llms.txt`: the pages in reading order, each with its Markdown, for tools that read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from compile_in_practice.sphinxext.releases import summary
from compile_in_practice.store import write_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)")
EMPHASIS = re.compile(r"\*{1,2}(?=\S)([^*`]+)(?<=\S)\*{1,2}")
START = """\
# {title}

> {claim}

Built with torch {torch}, which ran the code of each page: a number in a sentence is a measured
value, and a code block with an output ran as it stands, in this build or where its record says.
A line below the code names the releases that measure something else.
"""


def write_guide(app: Sphinx, exception: Exception | None) -> None:
    """Write the guide of the finished site."""
    if exception or app.builder.format != "html":
        return
    root = app.config.root_doc
    title, claim = app.config.html_title, claim_of(app, root)
    lines = [START.format(title=title, claim=claim, torch=summary(app)["torch"])]
    for top in app.env.toctree_includes.get(root, []):
        lines.append(f"## {_title(app, top)}\n")
        lines += [_line(app, page) for page in below(app, top)]
        lines.append("")
    write_text(Path(app.outdir, "llms.txt"), "\n".join(lines))


def below(app: Sphinx, page: str) -> Iterator[str]:
    """Yield a page and all that its table of contents leads to, in reading order."""
    yield page
    for child in app.env.toctree_includes.get(page, []):
        yield from below(app, child)


def claim_of(app: Sphinx, page: str) -> str:
    """Return the first sentence of a page, as text, or nothing."""
    markdown = Path(app.outdir, f"{page}.md")
    blocks = markdown.read_text(encoding="utf-8").split("\n\n") if markdown.exists() else []
    prose = (block for block in blocks if re.match(r"[\w`*\[]", block))
    return first_sentence(next(prose, ""))


def first_sentence(markdown: str) -> str:
    """Return the first sentence of a paragraph, without links and emphasis.

    >>> first_sentence("**Question.** Is `a * b` [*free*](x.md)? No.")
    'Is `a * b` free?'
    """
    text = " ".join(markdown.removeprefix("**Question.**").split())
    while (plain := LINK.sub(r"\1", text)) != text:
        text = plain
    text = EMPHASIS.sub(r"\1", text)
    ended = re.match(r".*?[.?!](?=\s+[A-Z`]|$)", text)
    return ended[0] if ended else text


def _line(app: Sphinx, page: str) -> str:
    claim = claim_of(app, page)
    return f"- [{_title(app, page)}]({page}.md)" + (f": {claim}" if claim else "")


def _title(app: Sphinx, page: str) -> str:
    return app.env.titles[page].astext()
