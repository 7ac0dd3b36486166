"""Terms of the glossary: linked where a page first uses them, defined on hover and focus.

The definition is text of the page, so that nothing is fetched; a tap follows the link.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from docutils.nodes import Element
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment
    from sphinx.writers.html5 import HTML5Translator

GLOSSARY = "reference/glossary"
FOLDERS = ("module/", "how-to/", "reference/symptoms/")
NOT_HERE = (nodes.literal, nodes.reference, nodes.title, nodes.entry, nodes.raw, nodes.caption)
CUDA_GRAPHS = "module/cuda-graphs-and-autotuning"
# Words that also mean something else: where they have the glossary's meaning.
ONLY_ON = {
    "bucket": {"module/dynamic-shapes", CUDA_GRAPHS},
    "mode": {"module/is-it-worth-it", CUDA_GRAPHS},
}
NOT_ON = {"graph": {CUDA_GRAPHS}}  # it says so of the recordings


class definition_tip(nodes.Inline, nodes.Element):  # noqa: N801  # as docutils names nodes
    """A definition; as an attribute, so that search does not find it on each page."""


class Term(NamedTuple):
    """A term of the glossary: its anchor, and its definition as plain text."""

    anchor: str
    text: str


class DefineTerms(SphinxPostTransform):
    """Links the first use of each term, and puts its definition beside it."""

    default_priority = 30  # the path's line stands by then
    formats = ("html",)

    def run(self, **_kwargs: object) -> None:
        """Go through the page in reading order; the longest term wins."""
        if not self.env.docname.startswith(FOLDERS) or GLOSSARY not in self.env.all_docs:
            return
        left = {
            word: term
            for word, term in read_terms(self.env).items()
            if self.env.docname in ONLY_ON.get(word, {self.env.docname} - NOT_ON.get(word, set()))
        }
        for text in list(_prose(self.document)):
            found = list(self._linked(str(text), left))
            if len(found) > 1:
                text.parent.replace(text, found)

    def _linked(self, text: str, left: dict[str, Term]) -> Iterator[nodes.Node]:
        """Yield the parts of `text`; a term that was linked is left no more."""
        start = 0
        while left and (match := _pattern(left).search(text, start)):
            word = _word(match["word"], left)
            yield nodes.Text(text[start : match.start()])
            yield self._link(match[0], left.pop(word))
            start = match.end()
        yield nodes.Text(text[start:])

    def _link(self, shown: str, term: Term) -> nodes.Node:
        uri = self.app.builder.get_relative_uri(self.env.docname, GLOSSARY)
        tip = f"definition-{term.anchor}"
        link = definition_tip(shown, uri=f"{uri}#{term.anchor}", tip=tip, definition=term.text)
        link += nodes.Text(shown)
        return nodes.inline("", "", link, classes=["cip-term"])


def read_terms(env: BuildEnvironment) -> dict[str, Term]:
    """The terms of PyTorch by name; the words of this site stand in a list of their own."""
    glossary = next(iter(env.get_doctree(GLOSSARY).findall(addnodes.glossary)))
    return {
        term.astext(): Term(term["ids"][0], item[-1].astext().replace("\n", " "))
        for item in glossary.findall(nodes.definition_list_item)
        for term in item.findall(nodes.term)
    }


def read_again(
    _app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], _gone: set[str]
) -> Iterable[str]:
    """The pages that show definitions, where the glossary changed."""
    changes = GLOSSARY in added | changed
    return [page for page in env.all_docs if page.startswith(FOLDERS)] if changes else []


def _prose(document: nodes.document) -> Iterator[nodes.Text]:
    """The texts of paragraphs that are no link, code, heading or cell of a table."""
    for paragraph in document.findall(nodes.paragraph):
        if "cip-path" in paragraph["classes"] or _within(paragraph):
            continue
        for text in paragraph.findall(nodes.Text):
            if not _within(text):
                yield text


def _within(node: nodes.Node) -> bool:
    parent = node.parent
    while parent is not None:
        if isinstance(parent, NOT_HERE):
            return True
        parent = parent.parent
    return False


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    """A pattern for any of the words, the longest first, with a capital or a plural."""
    each = sorted(words, key=len, reverse=True)
    either = "|".join(f"{_first(word)}{re.escape(word[1:])}" for word in each)
    return re.compile(rf"(?<![\w-])(?P<word>{either})s?(?![\w-])")


def _first(word: str) -> str:
    """The first letter, which a sentence may write as a capital."""
    return f"[{word[0]}{word[0].upper()}]" if word[0].islower() else re.escape(word[0])


def _word(found: str, words: dict[str, Term]) -> str:
    return found if found in words else found[0].lower() + found[1:]


def open_term(self: HTML5Translator, node: Element) -> None:
    """Begin the link, which names its definition."""
    self.body.append(f'<a href="{html.escape(node["uri"])}" aria-describedby="{node["tip"]}">')


def close_term(self: HTML5Translator, node: Element) -> None:
    """End the link; the definition follows it, so that a pointer can move onto it."""
    tip = f'<span class="cip-definition" role="tooltip" id="{node["tip"]}">'
    self.body.append(f"</a>{tip}{html.escape(node['definition'])}</span>")
