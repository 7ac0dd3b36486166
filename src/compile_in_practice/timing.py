"""Samples of a call's time, and how much of that time the GPU was at work."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

Call = Callable[[], Any]


def device() -> str:
    """`cuda` where there is a GPU, else `cpu`, where a script can only be tried out."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def synchronize() -> None:
    """Return once the GPU has finished what was launched; at once without a GPU."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def seconds(call: Call) -> float:
    """Wall seconds of one call, up to the end of its GPU work."""
    synchronize()
    start = time.perf_counter()
    call()
    synchronize()
    return time.perf_counter() - start


def sample(
    call: Call,
    *,
    n_samples: int = 25,
    n_warmup: int = 3,
    sample_ms: float = 4.0,
    limit_s: float = 1.5,
) -> dict[str, Any]:
    """Milliseconds of a call: raw samples, their median, and their 10th to 90th percentile.

    A sample is the mean of `n_calls` calls in a row, enough of them to last `sample_ms`,
    so that a call shorter than a clock tick can be timed. On a GPU, CUDA events stand
    before the first call and after the last; on a CPU, `time.perf_counter` does.
    """
    for _ in range(n_warmup):
        call()
    once_ms = max(min(seconds(call), seconds(call)) * 1e3, 1e-4)
    n_calls = max(1, math.ceil(sample_ms / once_ms))
    n_samples = max(5, min(n_samples, int(limit_s * 1e3 / (once_ms * n_calls))))
    samples = [_time(call, n_calls) for _ in range(n_samples)]
    tenths = statistics.quantiles(samples, n=10, method="inclusive")
    return {
        "n_warmup": n_warmup + 2,
        "n_calls": n_calls,
        "samples_ms": [round(value, 6) for value in samples],
        "median_ms": round(statistics.median(samples), 6),
        "spread_ms": [round(tenths[0], 6), round(tenths[-1], 6)],
    }


def busy(call: Call, *, n_calls: int = 3) -> dict[str, Any] | None:
    """GPU work of one call: milliseconds in which a kernel ran, and how many were started.

    None without a GPU. The profiler slows the CPU, not the kernels, so the kernels' time
    is taken from here and the call's time from `sample`.
    Source: https://docs.pytorch.org/docs/2.11/profiler.html
    """
    if not torch.cuda.is_available():
        return None
    call()
    synchronize()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, acc_events=True) as profile:
        for _ in range(n_calls):
            call()
        synchronize()
    kernels = [
        (event.time_range.start, event.time_range.end, event.name)
        for event in profile.events()
        if event.device_type.name == "CUDA" and not getattr(event, "is_user_annotation", False)
    ]
    return {
        "kernel_ms": round(_covered(kernels) / 1e3 / n_calls, 6),
        "n_kernels": round(len(kernels) / n_calls, 2),
    }


def kernel_names(call: Call) -> list[str]:
    """Names of the kernels that one call starts, in order of their start; empty on a CPU."""
    if not torch.cuda.is_available():
        return []
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, acc_events=True) as profile:
        call()
        synchronize()
    events = [e for e in profile.events() if e.device_type.name == "CUDA"]
    return [event.name[:120] for event in sorted(events, key=lambda e: e.time_range.start)]


def _time(call: Call, n_calls: int) -> float:
    if not torch.cuda.is_available():
        start = time.perf_counter()
        for _ in range(n_calls):
            call()
        return (time.perf_counter() - start) * 1e3 / n_calls
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    first.record()
    for _ in range(n_calls):
        call()
    last.record()
    last.synchronize()
    return float(first.elapsed_time(last)) / n_calls


def _covered(intervals: list[tuple[float, float, str]]) -> float:
    """Length of the union of intervals: kernels on two streams count once."""
    total, end = 0.0, -math.inf
    for start, stop, _ in sorted(intervals):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total
