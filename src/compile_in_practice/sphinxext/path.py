"""The learning path: the order of the pages, what each needs, and how long it takes.

One directive on the path's own page names the pages and what each needs. From it come
the list there, the table of contents, and one line below the title of each page.
"""

from __future__ import annotations

import math
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

WORDS_A_MINUTE, LINES_A_MINUTE = 200, 30
Steps = dict[str, list[str]]

logger = logging.getLogger(__name__)


class learning_path(nodes.General, nodes.Element):  # noqa: N801  # as docutils names nodes
    """Where the list of pages will stand, once all of them are read."""


class LearningPath(SphinxDirective):
    """Names the pages in reading order: `page: needed, needed`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the hidden table of contents and a place for the list."""
        folder = PurePosixPath(self.env.docname).parent
        steps: Steps = {}
        for number, line in enumerate(self.content):
            name, _, needs = line.partition(":")
            page = str(folder / name.strip())
            needed = [str(folder / one.strip()) for one in needs.split(",") if one.strip()]
            for unknown in [one for one in needed if one not in steps]:
                text = "%s needs %s, which does not come before it"
                logger.warning(text, page, unknown, location=self._place(number))
            steps[page] = [one for one in needed if one in steps]
        self.env.metadata[self.env.docname]["learning_path"] = steps
        toctree = ["```{toctree}", ":hidden:", "", *(f"/{page}" for page in steps), "```"]
        return [*self.parse_text_to_nodes("\n".join(toctree)), learning_path()]

    def _place(self, number: int) -> str:
        source, line = self.get_source_info()
        return f"{source}:{line + number + 1}"


class CountMinutes(SphinxTransform):
    """Notes how long a page takes to read."""

    default_priority = 900

    def apply(self, **_kwargs: object) -> None:
        """Count the words of the prose and the lines of the code, outputs left out."""
        prose = self.document.findall(_is(nodes.paragraph, nodes.term, nodes.title))
        words = sum(len(node.astext().split()) for node in prose)
        code = [node for node in self.document.findall(nodes.literal_block) if not _printed(node)]
        lines = sum(node.astext().count("\n") + 1 for node in code)
        minutes = math.ceil(words / WORDS_A_MINUTE + lines / LINES_A_MINUTE)
        self.env.metadata[self.env.docname]["minutes"] = minutes


class ShowPath(SphinxPostTransform):
    """Puts the list on the path's page, and its line below the title of each other."""

    default_priority = 20  # after references are resolved
    formats = ("html",)

    def run(self, **_kwargs: object) -> None:
        """Write what belongs on this page, if anything does."""
        steps = path_of(self.env)
        for place in list(self.document.findall(learning_path)):
            place.replace_self(self._list(steps))
        here = self.env.docname
        title = next(iter(self.document.findall(nodes.title)), None)
        if here in steps and title is not None:
            number = list(steps).index(here) + 1
            line = nodes.paragraph("", f"Page {number} of {len(steps)}", classes=["cip-path"])
            line += self._told(here, steps[here])
            title.parent.insert(title.parent.index(title) + 1, line)

    def _list(self, steps: Steps) -> nodes.Element:
        """Each page with its minutes, what it needs, and its own first paragraph's end."""
        items = [
            nodes.list_item(
                "",
                nodes.paragraph("", "", self._link(page), *self._told(page, needs)),
                nodes.paragraph("", _outcome(self.env, page)),
            )
            for page, needs in steps.items()
        ]
        minutes = sum(_minutes(self.env, page) for page in steps)
        told = (
            f"All of it takes {_hours(minutes)}, at {WORDS_A_MINUTE} words and"
            f" {LINES_A_MINUTE} lines of code a minute."
        )
        return nodes.container(
            "",
            nodes.paragraph("", told),
            nodes.enumerated_list("", *items, classes=["cip-path"], enumtype="arabic"),
            classes=["cip-path"],
        )

    def _told(self, page: str, needs: list[str]) -> list[nodes.Node]:
        """The minutes, and links to what the page needs."""
        minutes = _many(_minutes(self.env, page), "minute")
        told: list[nodes.Node] = [nodes.Text(f" · {minutes} · needs ")]
        for number, need in enumerate(needs):
            told += [nodes.Text(", ")] * bool(number) + [self._link(need)]
        return told if needs else [*told, nodes.Text("no other page")]

    def _link(self, page: str) -> nodes.Node:
        uri = self.app.builder.get_relative_uri(self.env.docname, page)
        return nodes.reference("", self.env.titles[page].astext(), internal=True, refuri=uri)


def path_of(env: BuildEnvironment) -> Steps:
    """The pages in reading order, each with what it needs; empty where no page has a path."""
    for told in env.metadata.values():
        if steps := told.get("learning_path"):
            return {page: needs for page, needs in steps.items() if page in env.titles}
    return {}


def read_again(
    _app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], _gone: set[str]
) -> Iterable[str]:
    """The pages whose line or list is no longer true, because another page changed."""
    new = added | changed
    owners = [page for page, told in env.metadata.items() if "learning_path" in told]
    steps = path_of(env)
    if new.intersection(owners):
        return set(steps)
    return owners if new.intersection(steps) else []


def _minutes(env: BuildEnvironment, page: str) -> int:
    return int(env.metadata[page]["minutes"])


def _hours(minutes: int) -> str:
    """Return minutes as a person says them.

    >>> _hours(135)
    '2 hours and 15 minutes'
    """
    hours, rest = divmod(minutes, 60)
    parts = [_many(hours, "hour")] * bool(hours) + [_many(rest, "minute")] * bool(rest)
    return " and ".join(parts)


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _outcome(env: BuildEnvironment, page: str) -> str:
    """What the reader of a page leaves with: the last sentence of its first paragraph."""
    first = next(iter(env.get_doctree(page).findall(nodes.paragraph)))
    return first.astext().split("\n")[-1]


def _is(*kinds: type[nodes.Node]) -> Callable[[nodes.Node], bool]:
    return lambda node: isinstance(node, kinds)


def _printed(node: nodes.Node) -> bool:
    """Whether a block is what a cell printed, not what a reader reads as code."""
    return any("cell_output" in parent.get("classes", ()) for parent in _parents(node))


def _parents(node: nodes.Node) -> Iterator[nodes.Element]:
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent
