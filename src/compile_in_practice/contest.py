"""One function, eager and compiled: rows with speed, correctness and compile time.

A contender that fails, runs out of memory or loses is a row like any other.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch
from torch._inductor.utils import fresh_cache

from compile_in_practice.timing import busy, device, sample, seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Row = dict[str, Any]
Arguments = tuple[Any, ...]

DEFAULT: dict[str, Any] = {}
REDUCE_OVERHEAD = {"mode": "reduce-overhead"}
MAX_AUTOTUNE = {"mode": "max-autotune"}
NO_CUDAGRAPHS = {"mode": "max-autotune-no-cudagraphs"}


def contest(
    function: Callable[..., Any],
    make: Callable[[int], Arguments],
    contenders: Mapping[str, Mapping[str, Any]],
    *,
    label: str = "",
    warm: bool = True,
    n_samples: int = 25,
) -> list[Row]:
    """Rows of one function: eager first, then compiled with the options of each contender.

    `make(seed)` gives fresh random inputs: those that are timed are not those that are
    compared. Each contender starts with an empty cache folder. `label` begins each name.
    """
    checked = make(1)
    expected = copy_of(function(*checked))
    timed = make(2)
    rows = [row(f"{label}eager", **_measure(function, timed, n_samples))]
    for name, options in contenders.items():
        run = functools.partial(
            _compiled,
            function,
            dict(options),
            timed,
            checked,
            expected,
            warm=warm,
            n_samples=n_samples,
        )
        rows.append(attempt(f"{label}{name}", run))
        rows[-1]["speedup"] = speedup(rows[0], rows[-1])
    return rows


def row(name: str, **fields: Any) -> Row:
    """A row of a record that succeeded; `fields` as the record's schema has them."""
    return {"name": name, "status": "ok", "reason": "", **fields}


def attempt(name: str, run: Callable[[], dict[str, Any]]) -> Row:
    """The row that `run` fills, or one that says how it failed. Cleans up Dynamo after."""
    try:
        return row(name, **run())
    except torch.OutOfMemoryError as error:
        return {"name": name, "status": "out of memory", "reason": reason(error)}
    except Exception as error:  # noqa: BLE001  what failed is a result: it becomes a row
        return {"name": name, "status": "failed", "reason": reason(error)}
    finally:
        torch._dynamo.reset()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def reason(error: BaseException, n_characters: int = 300) -> str:
    """Class and first lines of an error, without the hints that follow them."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:n_characters]


def copy_of(value: Any) -> Any:
    """`value` with each tensor cloned, so that no later replay can overwrite it."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, tuple | list):
        return type(value)(copy_of(item) for item in value)
    return value


def difference(actual: Any, expected: Any) -> dict[str, Any]:
    """How far `actual` is from `expected`: norm of the difference over the norm, and the largest.

    Computed in float64. `equal` says whether they agree bit for bit.
    """
    pairs = list(zip(_tensors(actual), _tensors(expected), strict=True))
    squares = sum(float((a.double() - e.double()).square().sum()) for a, e in pairs)
    norms = sum(float(e.double().square().sum()) for _, e in pairs)
    return {
        "relative": (squares / norms) ** 0.5 if norms else squares**0.5,
        "largest": max(float((a.double() - e.double()).abs().max()) for a, e in pairs),
        "equal": all(torch.equal(a, e) for a, e in pairs),
    }


def _compiled(
    function: Callable[..., Any],
    options: dict[str, Any],
    timed: Arguments,
    checked: Arguments,
    expected: Any,
    *,
    warm: bool,
    n_samples: int,
) -> dict[str, Any]:
    wake_compiler()
    with fresh_cache():
        compiled = torch.compile(function, **options)
        compile_times = {"cold_s": round(seconds(lambda: compiled(*timed)), 3)}
        if warm:
            torch._dynamo.reset()
            compiled = torch.compile(function, **options)
            compile_times["warm_s"] = round(seconds(lambda: compiled(*timed)), 3)
        for _ in range(3):  # CUDA graphs: one warm-up, one recording, one replay
            compiled(*checked)
        correct = difference(compiled(*checked), expected)
        fields = _measure(compiled, timed, n_samples)
    return {"compile": compile_times, "correct": correct, **fields}


@functools.cache
def wake_compiler() -> None:
    """Compile something once, so that no contender pays for importing the compiler."""
    compiled = torch.compile(lambda x: x.sin() + 1)
    with torch.no_grad():
        compiled(torch.ones(64, device=device()))
    torch._dynamo.reset()


def _measure(function: Callable[..., Any], arguments: Arguments, n_samples: int) -> dict[str, Any]:
    def call() -> Any:
        return function(*arguments)

    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    timing = sample(call, n_samples=n_samples)
    fields: dict[str, Any] = {"timing": timing}
    if torch.cuda.is_available():
        fields["facts"] = {"peak_gb": round(torch.cuda.max_memory_allocated() / 1e9, 4)}
    work = busy(call)
    if work is not None:
        fields["busy"] = {
            **work,
            "share": round(min(1.0, work["kernel_ms"] / timing["median_ms"]), 4),
        }
    return fields


def speedup(eager: Row, compiled: Row) -> float | None:
    """Eager's median over the other's; None when that one did not succeed."""
    if compiled["status"] != "ok":
        return None
    return round(float(eager["timing"]["median_ms"] / compiled["timing"]["median_ms"]), 4)


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return (
        [tensor for item in value for tensor in _tensors(item)]
        if isinstance(value, tuple | list)
        else []
    )
