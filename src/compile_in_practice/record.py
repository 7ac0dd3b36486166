"""Records: what an experiment measured on one machine with one torch release.

`python -m compile_in_practice.record --experiment ceilings` makes one; it needs torch
and the standard library alone. Reading one checks it against the schema beside this file.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compile_in_practice.recount import contradictions

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "gallery" / "records"
FENCES = "inductor-fences"


class RecordError(Exception):
    """A record cannot be used: says which file, which field, why, and what to do now."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One record, checked against the schema."""

    path: Path
    data: dict[str, Any]

    @property
    def experiment(self) -> str:
        """Name of the script that was recorded."""
        return str(self.data["experiment"])

    @property
    def torch(self) -> str:
        """Release that was recorded, for instance `2.11.0`."""
        return str(self.data["machine"]["torch"])

    @property
    def device(self) -> str:
        """Name of the GPU with its count where there are several, else of the CPU."""
        gpu = self.data["machine"]["gpu"]
        if gpu is None:
            return str(self.data["machine"]["cpu"])
        return f"{gpu['count']} × {gpu['name']}" if gpu["count"] > 1 else str(gpu["name"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Rows in the order in which they were measured."""
        return list(self.data["rows"])

    @cached_property
    def values(self) -> dict[str, dict[str, Any]]:
        """What prose can quote: row name, then value name, then the value."""
        return {row["name"]: dict(_flat(row, self.again)) for row in self.rows}

    @property
    def again(self) -> list[dict[str, Any]]:
        """Second measurements, in other processes or on other leases of the machine."""
        return list(self.data["again"])

    @property
    def facts(self) -> dict[str, Any]:
        """What prose can quote of the recording itself."""
        gpu = self.data["machine"]["gpu"]
        return {
            "torch": self.torch,
            "device": self.device,
            "seconds": self.data["seconds"],
            "empty_launch_us": gpu["empty_launch_us"] if gpu else None,
            "moved": max(self.moves.values(), default=None),
            "n_changed": sum(len(set(row.get("outcomes", []))) > 1 for row in self.values.values()),
        }

    @cached_property
    def moves(self) -> dict[str, float]:
        """By how much a row's slowest median exceeds its fastest, as a share of the fastest."""
        medians = {
            name: row["medians_ms"] for name, row in self.values.items() if "median_ms" in row
        }
        return {name: max(ms) / min(ms) - 1 for name, ms in medians.items() if len(ms) > 1}


def load(path: Path) -> Record:
    """The record at `path`.

    Raises:
        RecordError: if it is truncated, holds NaN, an unknown or missing field, a negative
            time or a number that its samples do not give, was edited by hand, or belongs to
            another schema version; the message names file and field.
    """
    data = _parse(path)
    version = data.get("schema") if isinstance(data, dict) else None
    if version != schema()["properties"]["schema"]["const"]:
        known = schema()["properties"]["schema"]["const"]
        message = (
            f"{path}: schema: version {version!r}, this project reads {known}; record it again"
        )
        raise RecordError(message)
    _validate(path, data)
    check_unedited(path, data)
    if (fault := next(contradictions(data), None)) is not None:
        message = f"{path}: {fault}; restore it, or record it again"
        raise RecordError(message)
    return Record(path=path, data=data)


def schema() -> dict[str, Any]:
    """The published JSON Schema of a record."""
    text = resources.files(__package__).joinpath("record-schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def find(experiment: str, folder: Path = RECORDS) -> list[Record]:
    """Every record of an experiment, oldest torch first, machines side by side."""
    records = [load(path) for path in sorted(folder.glob(f"{experiment}--*.json"))]
    return sorted(records, key=lambda record: (release_key(record.torch), record.path.name))


def check(record: Record, expected_hash: str) -> None:
    """Return if the record belongs to the experiment as it stands.

    Raises:
        RecordError: if the experiment, a knob or a helper that it reaches was edited since.
    """
    if record.data["hash"] != expected_hash:
        message = (
            f"{record.path}: hash: the experiment was edited after this record was made "
            f"(recorded {record.data['hash'][:12]}, now {expected_hash[:12]}); undo the edit, "
            "or record it again: python -m compile_in_practice.record "
            f"--experiment {record.experiment}"
        )
        raise RecordError(message)


def check_unedited(path: Path, data: dict[str, Any]) -> None:
    """Return if the record holds what was written. Against slips: a hash is written fast.

    Raises:
        RecordError: if any field was edited since.
    """
    if data.get("sha256") != digest(data):
        message = f"{path}: sha256: was edited since it was recorded; restore it, or record again"
        raise RecordError(message)


def digest(data: dict[str, Any]) -> str:
    """The sha256 over all that a record holds beside it."""
    rest = {name: value for name, value in data.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def save(path: Path, data: dict[str, Any]) -> Path:
    """`path`, to which a record is written with the sha256 of what it holds."""
    return write(path, {**data, "sha256": digest(data)})


def release_key(release: str) -> tuple[int, ...]:
    """A release as numbers, for order: `2.15.0` comes after `2.8.0`."""
    return tuple(int(part) for part in release.partition("+")[0].split(".")[:3])


def load_fences(release: str, folder: Path = RECORDS) -> dict[str, dict[str, Any]]:
    """Recorded fences of a release by the sha256 of their source; empty if none were made.

    Raises:
        RecordError: if the file is damaged, or what a fence printed or gave was edited by
            hand since. That is against slips: who means to can write the hash as well.
    """
    path = folder / f"{FENCES}--torch-{release}.json"
    if not path.exists():
        return {}
    data = _parse(path)
    expected = {"schema", "torch", "compiler", "python", "fences"}
    if not isinstance(data, dict) or set(data) != expected or data["schema"] != 1:
        message = f"{path}: expected schema 1 and the fields {sorted(expected)}; record it again"
        raise RecordError(message)
    fences: dict[str, dict[str, Any]] = data["fences"]
    for sha, fence in fences.items():
        missing = {"page", "name", "stdout", "values", "n_asserts", "sha256"} - set(fence)
        if missing:
            message = (
                f"{path}: fences.{sha[:12]}: missing {sorted(missing)}; record the fences again"
            )
            raise RecordError(message)
        if fence["sha256"] != _printed(fence):
            message = (
                f"{path}: fences.{sha[:12]}: {fence['page']}, {fence['name']}: its values or its "
                "stdout are not those that were recorded; restore them, or delete the entry and "
                "record the fences again"
            )
            raise RecordError(message)
    return fences


def _printed(fence: dict[str, Any]) -> str:
    """A short sha256 over what a fence printed and gave."""
    text = json.dumps([fence["stdout"], fence["values"]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def save_fences(
    release: str,
    fences: dict[str, dict[str, Any]],
    *,
    compiler: str,
    python: str,
    folder: Path = RECORDS,
) -> Path:
    """Path of the written record of fences. Each: page, name, stdout, values, n_asserts.

    Each is written with a short `sha256` over its stdout and its values.
    """
    data = {
        "schema": 1,
        "torch": release,
        "compiler": compiler,
        "python": python,
        "fences": {sha: {**one, "sha256": _printed(one)} for sha, one in fences.items()},
    }
    return write(folder / f"{FENCES}--torch-{release}.json", data)


def write(path: Path, data: dict[str, Any]) -> Path:
    """`path`, written whole or not at all. NaN and infinity are refused."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(path)
    return path


def _parse(path: Path) -> Any:
    def refuse(constant: str) -> None:
        message = f"{path}: holds {constant}, which is no measurement; record it again"
        raise RecordError(message)

    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    except json.JSONDecodeError as error:
        message = f"{path}:{error.lineno}: truncated or not JSON ({error.msg}); restore it"
        raise RecordError(message) from error


def _validate(path: Path, data: Any) -> None:
    # Reading needs the validator, recording on a bare CUDA machine must not.
    import jsonschema  # type: ignore[import-untyped]  # noqa: PLC0415

    validator = jsonschema.Draft202012Validator(schema())
    error = jsonschema.exceptions.best_match(validator.iter_errors(data))
    if error is not None:
        field = error.json_path.removeprefix("$").removeprefix(".") or "top level"
        message = f"{path}: {field}: {error.message[:200]}; record it again"
        raise RecordError(message)


def _flat(row: dict[str, Any], again: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    yield "status", row["status"]
    for part in ("case", "busy", "compile", "correct", "facts"):
        yield from row.get(part, {}).items()
    if "timing" in row:
        yield "median_ms", row["timing"]["median_ms"]
        yield "low_ms", row["timing"]["spread_ms"][0]
        yield "high_ms", row["timing"]["spread_ms"][1]
        yield "medians_ms", [row["timing"]["median_ms"], *_second(row["name"], "medians_ms", again)]
    if "outcome" in row.get("facts", {}):
        yield "outcomes", [row["facts"]["outcome"], *_second(row["name"], "outcomes", again)]
    if "cold_s" in row.get("compile", {}):
        yield "colds_s", [row["compile"]["cold_s"], *_second(row["name"], "cold_s", again)]
    if row.get("speedup") is not None:
        yield "speedup", row["speedup"]
        yield "lost", not math.isclose(row["speedup"], 1.0) and row["speedup"] < 1.0


def _second(name: str, field: str, again: list[dict[str, Any]]) -> list[Any]:
    return [one[field][name] for one in again if name in one[field]]


if __name__ == "__main__":
    from compile_in_practice.recording import main

    raise SystemExit(main())
