"""What went wrong, where, why, and what to do now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One reason why the build fails.

    Attributes:
        where: the file, relative to the project, and the line: `docs/a.md:41`.
        what: what happened, in one line.
        details: further lines: the source line, compared values, log texts.
        remedy: what to do now, or an empty text.

    """

    where: str
    what: str
    details: tuple[str, ...] = field(default=())
    remedy: str = ""

    def __str__(self) -> str:
        """Return the lines that a person reads, the place first."""
        lines = [f"{self.where}: {self.what}", *(f"    {line}" for line in self.details)]
        if self.remedy:
            lines.append(f"    -> {self.remedy}")
        return "\n".join(lines)


class BuildError(Exception):
    """The build cannot go on at all: torch is missing, the disk is full."""

    def __init__(self, what: str, *, where: str = "build", remedy: str = "") -> None:
        """Take the parts of the one failure that ends the build."""
        self.failure = Failure(where=where, what=what, remedy=remedy)
        super().__init__(str(self.failure))


def in_order(failures: Iterable[Failure]) -> list[Failure]:
    """Return the failures by file and line, as an editor lists them."""

    def place(failure: Failure) -> tuple[str, int]:
        file, _, line = failure.where.partition(":")
        return file, int(line) if line.isdigit() else 0

    return sorted(failures, key=place)
