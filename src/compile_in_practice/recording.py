"""Make a record: run an experiment's cases in child processes and keep what they give.

A case that crashes, hangs or runs out of time is a row, and costs only itself.
Needs torch and the standard library alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compile_in_practice import experiment as experiments
from compile_in_practice.machine import clocks, slug
from compile_in_practice.record import RECORDS, ROOT, RecordError, check_unedited, save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Row = dict[str, Any]
FOLDERS = ("gpu", "lab")
CLOCK_PERIOD_S = 3.0


def main(arguments: list[str] | None = None) -> int:
    """Exit status of the command: 0 when each experiment asked for was recorded whole."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends its child too
    if options.child:
        _child(*map(Path, options.child), trying=options.trying)
        return 0
    provenance = _provenance()
    complete = [_record(name, provenance, options) for name in options.experiment]
    return 0 if all(complete) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m compile_in_practice.record", description=__doc__
    )
    parser.add_argument(
        "--experiment",
        action="append",
        default=[],
        help="name of a gallery script; may be repeated",
    )
    parser.add_argument("--out", type=Path, default=RECORDS, help="folder of the records")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="keep the rows of cases that a record already has",
    )
    parser.add_argument(
        "--case", type=int, action="append", help="number of a case; may be repeated"
    )
    parser.add_argument("--beside", default="", help="what else ran on this host meanwhile")
    parser.add_argument(
        "--again",
        choices=["process", "lease"],
        help="add medians to an existing record instead",
    )
    parser.add_argument(
        "--keep",
        choices=["process", "lease"],
        help="record again whole; the record that is there becomes a second measurement of it",
    )
    parser.add_argument("--limit-s", type=float, default=3600.0, help="seconds for each experiment")
    parser.add_argument("--case-limit-s", type=float, default=600.0, help="seconds for each case")
    parser.add_argument(
        "--commit", default=None, help="commit of the scripts, where git cannot tell"
    )
    parser.add_argument(
        "--try",
        dest="trying",
        action="store_true",
        help="use the script's TRY_CASES: tiny sizes",
    )
    parser.add_argument(
        "--child", nargs=3, metavar=("SCRIPT", "CASES", "ROWS"), help=argparse.SUPPRESS
    )
    return parser


def _record(name: str, provenance: dict[str, Any], options: argparse.Namespace) -> bool:
    script = experiments.load(script_path(name), _roots(trying=options.trying))
    path = options.out / f"{name}--{slug(provenance)}--torch-{provenance['torch']}.json"
    old = _old(path, script.hash) if options.again or options.resume or options.keep else None
    if options.again and not old:
        message = f"{path}: nothing to measure again: no record of this experiment as it stands"
        raise SystemExit(message)
    kept = old["rows"] if options.resume and old else []
    again = old["again"] if old and (options.resume or options.keep) else []
    if options.keep and old:
        again = [*again, _again(options.keep, old, old["rows"])]
    cases = _cases(script, trying=options.trying)
    done = [row["case"] for row in kept if row["status"] != "skipped"]
    todo = [case for case in cases if case not in done]
    if options.case:
        todo = [cases[index] for index in options.case]
    start, kept = time.monotonic(), [row for row in kept if row["case"] in done]
    with _clock_samples() as samples:

        def keep(rows: list[Row]) -> None:
            """Write what exists so far: a recording that is cut off loses one case."""
            missing = [case for case in cases if case not in [row["case"] for row in rows]]
            data = {
                "schema": 1,
                "experiment": name,
                "hash": script.hash,
                "command": f"python -m compile_in_practice.record --experiment {name}",
                "commit": options.commit or _commit(),
                "date": _now(),
                "seconds": round(time.monotonic() - start, 1),
                "complete": not missing and all(row["status"] != "skipped" for row in rows),
                "machine": provenance,
                "beside": options.beside,
                "clocks": list(samples),
                "yardstick": _yardstick(options.out, provenance),
                "rows": rows + [_lost(case, "skipped", "not recorded yet") for case in missing],
                "again": again,
            }
            save(path, data)

        if options.again and old:
            return _measure_again(path, script, todo, options, old=old, provenance=provenance)
        rows = kept + _run(script.path, todo, options, lambda new: keep(kept + new))
        keep(rows)
    _say(f"{name}: {len(rows)} rows in {time.monotonic() - start:.0f} s -> {path.name}")
    return all(row["status"] != "skipped" for row in rows)


