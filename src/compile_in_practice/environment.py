"""What a result depends on besides its fence: torch, Python, platform, settings."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement

from compile_in_practice.failure import BuildError
from compile_in_practice.variant import PLAIN, Variant

if TYPE_CHECKING:
    from compile_in_practice.project import Project

SETTINGS = {
    "OMP_NUM_THREADS": "1",  # a second thread in the parent and no child can be forked
    "TORCHINDUCTOR_COMPILE_THREADS": "1",  # else a pool of workers starts, unused
    "PYTHONHASHSEED": "0",
    # torch 2.8.0 asks a process of addr2line for each C++ frame of some errors
    "TORCH_SYMBOLIZE_MODE": "dladdr",
    # torch brings no numpy and says so at the first aot_eager compile: not ours to show
    "PYTHONWARNINGS": "ignore:Failed to initialize NumPy:UserWarning",
}
INTO_RESULTS = ("experiment.py", "jobs.py", "normalize.py", "outcome.py", "xray.py")
FRESH = "COMPILE_IN_PRACTICE_FRESH"


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Where fences run, as far as it can change what they print.

    Attributes:
        torch: the release, without a build tag: `2.15.0`.
        build: torch's full version with its tag, `2.15.0+cpu`, and git revision.
        python: `3.11.7`.
        platform: `Linux x86_64`.
        digest: a hash over these, the settings and the code that runs fences.
        allowed: top-level modules of torch and of all that it requires.
        variant: what the worker changes before a fence, as a job carries it.

    """

    torch: str
    build: str
    python: str
    platform: str
    digest: str
    allowed: tuple[str, ...]
    variant: dict[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Return the name of the results folder."""
        short = ".".join(self.python.split(".")[:2])
        return f"torch-{self.torch}-py{short}-{self.digest[:8]}"

    @property
    def varies_by(self) -> dict[str, str]:
        """Return what a value may be declared to vary by, as it is here."""
        return {"python": ".".join(self.python.split(".")[:2]), "platform": self.platform}


def fresh_mode() -> bool:
    """Return whether each fence gets a fresh interpreter instead of a fork."""
    return sys.platform != "linux" or os.environ.get(FRESH, "") not in {"", "0"}


def process_environment(settings: dict[str, str] = SETTINGS) -> dict[str, str]:
    """Return the variables that fences start with: nobody's own TORCH settings."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TORCH", "PYTORCH", "PYTHONWARN", "PYTHONSTARTUP"))
    }
    return kept | settings


def read_environment(
    project: Project, asked: str | None = None, variant: Variant = PLAIN
) -> Environment:
    """Return the environment of this interpreter without importing torch.

    Raises:
        BuildError: Python is optimized, torch is missing, or it is not the release
            `asked` for.

    """
    if sys.flags.optimize or os.environ.get("PYTHONOPTIMIZE"):
        message = "optimized Python removes every assertion"
        raise BuildError(message, remedy="run without -O and without PYTHONOPTIMIZE")
    try:
        distribution = metadata.distribution("torch")
    except metadata.PackageNotFoundError as error:
        message = "torch is not installed"
        remedy = f"uv pip install torch=={asked or project.current}"
        raise BuildError(message, remedy=remedy) from error
    release = distribution.version.partition("+")[0]
    if asked is not None and release != asked:
        message = f"torch {release} is installed, {asked} was asked for"
        raise BuildError(message, remedy=f"nox -s docs -- {asked}")
    build = f"{distribution.version} {_git_revision(distribution)}"
    where = f"{platform.system()} {platform.machine()}"
    brought = _brought_along()
    python = platform.python_version()
    parts = [build, python, where, sys.prefix, brought, SETTINGS, fresh_mode(), _runner_source()]
    if variant.changes:
        parts.append(variant.changes)
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return Environment(
        torch=release,
        build=build,
        python=python,
        platform=where,
        digest=digest,
        allowed=_top_levels(brought),
        variant=variant.changes,
    )


def _git_revision(distribution: metadata.Distribution) -> str:
    version = Path(str(distribution.locate_file("torch/version.py")))
    text = version.read_text(encoding="utf-8") if version.exists() else ""
    match = re.search(r"git_version = '(\w+)'", text)
    return match[1] if match else "unknown"


def _brought_along() -> dict[str, str]:
    """Return torch and what it requires here, each with its version."""
    found: dict[str, str] = {}
    waiting = ["torch"]
    while waiting:
        name = waiting.pop()
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if name in found:
            continue
        found[name] = distribution.version
        for text in distribution.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name.lower())
    return dict(sorted(found.items()))


def _top_levels(names: dict[str, str]) -> tuple[str, ...]:
    """Return the top-level modules that these distributions install."""
    modules: set[str] = set()
    for name in names:
        # The lines as they stand: a Path for each of 18,000 files takes half a second.
        record = metadata.distribution(name).read_text("RECORD") or ""
        firsts = {line.partition(",")[0].partition("/")[0] for line in record.splitlines()}
        modules |= {first.partition(".")[0] for first in firsts if not first.endswith("-info")}
    return tuple(sorted(module for module in modules if module.isidentifier()))


def _runner_source() -> str:
    """Return a hash of the code that executes fences and makes results of what they did."""
    here = Path(__file__).parent
    files = [*sorted((here / "worker").glob("*.py")), *(here / name for name in INTO_RESULTS)]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
