"""What was recorded elsewhere, as values by name and as outputs of recorded fences."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from compile_in_practice import record as records
from compile_in_practice.failure import Failure
from compile_in_practice.notebook import Shown

if TYPE_CHECKING:
    from pathlib import Path

    from compile_in_practice.page import Fence


def record_values(folder: Path, torch: str) -> tuple[dict[str, Any], list[Failure]]:
    """Return the records' values by experiment, and the records that cannot be used.

    Of several records of one experiment the one nearest below this build's release
    counts, or the oldest where all are newer; of several machines on that release, the
    one recorded last. Two of one date are a failure: a sentence can quote only one.
    """
    found: dict[str, list[records.Record]] = {}
    failures = []
    here = records.release_key(torch)
    paths = [p for p in folder.glob("*.json") if not p.name.startswith(records.FENCES)]
    for path in sorted(paths):
        try:
            record = records.load(path)
        except records.RecordError as error:
            failures.append(Failure(where=f"gallery/records/{path.name}:1", what=str(error)))
            continue
        found.setdefault(record.experiment, []).append(record)
    values = {}
    for name, ones in found.items():
        chosen = max(ones, key=lambda one: _place(one, here))
        values[name] = {**chosen.values, **chosen.facts}
        tied = [one for one in ones if _place(one, here) == _place(chosen, here)]
        failures += [_tie(chosen, one) for one in tied[1:]]
    return values, failures


def _place(record: records.Record, here: tuple[int, ...]) -> tuple[bool, tuple[int, ...], str]:
    """Return what decides which record of an experiment a sentence quotes: the largest."""
    release, date = records.release_key(record.torch), str(record.data["date"])
    if release <= here:
        return True, release, date
    return False, tuple(-part for part in release), date


def _tie(one: records.Record, other: records.Record) -> Failure:
    return Failure(
        where=f"gallery/records/{other.path.name}:1",
        what=f"a sentence cannot choose between it and {one.path.name}: same experiment, "
        f"torch {one.torch} and date",
        remedy="delete the copy, or record again on the machine that sentences quote",
    )


def recorded_digest(fence: Fence) -> str:
    """Return the hash under which a record keeps the fence: its code, and what is asked of it."""
    parts = [fence.source, fence.values, fence.env, fence.log]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def recorded_fence(
    folder: Path, fence: Fence, torch: str, releases: tuple[str, ...], *, where: str
) -> tuple[Shown, list[Failure]]:
    """Return what a recorded fence shows on this release, and whether its record is stale.

    A fence that no record has gets a visible mark. One that was edited since it was
    recorded is a failure.
    """
    here = records.release_key(torch)
    order = [r for r in reversed(releases) if records.release_key(r) <= here]
    order += [r for r in releases if records.release_key(r) > here]
    for release in order:
        known = records.load_fences(release, folder)
        if (entry := known.get(recorded_digest(fence))) is not None:
            label = f"Recorded with {(fence.record or '').capitalize()} on torch {release}"
            shown = Shown(
                kind="recorded",
                stdout=entry["stdout"],
                label=label,
                recorded_on=release,
                values=entry["values"],
                elsewhere={},
            )
            return shown, []
        names = {(entry["page"], entry["name"]) for entry in known.values()}
        if (fence.page, fence.name) in names:
            what = f"fence {fence.name} was edited after it was recorded on torch {release}"
            failure = Failure(where=where, what=what, remedy="record it again: nox -s record")
            return _missing(), [failure]
    return _missing(), []


def _missing() -> Shown:
    reason = "no record yet: nox -s record makes one"
    return Shown(kind="missing", reason=reason, label="Not recorded", values={}, elsewhere={})
