"""What a gallery script calls for its data, and how it shows it.

In a site build the data comes from the run or from the records. By hand
(`python gallery/lab/messy_vs_clean.py --backend eager`) a lab runs its experiment.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import textwrap
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compile_in_practice import experiment as experiments
from compile_in_practice.record import RECORDS, Record, check, find, release_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

RESULTS_VARIABLE = "COMPILE_IN_PRACTICE_RESULTS"
WIDTH = 80  # of a line of prose: a page's column holds it
BACKENDS = ("eager", "aot_eager", "inductor")
Data = dict[str, dict[str, Any]]


def replay(experiment: Callable[..., Data], *, arguments: list[str] | None = None) -> Data:
    """Data of a lab: from the run of this build, or measured now when started by hand.

    Raises:
        FileNotFoundError: in a build whose run stored no data for this lab.
        SystemExit: by hand, with `--backend inductor` where there is no C++ compiler.
    """
    results = os.environ.get(RESULTS_VARIABLE)
    if results is None:
        return _by_hand(experiment, arguments)
    path = Path(results, "labs", f"{_script(experiment).stem}.json")
    if not path.exists():
        message = f"{path}: the run of this build stored no data for {_script(experiment).name}"
        raise FileNotFoundError(message)
    data: Data = json.loads(path.read_text(encoding="utf-8"))
    return data


def replay_records(experiment: Callable[..., Any], folder: Path = RECORDS) -> list[Record]:
    """Records of an experiment, oldest torch first, after printing where each comes from.

    Without a record it prints a mark in its place and returns an empty list.

    Raises:
        RecordError: if a record is damaged, or older than an edit of the experiment.
    """
    script = experiments.load(_script(experiment))
    records = find(script.name, folder)
    for record in records:
        check(record, script.hash)
        print(provenance(record), end="\n\n")
    if not records:
        print(f"NO RECORD of {script.name} yet: this page shows no measurement.")
        print(f"Make one: python -m compile_in_practice.record --experiment {script.name}")
    return records


def provenance(record: Record) -> str:
    """Lines that stand beside a record's numbers: machine, releases, date, commit, age."""
    facts, gpu = record.data["machine"], record.data["machine"]["gpu"]
    lines = [
        f"Recorded {record.data['date'][:10]} at {record.data['commit'][:10]} on {record.device}"
    ]
    versions = f"torch {facts['torch_build']}, Triton {facts['triton']}, Python {facts['python']}"
    if gpu is None:
        lines.append(f"{versions}, {facts['compiler']}")
    else:
        lines.append(f"{versions}, CUDA {gpu['cuda']}, driver {gpu['driver']}")
        lines.append(
            f"an empty launch takes {gpu['empty_launch_us']:.1f} µs; "
            f"{facts['n_cpus']} CPUs of {facts['cpu']}, "
            f"hypervisor {facts['hypervisor'] or 'none seen'}"
        )
    n_skipped = sum(row["status"] == "skipped" for row in record.rows)
    if n_skipped:
        lines.append(f"INCOMPLETE: {n_skipped} cases were not recorded")
    if record.data["beside"]:
        lines.append(f"meanwhile on the same host: {record.data['beside']}")
    lines += [_agreement(record, again) for again in record.data["again"]]
    current = build_torch()
    if current and release_key(record.torch) < release_key(current):
        lines.append(f"OLDER than this build's torch {current}: it may behave otherwise there")
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in lines)


