"""One line on the terminal that says how far the run is; nothing elsewhere."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Progress:
    """Pages done, the page that runs, time so far.

    Attributes:
        todo: page (or lab) for each job id.
        begun: when the run began.

    """

    todo: dict[str, str]
    begun: float = field(default_factory=time.monotonic)
    running: list[str] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Count the jobs of each page."""
        for page in self.todo.values():
            self.left[page] = self.left.get(page, 0) + 1
        self.n_pages = len(self.left)

    def started(self, job: str) -> None:
        """Show that a job runs now."""
        self.running.append(self.todo[job])
        self._show()

    def ended(self, job: str) -> None:
        """Show that a job is done."""
        page = self.todo[job]
        self.running.remove(page)
        self.left[page] -= 1
        self._show()

    def close(self) -> None:
        """Take the line away."""
        self._write("")

    def _show(self) -> None:
        done = sum(count == 0 for count in self.left.values())
        seconds = time.monotonic() - self.begun
        now = ", ".join(sorted(set(self.running))) or "..."
        self._write(f"pages {done}/{self.n_pages}  {seconds:.0f} s  running {now}"[:100])

    def _write(self, text: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
