"""Links each page's first use of a term to the glossary, with the meaning on hover."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes

from compile_in_practice.glossary import PAGE, Term, read_terms, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

GLOSSARY = PAGE.removesuffix(".md")
NOT_READ = ("reference/api", "reference/changelog", "reference/readings", GLOSSARY)
# In a sentence these mostly mean something else: a mode of gradients, to skip a line.
TOO_COMMON = {"dynamic", "evidence", "lab", "lease", "mode", "record", "skip", "static", "symptom"}
NO_PROSE = (
    nodes.reference, nodes.literal, nodes.literal_block, nodes.title, nodes.term, nodes.raw,
    nodes.rubric, nodes.caption, addnodes.pending_xref, addnodes.toctree,
)  # fmt: skip
GENERATED = {"cip-ledger", "cip-symptoms", "cip-symptom-group", "cell_output"}


def depend_on_glossary(app: Sphinx, _doctree: nodes.document) -> None:
    """Have each page made again when the glossary changes."""
    if (path := Path(app.confdir, PAGE)).exists():
        app.env.note_dependency(str(path))


def link_first_uses(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put a link on the first place where the page's prose uses each term."""
    if docname.startswith(NOT_READ):
        return
    pattern, terms = _terms(Path(app.confdir))
    anchors = app.env.domains.standard_domain.objects
    seen: set[str] = set()
    for text in [*doctree.findall(nodes.Text)]:
        if not _is_prose(text):
            continue
        pieces: list[nodes.Node] = []
        plain, end = text.astext(), 0
        for match, name in _uses(pattern, plain, terms):
            if name in seen:
                continue
            seen.add(name)
            _, anchor = anchors["term", name]
            address = app.builder.get_relative_uri(docname, GLOSSARY)
            link = nodes.reference(
                "", match[0], internal=True, refuri=f"{address}#{anchor}",
                reftitle=re.sub(r"[`*]", "", terms[name.lower()].meaning), classes=["cip-term"],
            )  # fmt: skip
            pieces += [nodes.Text(plain[end : match.start()]), link]
            end = match.end()
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(plain[end:])])


def _uses(
    pattern: re.Pattern[str], plain: str, terms: dict[str, Term]
) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each use of a term, longer terms first, with the term's own name."""
    for match in pattern.finditer(plain):
        for term in terms.values():
            if re.fullmatch(spelled(term.name), match[0], re.IGNORECASE):
                yield match, term.name
                break


@cache
def _terms(docs: Path) -> tuple[re.Pattern[str], dict[str, Term]]:
    """Return one pattern for all terms, and the terms by name in lower case."""
    chosen = [term for term in read_terms(docs) if term.name not in TOO_COMMON]
    chosen.sort(key=lambda term: -len(term.name))
    any_term = "|".join(spelled(term.name) for term in chosen) or r"(?!)"
    before = r"(?<!stack )(?<![\w./-])"
    pattern = re.compile(f"{before}(?:{any_term})(?![-/])", re.IGNORECASE)
    return pattern, {term.name.lower(): term for term in chosen}


def _is_prose(text: nodes.Text) -> bool:
    """Return whether a text is part of a sentence that somebody wrote."""
    node = text.parent
    in_paragraph = False
    while node is not None:
        if isinstance(node, NO_PROSE) or GENERATED & set(node.get("classes", ())):
            return False
        in_paragraph |= isinstance(node, nodes.paragraph)
        node = node.parent
    return in_paragraph
