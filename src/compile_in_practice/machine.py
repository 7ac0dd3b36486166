"""The machine that a record was made on: what must stand beside each number."""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import subprocess
import time
from importlib import metadata
from pathlib import Path
from typing import Any

PREFIXES = ("TORCH", "PYTORCH", "TRITON", "CUDA_", "NCCL_", "OMP_", "MKL_")
GPU_FIELDS = ("driver_version", "power.limit")
CLOCK_FIELDS = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu")


def machine() -> dict[str, Any]:
    """Provenance of this machine, as plain data.

    Source: https://docs.pytorch.org/docs/2.11/cuda.html for the device queries.
    """
    import torch  # noqa: PLC0415  the recorder itself reads clocks, and needs no torch

    return {
        "torch": str(torch.__version__).partition("+")[0],
        "torch_build": str(torch.__version__),
        "triton": _version("triton"),
        "python": platform.python_version(),
        "system": platform.system(),
        "cpu": _cpu_model(),
        "n_cpus": len(os.sched_getaffinity(0)),
        "hypervisor": _hypervisor(),
        "compiler": _compiler(),
        "compile_threads": _compile_threads(),
        "variables": {k: v for k, v in sorted(os.environ.items()) if k.startswith(PREFIXES)},
        "gpu": _gpu() if torch.cuda.is_available() else None,
    }


def clocks() -> dict[str, float]:
    """Clocks, power and temperature of the first visible GPU; empty without nvidia-smi."""
    names = ("sm_mhz", "memory_mhz", "power_w", "temperature_c")
    values = _smi(CLOCK_FIELDS)
    return dict(zip(names, map(float, values), strict=True)) if values else {}


def empty_launch_us(n_launches: int = 1000, n_samples: int = 15) -> float:
    """Median microseconds that the CPU needs to launch one kernel that does nothing."""
    import torch  # noqa: PLC0415  as in machine

    samples = []
    for _ in range(n_samples):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(n_launches):
            torch.cuda._sleep(0)  # type: ignore[no-untyped-call]  # noqa: SLF001
        torch.cuda.synchronize()
        samples.append((time.perf_counter() - start) / n_launches * 1e6)
    return statistics.median(samples)


def slug(facts: dict[str, Any]) -> str:
    """Short name of a machine for file names: its GPU, or `cpu` and the architecture."""
    gpu = facts["gpu"]
    if gpu is None:
        return f"cpu-{platform.machine().replace('_', '-')}"
    name = str(gpu["name"]).lower().replace("nvidia ", "").replace(" ", "-")
    return name if gpu["count"] == 1 else f"{name}-x{gpu['count']}"


def _gpu() -> dict[str, Any]:
    import torch  # noqa: PLC0415  as in machine

    properties = torch.cuda.get_device_properties(0)
    driver, power = _smi(GPU_FIELDS) or ("unknown", "0")
    return {
        "name": properties.name,
        "count": torch.cuda.device_count(),
        "memory_gb": round(properties.total_memory / 1e9, 1),
        "driver": driver,
        "cuda": str(torch.version.cuda),
        "power_limit_w": float(power),
        "empty_launch_us": round(empty_launch_us(), 3),
    }


def _smi(fields: tuple[str, ...]) -> list[str] | None:
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return None
    query = [smi, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    if visible := os.environ.get("CUDA_VISIBLE_DEVICES"):  # torch heeds it, nvidia-smi does not
        query.append(f"--id={visible.partition(',')[0]}")
    done = subprocess.run(query, capture_output=True, text=True, check=False, timeout=30)
    lines = done.stdout.splitlines()
    return (
        [value.strip() for value in lines[0].split(",")] if done.returncode == 0 and lines else None
    )


def _compile_threads() -> int:
    from torch._inductor import config  # noqa: PLC0415  seconds to import

    threads = config.compile_threads
    return int(threads) if threads is not None else 0


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _hypervisor() -> str | None:
    lscpu = shutil.which("lscpu")
    if lscpu is None:
        return None
    done = subprocess.run([lscpu], capture_output=True, text=True, check=False, timeout=30)
    names = [
        line.partition(":")[2].strip()
        for line in done.stdout.splitlines()
        if line.startswith("Hypervisor")
    ]
    return names[0] if names else None


def _compiler() -> str | None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        return None
    done = subprocess.run(
        [compiler, "--version"], capture_output=True, text=True, check=False, timeout=30
    )
    return done.stdout.splitlines()[0] if done.stdout else None


if __name__ == "__main__":
    print(json.dumps(machine()))  # noqa: T201  read by the recorder
