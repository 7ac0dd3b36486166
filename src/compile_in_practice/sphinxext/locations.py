"""Warnings that name the file in `docs/` or `gallery/`, not its staged copy."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config


class PointToDocs(logging.Filter):
    """Rewrites the staged path in a record's location and text."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        """`pairs`: (staged folder, real folder), the longest first."""
        super().__init__()
        self.pairs = pairs

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, with real paths."""
        location = getattr(record, "location", None)
        if isinstance(location, str):
            record.location = self.real(location)
        record.msg = self.real(str(record.msg))
        if isinstance(record.args, tuple):
            record.args = tuple(
                self.real(arg) if isinstance(arg, str) else arg for arg in record.args
            )
        return True

    def real(self, text: str) -> str:
        """`text` with each staged folder replaced by the real one."""
        for staged, real in self.pairs:
            text = text.replace(staged, real)
        return text


def forget_after_warnings(app: Sphinx, _exception: Exception | None) -> None:
    """Drop Sphinx's memory of a build that warned, so that the next one warns again.

    Sphinx keeps the pages that it has read; `-W` would fail once and then pass.
    """
    if app._warncount:  # noqa: SLF001  # Sphinx has no public count
        _forget(app)
    _unfinished(app).unlink(missing_ok=True)


def forget_unfinished(app: Sphinx, _config: Config) -> None:
    """Drop Sphinx's memory of a build that did not come to its end.

    One that was interrupted may have warned, and nobody has forgotten its pages.
    """
    mark = _unfinished(app)
    if mark.exists():
        _forget(app)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()


def _forget(app: Sphinx) -> None:
    Path(app.doctreedir, "environment.pickle").unlink(missing_ok=True)


def _unfinished(app: Sphinx) -> Path:
    return Path(app.doctreedir, "unfinished")


def point_to_docs(app: Sphinx, _config: Config) -> None:
    """Add the filter behind Sphinx's own, which turn locations into text."""
    root = Path(app.confdir).parent
    pairs = [
        (str(app.srcdir / "_gallery"), str(root / "gallery")),
        (str(app.srcdir), str(app.confdir)),
    ]
    for handler in logging.getLogger("sphinx").handlers:
        handler.addFilter(PointToDocs(pairs))
