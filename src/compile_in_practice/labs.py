"""Run the five labs with one backend and print one table: `python -m compile_in_practice.labs`.

Needs torch and the standard library alone; Inductor needs a C++ compiler besides.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from compile_in_practice import experiment as experiments
from compile_in_practice.record import ROOT
from compile_in_practice.replay import BACKENDS, build_torch, require_compiler, table

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "gallery" / "lab"


def main(arguments: list[str] | None = None, folder: Path = FOLDER) -> int:
    """Exit status: 0 when each lab's contracts held, 1 when one did not."""
    parser = argparse.ArgumentParser(prog="python -m compile_in_practice.labs")
    parser.add_argument("--backend", choices=BACKENDS, default="aot_eager")
    backend = parser.parse_args(arguments).backend
    if backend == "inductor":
        require_compiler()
    rows = [_row(path, backend) for path in sorted(folder.glob("*.py"))]
    print(f"backend {backend}, torch {build_torch()}")  # noqa: T201  a command prints
    table(rows, {"lab": "lab", "seconds": "seconds:.1f", "contracts": "held", "counts": "counts"})
    return 0 if all(row["held"] == "held" for row in rows) else 1


def _row(path: Path, backend: str) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        data = experiments.load(path)(backend=backend)
    except AssertionError as error:
        held, counts = "BROKEN", str(error)[:60]
    else:
        held, counts = "held", _counts(data)
    return {
        "lab": path.stem,
        "seconds": time.perf_counter() - start,
        "held": held,
        "counts": counts,
    }


def _counts(data: dict[str, dict[str, Any]]) -> str:
    """Integers of a lab's data, group by group."""
    groups = {
        group: [str(value) for value in values.values() if type(value) is int]
        for group, values in data.items()
    }
    return "; ".join(f"{group} {'/'.join(values)}" for group, values in groups.items() if values)


if __name__ == "__main__":
    raise SystemExit(main())