def _agreement(record: Record, again: dict[str, Any]) -> str:
    """One line for a second measurement: how many medians and outcomes agree."""
    first = {row["name"]: row["timing"]["spread_ms"] for row in record.rows if "timing" in row}
    names = [name for name in again["spreads_ms"] if name in first]
    inside = sum(_overlap(first[name], again["spreads_ms"][name]) for name in names)
    place = "in another process" if again["kind"] == "process" else "on another lease"
    parts = [f"measured again {place} on {again['date'][:10]}"]
    if again["empty_launch_us"] is not None:
        parts.append(f"an empty launch took {again['empty_launch_us']:.1f} µs")
    if names:
        parts.append(f"{inside} of {len(names)} spreads overlap")
    outcomes = {
        n: r["outcomes"] for n, r in record.values.items() if len(r.get("outcomes", [])) > 1
    }
    if outcomes:
        same = sum(len(set(seen)) == 1 for seen in outcomes.values())
        parts.append(f"{same} of {len(outcomes)} outcomes are the same")
    if again["beside"]:
        parts.append(f"meanwhile on the same host: {again['beside']}")
    return "; ".join(parts)


def _overlap(one: list[float], other: list[float]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def measured_again(record: Record) -> None:
    """Print each row that was measured twice: median and spread, then and again."""
    for again in record.again:
        rows = []
        for row in flat(record):
            if "median_ms" in row and row["name"] in again["medians_ms"]:
                low, high = again["spreads_ms"][row["name"]]
                ms = again["medians_ms"][row["name"]]
                change = f"{ms / row['median_ms'] - 1:+.0%}"
                rows.append({**row, "again": ms, "low": low, "high": high, "change": change})
        if rows:
            columns = {"measured twice": "name", "ms": "median_ms:.4f", "p10": "low_ms:.4f"}
            columns |= {"p90": "high_ms:.4f", "again": "again:.4f", "p10 ": "low:.4f"}
            table(rows, {**columns, "p90 ": "high:.4f", "change": "change"})


def build_torch() -> str | None:
    """Release of the torch that this build uses, without importing it."""
    try:
        return metadata.version("torch").partition("+")[0]
    except metadata.PackageNotFoundError:
        return None


def table(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    """Print rows as aligned text. `columns` maps a heading to a field or a `field:format`."""
    lines = [
        list(columns),
        *([_cell(row, spec) for spec in columns.values()] for row in rows),
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for number, line in enumerate(lines):
        cells = [
            line[0].ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True)),
        ]
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


def flat(record: Record) -> list[dict[str, Any]]:
    """Rows of a record, but skipped ones, with the names that prose uses as keys."""
    rows = [{"name": name, **values} for name, values in record.values.items()]
    return [row for row in rows if row["status"] != "skipped"]


def _cell(row: Mapping[str, Any], spec: str) -> str:
    field, _, form = spec.partition(":")
    value = row.get(field)
    if value is None:
        return "-"
    return format(value, form) if form and not isinstance(value, str) else str(value)


def _by_hand(experiment: Callable[..., Data], arguments: list[str] | None) -> Data:
    doc = inspect.getmodule(experiment)
    parser = argparse.ArgumentParser(
        description=(doc.__doc__ or "").strip().partition("\n")[0] if doc else None
    )
    parser.add_argument("--backend", choices=BACKENDS, default="aot_eager")
    backend = parser.parse_args(arguments).backend
    if backend == "inductor":
        require_compiler()
    data = experiment(backend=backend)
    print(f"measured now: backend {backend}, torch {build_torch()}")
    return data


def pyplot() -> Any:
    """`matplotlib.pyplot`; without it a script started by hand ends here, tables printed."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415  a lab's numbers need torch alone
    except ModuleNotFoundError:
        print("matplotlib is not installed: the figure is left out")
        raise SystemExit(0) from None
    return plt


def require_compiler() -> None:
    """Return if Inductor finds a C++ compiler on this machine.

    Raises:
        SystemExit: if not, with what to install or to choose instead.
    """
    from torch._inductor import cpp_builder, exc  # noqa: PLC0415  seconds to import

    try:
        cpp_builder.get_cpp_compiler()
    except (exc.InvalidCxxCompiler, RuntimeError) as error:
        message = (
            f"--backend inductor needs a C++ compiler and found none ({type(error).__name__}); "
            "install g++ or clang++, or use --backend aot_eager"
        )
        raise SystemExit(message) from error


def _script(experiment: Callable[..., Any]) -> Path:
    return Path(experiment.__code__.co_filename)
