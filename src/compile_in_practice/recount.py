"""What a record's raw samples say of the numbers that it quotes: they must agree."""

from __future__ import annotations

import json
import math
import statistics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

LAST_MS = 1e-6  # the last digit of a time that is stored,
LAST = 1e-4  # and of a speedup


def contradictions(data: dict[str, Any]) -> Iterator[str]:
    """Yield field and fault of each number of a record that its samples do not give.

    A speedup is that of the first row of the same case over the row. A second
    measurement keeps no samples: its median lies in its own spread, which is all one can ask.
    """
    first: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(data["rows"]):
        yardstick = first.setdefault(json.dumps(row["case"], sort_keys=True), row)
        for field, given, right in _measured(row, yardstick):
            last = LAST if field == "speedup" else LAST_MS
            if not any(math.isclose(given, one, rel_tol=0, abs_tol=last * 1.01) for one in right):
                told = f"its samples give {right[0]:.6g}" if right else "nothing was timed for it"
                yield f"rows[{number}].{field}: {row['name']} holds {given!r}, {told}"
    for number, again in enumerate(data["again"]):
        for name in {**again["medians_ms"], **again["spreads_ms"]}:
            low, high = again["spreads_ms"].get(name, (math.nan, math.nan))
            if not low <= again["medians_ms"].get(name, math.nan) <= high:
                yield f"again[{number}].medians_ms.{name}: lies outside its spread, or lacks one"


def _measured(
    row: dict[str, Any], yardstick: dict[str, Any]
) -> Iterator[tuple[str, float, list[float]]]:
    """Yield each number that follows from samples: its field, itself, and what it may be."""
    timing = row.get("timing")
    if timing is not None:
        samples = sorted(timing["samples_ms"])
        yield "timing.median_ms", timing["median_ms"], [statistics.median(samples)]
        for index, share in enumerate((0.1, 0.9)):
            right = _percentile(samples, share)
            yield f"timing.spread_ms[{index}]", timing["spread_ms"][index], right
    if row.get("speedup") is not None:
        pair = [one["timing"]["samples_ms"] for one in (yardstick, row) if "timing" in one]
        medians = [statistics.median(samples) for samples in pair]
        yield "speedup", row["speedup"], [medians[0] / medians[1]] if len(medians) > 1 else []


def _percentile(ordered: list[float], share: float) -> list[float]:
    """Return a percentile between two samples, then those two, which some scripts take."""
    place = share * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return [low + (high - low) * (place % 1), low, high]
