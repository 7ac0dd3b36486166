"""Runs that change one thing about a release: its defaults to come, or its compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compile_in_practice.failure import BuildError

if TYPE_CHECKING:
    from pathlib import Path

    from compile_in_practice.project import Project


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What is other than in a plain run.

    Attributes:
        name: `next` or `inductor`, and an empty text for a plain run.
        changes: what the worker does before a fence: `settings`, by full name, and
            `inductor`, whether Inductor compiles what a backend leaves as it is.

    """

    name: str
    changes: dict[str, Any]

    def ledger(self, project: Project) -> Path:
        """Return the folder of the ledgers of such runs, beside those of plain ones."""
        return project.ledger / self.name if self.name else project.ledger


PLAIN = Variant(name="", changes={})
NAMES = ("next", "inductor")
TITLES = {"next": "with announced defaults", "inductor": "under Inductor"}


def told(project: Project, name: str) -> str:
    """Return how a sentence names a variant of the project."""
    if name != "next":
        return TITLES[name]
    settings = (f"{full.rpartition('.')[2]}={value}" for full, value in project.announced.items())
    return f"with {' and '.join(settings)}"


def read_variant(project: Project, name: str) -> Variant:
    """Return the variant of that name, the plain run for an empty one.

    Raises:
        BuildError: the project announces no defaults.

    """
    if name == "inductor":
        return Variant(name=name, changes={"inductor": True})
    if name == "next":
        if not project.announced:
            message = "no coming default is announced"
            remedy = 'name them: [tool.compile_in_practice.announced] "torch._dynamo.config.x" = 1'
            raise BuildError(message, where="pyproject.toml", remedy=remedy)
        return Variant(name=name, changes={"settings": project.announced})
    return PLAIN
