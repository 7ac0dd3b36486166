"""Execute the notebook of each page from top to bottom in a plain kernel.

Cells share one process here, as they do for a reader who takes the page along: a
fence that leaves a setting or a counter behind changes what a later one prints.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from compile_in_practice.failure import BuildError, Failure
from compile_in_practice.notebook import runnable

if TYPE_CHECKING:
    from pathlib import Path

LIMIT_S = 300
CELL_FILE = re.compile(r"[^\s'\"(]*ipykernel_\d+/\d+\.py")
RECORDED = {"recorded", "missing"}  # they need a compiler; `nox -s record` executes them


def execute_notebooks(pages: Path, *, width: int) -> tuple[int, list[Failure]]:
    """Return how many cells ran, and which failed or printed something else.

    Raises:
        BuildError: the folder `pages` of a run holds no notebook.

    """
    paths = sorted(path for path in pages.rglob("*.ipynb") if _code(read(path)))
    if not paths:
        message = f"{pages} holds no notebook with code"
        raise BuildError(message, remedy="nox -s docs")
    results = asyncio.run(_execute_all(pages, paths, width))
    return sum(n for n, _ in results), [failure for _, found in results for failure in found]


async def _execute_all(
    pages: Path, paths: list[Path], width: int
) -> list[tuple[int, list[Failure]]]:
    free = asyncio.Semaphore(width)

    async def one(path: Path) -> tuple[int, list[Failure]]:
        async with free:
            return await execute(path, str(path.relative_to(pages)))

    return await asyncio.gather(*map(one, paths))


async def execute(path: Path, shown: str) -> tuple[int, list[Failure]]:
    """Return how many cells of one notebook ran, and which failed or differ."""
    notebook = nbformat.reads(runnable(path), as_version=4)
    cells = [cell for cell in _code(notebook) if _kind(cell) not in RECORDED]
    expected = [_printed(cell) for cell in cells]
    notebook.cells = cells
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=LIMIT_S, kernel_name="python3", allow_errors=True,
            resources={"metadata": {"path": folder}},
        )  # fmt: skip
        try:
            await client.async_execute(stderr=subprocess.DEVNULL)  # the kernel's own talk
        except (CellTimeoutError, DeadKernelError) as error:
            return len(cells), [Failure(where=shown, what=f"{type(error).__name__}: {error}")]
    failures = []
    for cell, printed in zip(cells, expected, strict=True):
        where = f"{shown}:{cell.id}"
        errors = [output for output in cell.outputs if output.output_type == "error"]
        if errors:
            what = f"{errors[0].ename}: {errors[0].evalue}"
            failures.append(Failure(where=where, what=what, remedy="a cell above left something"))
        elif _kind(cell) == "run" and _printed(cell) != printed:
            details = (f"on the page: {printed!r}", f"in Jupyter: {_printed(cell)!r}")
            failures.append(Failure(where=where, what="prints something else", details=details))
    return len(cells), failures


def read(path: Path) -> Any:
    """Return the notebook at `path`."""
    return nbformat.read(path, as_version=4)


def _code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _kind(cell: Any) -> str:
    return str(cell.metadata.get("cip", {}).get("kind", ""))


def _printed(cell: Any) -> str:
    text = "".join(output.text for output in cell.outputs if output.get("name") == "stdout")
    return CELL_FILE.sub("fence.py", text)