def _old(path: Path, wanted: str) -> dict[str, Any] | None:
    """What the record at `path` holds; None if there is none of the experiment as it stands."""
    if not path.exists():
        return None
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if data["hash"] != wanted:
        return None
    try:
        check_unedited(path, data)
    except RecordError as error:  # what is added to it would make the edit its own
        raise SystemExit(str(error)) from error
    return data


def _measure_again(
    path: Path,
    script: experiments.Experiment,
    cases: list[dict[str, Any]],
    options: argparse.Namespace,
    *,
    old: dict[str, Any],
    provenance: dict[str, Any],
) -> bool:
    """Whether a row came out; the record at `path` gets the second measurement, case by case."""
    made = {"machine": provenance, "date": _now(), "beside": options.beside}

    def keep(rows: list[Row]) -> None:
        save(path, {**old, "again": [*old["again"], _again(options.again, made, rows)]})

    rows = _run(script.path, cases, options, keep)
    _say(f"{script.name}: measured again, {len(rows)} rows -> {path.name}")
    return any(row["status"] == "ok" for row in rows)


def _again(kind: str, made: dict[str, Any], rows: list[Row]) -> dict[str, Any]:
    """What a second measurement leaves in a record. `made`: its machine, date and company."""
    gpu = made["machine"]["gpu"]
    timed = {row["name"]: row["timing"] for row in rows if "timing" in row}
    return {
        "kind": kind,
        "date": made["date"],
        "beside": made["beside"],
        "empty_launch_us": gpu["empty_launch_us"] if gpu else None,
        "medians_ms": {name: timing["median_ms"] for name, timing in timed.items()},
        "spreads_ms": {name: timing["spread_ms"] for name, timing in timed.items()},
        "cold_s": {row["name"]: row["compile"]["cold_s"] for row in rows if "compile" in row},
        "outcomes": {
            row["name"]: row["facts"]["outcome"]
            for row in rows
            if "outcome" in row.get("facts", {})
        },
    }


def _run(
    script: Path,
    cases: list[dict[str, Any]],
    options: argparse.Namespace,
    keep: Callable[[list[Row]], None],
) -> list[Row]:
    """Rows of all cases; a new child takes over after one that ended early."""
    end = time.monotonic() + options.limit_s
    rows: list[Row] = []

    def take(result: dict[str, Any]) -> None:
        rows.extend({**row, "case": result["case"]} for row in result["rows"])
        cases.remove(result["case"])
        keep(rows)

    while cases:
        why = _child_run(script, cases, options, end=end, take=take)
        if time.monotonic() > end:
            return rows + [
                _lost(case, "skipped", "the recording's time was over") for case in cases
            ]
        if cases:
            rows.append(_lost(cases.pop(0), "failed", why))
    return rows


def _child_run(
    script: Path,
    cases: list[dict[str, Any]],
    options: argparse.Namespace,
    *,
    end: float,
    take: Callable[[dict[str, Any]], None],
) -> str:
    """Why a child process ended before its cases did. Hands over each case that finishes."""
    with tempfile.TemporaryDirectory() as folder:
        todo, done = Path(folder, "cases.json"), Path(folder, "rows.jsonl")
        todo.write_text(json.dumps(cases))
        done.touch()
        child = [str(script), str(todo), str(done), *["--try"] * options.trying]
        command = [sys.executable, "-m", "compile_in_practice.record", "--child", *child]
        process = subprocess.Popen(command, env=_environment(), start_new_session=True)
        since, n_taken = time.monotonic(), 0
        try:
            while process.poll() is None:
                time.sleep(0.3)
                if n_new := _take_new(done, n_taken, take):
                    since, n_taken = time.monotonic(), n_taken + n_new
                if time.monotonic() > min(end, since + options.case_limit_s):
                    return f"it took longer than {options.case_limit_s:.0f} s"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        _take_new(done, n_taken, take)
    return f"its process ended with status {process.returncode}"


