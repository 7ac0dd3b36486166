"""A page, its fences, and the chains in which they run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Fence:
    """A code cell of a page, and what it declares about itself.

    Attributes:
        page: the page's path under docs, without suffix: `module/graph-breaks`.
        name: unique on the page, snake case.
        line: 1-based line of the page on which the fence opens.
        first_line: 1-based line of the page on which its code begins.
        source: the code that the reader sees and copies.
        values: names, each with the expression that is evaluated afterwards.
        continues: the fence of the same page after which this one runs, if any.
        setup: why this fence asserts nothing, if it does not.
        env: start-up variables; they ask for a fresh interpreter.
        log: texts that it must write to standard error, in this order.
        varies: values that may differ by `python` or `platform`.
        limit_s: seconds it may take, or None for the project's own limit.
        not_run: why this code is shown and not executed, if it is not.
        record: what a recording runs it with (`inductor`), if it is recorded.
        compares: what it holds side by side (`backends`), so that a run which puts one
            in the place of all tells nothing of it.

    """

    page: str
    name: str
    line: int
    first_line: int
    source: str
    values: dict[str, str] = field(default_factory=dict)
    continues: str | None = None
    setup: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    log: tuple[str, ...] = ()
    varies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    limit_s: float | None = None
    not_run: str | None = None
    record: str | None = None
    compares: str | None = None

    @property
    def full_name(self) -> str:
        """Return the name in the ledger: `graph_breaks.branchy`."""
        return f"{page_name(self.page)}.{self.name}"

    @property
    def digest(self) -> str:
        """Return a hash of the code and of what is evaluated around it."""
        parts = [self.source, self.values, self.env, self.log]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class Prose:
    """Markdown between two fences; `line` is its 1-based first line."""

    line: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page as written, in reading order.

    Attributes:
        name: the path under docs without suffix, as Sphinx names documents.
        path: the file.
        metadata: the front matter.
        parts: prose and fences.
        lines: the text as it was read, a line each.

    """

    name: str
    path: Path
    metadata: dict[str, Any]
    parts: tuple[Prose | Fence, ...]
    lines: tuple[str, ...]

    @property
    def fences(self) -> tuple[Fence, ...]:
        """Return the fences in reading order."""
        return tuple(part for part in self.parts if isinstance(part, Fence))


def page_name(page: str) -> str:
    """Return a page's name in expressions: `module/graph-breaks` -> `graph_breaks`."""
    return page.rsplit("/", 1)[-1].replace("-", "_")


def chains(page: Page, *, record: str | None = None) -> list[list[Fence]]:
    """Return the fences that run, grouped into chains that share a process.

    With `record` they are the ones that are recorded with it instead.
    """
    running = [f for f in page.fences if f.not_run is None and f.record == record]
    follower = {f.continues: f for f in running if f.continues}
    result = []
    for fence in running:
        if fence.continues is None:
            chain = [fence]
            while (following := follower.get(chain[-1].name)) is not None:
                chain.append(following)
            result.append(chain)
    return result


def script(chain: list[Fence]) -> tuple[str, list[int]]:
    """Return a chain as one plain file, and the line on which each fence begins."""
    lines, first_lines = 1, []
    for fence in chain:
        first_lines.append(lines)
        lines += fence.source.count("\n") + 2
    return "\n\n".join(fence.source for fence in chain) + "\n", first_lines
