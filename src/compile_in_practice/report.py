"""What a run did, as data and as a person reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from compile_in_practice.failure import Failure
    from compile_in_practice.ledger import Measured


@dataclass(kw_only=True)
class Report:
    """What a run did.

    Attributes:
        results: the folder of this environment's results.
        torch: the release that it ran on.
        failures: why the build fails; empty where it does not.
        notices: what an author should know: marks, values that no ledger holds.
        setups: the fences that assert nothing on purpose, with place and reason.
        n_pages: pages read.
        n_labs: labs with data.
        n_fences: fences with a result of this environment.
        n_reused: of these, the ones that an earlier run had executed.
        n_held: assertions that held.
        measured: the named values, for the ledger.
        reached: the values that fences gave which then failed, or whose chain did, and
            labs that failed.
        unread: pages and labs of which something cannot be read, as a ledger names them.

    """

    results: Path
    torch: str
    failures: list[Failure] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    setups: list[str] = field(default_factory=list)
    n_pages: int = 0
    n_labs: int = 0
    n_fences: int = 0
    n_reused: int = 0
    n_held: int = 0
    measured: list[Measured] = field(default_factory=list)
    reached: list[Measured] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    here: dict[str, str] = field(default_factory=dict)

    @property
    def hidden(self) -> set[str]:
        """Return the fences, labs and pages that may have values which this run lacks."""
        return {item.name for item in self.reached} | self.unread

    def lines(self) -> list[str]:
        """Return the report as a person reads it; the summary lists what is only counted."""
        counts = (
            f"torch {self.torch}: {self.n_pages} pages, {self.n_fences} fences"
            f" ({self.n_reused} unchanged), {self.n_held} assertions held,"
            f" {self.n_labs} labs"
        )
        number = len(self.failures)
        verdict = f"{number or 'no'} failure{'s' if number > 1 else ''}"
        setups = (
            f"setup that asserts nothing, on purpose: {len(self.setups)} of the fences,"
            f" see results/{self.results.name}/summary.json"
        )
        told = [*self.notices, *([setups] if self.setups else [])]
        return [*map(str, self.failures), *told, f"{counts}, {verdict}"]