def _take_new(done: Path, n_taken: int, take: Callable[[dict[str, Any]], None]) -> int:
    """How many further whole lines stood in the file; each is handed over."""
    lines = done.read_text().split("\n")[:-1][n_taken:]
    for line in lines:
        take(json.loads(line))
    return len(lines)


def _child(script: Path, todo: Path, done: Path, *, trying: bool) -> None:
    """Run cases one after the other; append the rows of each as soon as they exist."""
    experiment = experiments.load(script, _roots(trying=trying))
    for case in json.loads(todo.read_text()):
        start = time.monotonic()
        rows = experiment(**case)
        line = json.dumps({"case": case, "rows": rows}, allow_nan=False)
        line = line.replace(f"{ROOT}{os.sep}", "")  # messages name files: keep them relative
        with done.open("a") as file:
            file.write(line + "\n")
        _say(f"  {experiment.name} {case}: {len(rows)} rows, {time.monotonic() - start:.1f} s")
        for row in rows:
            _say(f"    {_brief(row)}")


def _brief(row: Row) -> str:
    median = row["timing"]["median_ms"] if "timing" in row else None
    extra = {k: row[k] for k in ("speedup", "compile", "facts") if row.get(k)}
    return f"{row['name']:32} {row['status']} {row['reason']} {median} {str(extra)[:200]}"


def _lost(case: dict[str, Any], status: str, why: str) -> Row:
    name = "_".join(["case", *(f"{key}_{value}" for key, value in case.items())]).lower()
    safe = "".join(letter if letter.isalnum() else "_" for letter in name)
    return {"name": safe[:60], "status": status, "reason": why, "case": case}


def _roots(*, trying: bool) -> tuple[str, ...]:
    return (*experiments.ROOTS, "TRY_CASES") if trying else experiments.ROOTS


def _cases(script: experiments.Experiment, *, trying: bool) -> list[dict[str, Any]]:
    cases = script.namespace.TRY_CASES if trying else script.cases
    return [dict(json.loads(json.dumps(case))) for case in cases]


def script_path(name: str) -> Path:
    """Path of the gallery script of that name; SystemExit if there is none."""
    for folder in FOLDERS:
        path = ROOT / "gallery" / folder / f"{name}.py"
        if path.exists():
            return path
    message = f"no experiment named {name}: no {name}.py in gallery/gpu or gallery/lab"
    raise SystemExit(message)


def _provenance() -> dict[str, Any]:
    """Facts of the machine, read in a process of its own: this one never touches the GPU."""
    command = [sys.executable, "-m", "compile_in_practice.machine"]
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=True)
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return facts


def _environment() -> dict[str, str]:
    source = str(ROOT / "src")
    path = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "PYTHONPATH": f"{source}{os.pathsep}{path}" if path else source,
    }


def _yardstick(folder: Path, provenance: dict[str, Any]) -> dict[str, float] | None:
    if provenance["gpu"] is None:
        return None
    one = {**provenance, "gpu": {**provenance["gpu"], "count": 1}}
    path = folder / f"ceilings--{slug(one)}--torch-{provenance['torch']}.json"
    if not path.exists():
        return None
    facts = {
        row["name"]: row.get("facts", {})
        for row in json.loads(path.read_text(encoding="utf-8"))["rows"]
    }
    copies = [f["gb_s"] for name, f in facts.items() if name.startswith("copy") and "gb_s" in f]
    rates = [
        f["tflop_s"]
        for name, f in facts.items()
        if name.startswith("matmul_bf16") and "tflop_s" in f
    ]
    return {"copy_gb_s": max(copies), "matmul_tflop_s": max(rates)} if copies and rates else None


@contextmanager
def _clock_samples() -> Iterator[list[dict[str, float]]]:
    """A list that fills with clocks and power while the block runs."""
    samples: list[dict[str, float]] = []
    stop = threading.Event()
    start = time.monotonic()

    def watch() -> None:
        while not stop.wait(CLOCK_PERIOD_S):
            reading = clocks()
            if not reading:
                return
            samples.append({"second": round(time.monotonic() - start, 1), **reading})

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()


def _commit() -> str:
    done = subprocess.run(
        [shutil.which("git") or "git", "rev-parse", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = done.stdout.strip()
    return found if done.returncode == 0 and found != "HEAD" else "unknown"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
