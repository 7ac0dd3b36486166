"""Where things are, and the settings in pyproject.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compile_in_practice.failure import BuildError

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "compile_in_practice"


@dataclass(frozen=True, kw_only=True)
class Project:
    """A site: its pages, labs, ledgers, records and settings.

    Attributes:
        root: the folder that holds pyproject.toml.
        pythons: the Python versions that the site builds on.
        releases: the torch releases of the matrix, oldest first.
        reference: the release that the source text was measured on.
        current: the release that a build uses unless told otherwise.
        announced: settings of torch, by full name, with the default that is to come.
        limit_s: seconds that a fence may take unless it says otherwise.
        memory_mb: MiB of private memory that a fence may add to torch's own.
        output_kb: KiB that a fence may write to its two streams.

    """

    root: Path
    pythons: tuple[str, ...]
    releases: tuple[str, ...]
    reference: str
    current: str
    limit_s: float = 60.0
    memory_mb: int = 4096
    output_kb: int = 512
    announced: dict[str, Any] = field(default_factory=dict)

    @property
    def docs(self) -> Path:
        """Return the folder of the pages."""
        return self.root / "docs"

    @property
    def labs(self) -> Path:
        """Return the folder of the CPU experiments that each build executes."""
        return self.root / "gallery" / "lab"

    @property
    def records(self) -> Path:
        """Return the folder of what was recorded elsewhere."""
        return self.root / "gallery" / "records"

    @property
    def ledger(self) -> Path:
        """Return the folder of the ledger, one file a release."""
        return self.docs / "ledger"

    @property
    def results(self) -> Path:
        """Return the folder that holds one folder for each environment."""
        return self.root / "results"

    def shown(self, path: Path) -> str:
        """Return `path` as messages show it, relative to the root."""
        return path.relative_to(self.root).as_posix()


def load_project(start: Path) -> Project:
    """Return the project that holds `start`.

    Raises:
        BuildError: no pyproject.toml above `start` has the table, or a key is wrong.

    """
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / "pyproject.toml").is_file():
            tables: dict[str, Any] = tomllib.loads(
                (folder / "pyproject.toml").read_text(encoding="utf-8")
            )
            if TABLE in tables.get("tool", {}):
                return _project(folder, tables["tool"][TABLE])
    message = f"no pyproject.toml with a [tool.{TABLE}] table in {start} or above"
    raise BuildError(message, remedy="run this inside the project")


def _project(root: Path, settings: dict[str, Any]) -> Project:
    try:
        pythons, releases = tuple(settings.pop("pythons")), tuple(settings.pop("releases"))
        return Project(root=root, pythons=pythons, releases=releases, **settings)
    except (KeyError, TypeError) as error:
        message = f"[tool.{TABLE}] is wrong: {error}"
        raise BuildError(message, where="pyproject.toml") from error
