"""What there is to run: chains of fences and lab experiments, as worker jobs."""

from __future__ import annotations

import ast
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compile_in_practice.environment import fresh_mode
from compile_in_practice.experiment import ExperimentError, load
from compile_in_practice.failure import Failure
from compile_in_practice.page import Fence, chains, script

if TYPE_CHECKING:
    from pathlib import Path

    from compile_in_practice.environment import Environment
    from compile_in_practice.page import Page
    from compile_in_practice.project import Project

# Start-up variables that a forked child can still set: torch reads them again when asked.
SET_AFTER_IMPORT = {"TORCH_LOGS", "TORCH_TRACE"}


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Fences that run one after the other in one process.

    Attributes:
        page: the page they stand on.
        fences: in order; each but the first continues the one before.
        key: a hash of all that decides what they print, apart from the environment.

    """

    page: Page
    fences: tuple[Fence, ...]
    key: str

    def digest(self, fence: Fence) -> str:
        """Return a hash of all the code that gives `fence` its values."""
        digests = [one.digest for one in self.fences[: self.fences.index(fence) + 1]]
        if len(digests) == 1:
            return digests[0]
        return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]

    def limit_s(self, default: float) -> float:
        """Return the seconds that the chain may take, `default` for a silent fence."""
        limits = (fence.limit_s for fence in self.fences)
        return sum(default if limit is None else limit for limit in limits)


@dataclass(frozen=True, kw_only=True)
class Lab:
    """A lab experiment, which returns plain data."""

    path: Path
    key: str

    @property
    def name(self) -> str:
        """Return the name of its data: the script's file name without suffix."""
        return self.path.stem


def page_chains(page: Page, *, record: str | None = None) -> list[Chain]:
    """Return the chains of a page in reading order, the recorded ones if asked."""
    result = []
    for fences in chains(page, record=record):
        parts = [(f.name, f.digest, f.limit_s, f.setup) for f in fences]
        key = hashlib.sha256(json.dumps([page.name, parts]).encode()).hexdigest()[:20]
        result.append(Chain(page=page, fences=tuple(fences), key=key))
    return result


def labs(project: Project) -> tuple[list[Lab], list[Failure]]:
    """Return the labs in file-name order, and those that have no experiment."""
    found, failures = [], []
    for path in sorted(project.labs.glob("[!_]*.py")):
        try:
            text = f"{path.stem}:{load(path).hash}"  # two labs may measure the same way
        except ExperimentError as error:
            line, what = _line_and_message(path, error)
            failures.append(Failure(where=f"{project.shown(path)}:{line}", what=what))
        else:
            key = hashlib.sha256(text.encode()).hexdigest()[:20]
            found.append(Lab(path=path, key=key))
    return found, failures


def _line_and_message(path: Path, error: ExperimentError) -> tuple[str, str]:
    """Return the line that the error names, 1 where it names none, and its message."""
    text = " ".join(str(error).removeprefix(f"{path}:").split())
    line, found, message = text.partition(": ")
    return (line, message) if found and line.isdigit() else ("1", text)


def chain_job(
    project: Project, environment: Environment, chain: Chain, scratch: Path
) -> dict[str, Any]:
    """Return the worker's job for a chain."""
    text, first_lines = script(list(chain.fences))
    env: dict[str, str] = {}
    for fence in chain.fences:
        env |= fence.env
    return {
        **_common(project, environment, chain.key, scratch),
        "kind": "chain",
        "script": text,
        "cells": [
            {"source": fence.source, "values": _inside(fence), "first_line": line}
            for fence, line in zip(chain.fences, first_lines, strict=True)
        ],
        "mark": f"\x1e{chain.key}\x1e",
        "env": env,
        "fresh": fresh_mode() or not env.keys() <= SET_AFTER_IMPORT,
        "limit_s": chain.limit_s(project.limit_s),
        "inductor": environment.variant.get("inductor", False),
        "trace": not environment.variant,  # X-rays show a plain run
    }


def _inside(fence: Fence) -> dict[str, str]:
    """Return the values that are evaluated in the fence's own process."""
    return {name: text for name, text in fence.values.items() if not reads_log(text)}


def reads_log(expression: str) -> bool:
    """Return whether a value's expression reads `log`, the fence's error stream.

    >>> reads_log("log.count('graph break')"), reads_log("math.log(2) > 0")
    (True, False)
    """
    nodes = ast.walk(ast.parse(expression, mode="eval"))
    return any(isinstance(node, ast.Name) and node.id == "log" for node in nodes)


def lab_job(project: Project, environment: Environment, lab: Lab, scratch: Path) -> dict[str, Any]:
    """Return the worker's job for a lab."""
    return {
        **_common(project, environment, lab.key, scratch),
        "kind": "lab",
        "path": str(lab.path),
        "root": str(project.root),
        "env": {},
        "fresh": fresh_mode(),
        "limit_s": project.limit_s * 5,
    }


def _common(project: Project, environment: Environment, key: str, scratch: Path) -> dict[str, Any]:
    return {
        "id": key,
        "scratch": str(scratch / key),
        "allowed": environment.allowed,
        "variant": environment.variant,
        "memory_mb": project.memory_mb,
        "output_kb": project.output_kb,
    }
