"""What the search field offers beside symptoms: pages, their sections, glossary terms.

Titles alone: the words of the pages are in Sphinx's index, which the search page loads.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes

from compile_in_practice.sphinxext import terms
from compile_in_practice.store import write_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

DATA = "title-data.js"
SECTIONS_OF = ("module/", "how-to/")  # of other pages the title says enough


def write_data(app: Sphinx, exception: Exception | None) -> None:
    """Write each title with its address and where it stands; pages load it on use."""
    if exception or app.builder.format != "html":
        return
    sections = list(_sections(app))
    n_pages = Counter(title for title, _, _ in sections)
    titles = [
        *([title, f"{page}.html", ""] for page, title in _pages(app)),
        *([*one] for one in sections if n_pages[one[0]] == 1),  # "In short" names no page
        *_terms(app),
    ]
    text = f"globalThis.siteTitles = {json.dumps(titles)};\n"
    write_text(Path(app.outdir, "_static", DATA), text)


def _pages(app: Sphinx) -> list[tuple[str, str]]:
    return sorted((page, title.astext()) for page, title in app.env.titles.items())


def _sections(app: Sphinx) -> Iterator[tuple[str, str, str]]:
    for page, title in _pages(app):
        if page.startswith(SECTIONS_OF):
            for link in app.env.tocs[page].findall(nodes.reference):
                if anchor := link.get("anchorname"):
                    yield link.astext(), f"{page}.html{anchor}", title


def _terms(app: Sphinx) -> list[list[str]]:
    if terms.GLOSSARY not in app.env.all_docs:
        return []
    title = app.env.titles[terms.GLOSSARY].astext()
    found = terms.read_terms(app.env)
    return [[word, f"{terms.GLOSSARY}.html#{term.anchor}", title] for word, term in found.items()]
