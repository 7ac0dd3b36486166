"""Time a run of all fences three ways: the floor, stock MyST-NB, and this project.

The floor is one process that runs all fences one after another and checks nothing.
Stock is Sphinx with MyST-NB's `force` mode, a kernel a page. Each is a process of
its own; its CPU seconds include those of all that it starts.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from compile_in_practice.environment import process_environment
from compile_in_practice.jobs import SET_AFTER_IMPORT
from compile_in_practice.page import Page, chains, script
from compile_in_practice.project import load_project
from compile_in_practice.reading import page_paths, read_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from compile_in_practice.project import Project

CONF = """
extensions = ["myst_nb"]
nb_execution_mode = {mode!r}
nb_execution_timeout = 300
exclude_patterns = ["ledger"]
html_theme = "furo"
"""
LOOK_S = 0.5
INTERPRETER = "an interpreter that imports torch"
RESET = "import torch, torch._dynamo; torch._dynamo.reset()"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one way of running costs: seconds of wall and CPU time, and peak memory.

    Memory is that of all processes together, shared pages counted once, looked at
    twice a second.
    """

    wall_s: float
    cpu_s: float
    peak_gb: float


def bench(root: Path, *, repeat: int = 3) -> list[str]:
    """Return a table, a line each: medians of `repeat` runs, and ratios to the floor."""
    project = load_project(root)
    pages = [read_page(project, path)[0] for path in page_paths(project)]
    n_fences = sum(len(chain) for page in pages for chain in chains(page))
    with tempfile.TemporaryDirectory() as folder:
        ways = _ways(project, pages, Path(folder))
        costs = {}
        for name, way in ways.items():
            if "rebuild" in name:
                way()  # the first build draws the figures
            costs[name] = _median(way, repeat)
    floor = costs["floor: one process"]
    lines = [
        f"{len(pages)} pages, {n_fences} fences, medians of {repeat} runs, {os.cpu_count()} cores",
        f"{'':34}{'wall s':>8}{'CPU s':>8}{'peak GB':>9}{'wall':>8}{'CPU':>8}",
    ]
    for name, cost in costs.items():
        base = costs["Sphinx with execution off"] if name.startswith(("Sphinx", "docs")) else floor
        lines.append(
            f"{name:34}{cost.wall_s:8.1f}{cost.cpu_s:8.1f}{cost.peak_gb:9.2f}"
            f"{cost.wall_s / base.wall_s:7.2f}x{cost.cpu_s / base.cpu_s:7.2f}x"
        )
    started = costs[INTERPRETER].cpu_s * _n_started(pages)
    without = (costs["run: this project"].cpu_s - started) / floor.cpu_s
    told = f"{_n_started(pages)} fences have variables that torch reads at import alone"
    return [
        *lines,
        "ratios: to the floor; of rebuilds, to Sphinx with execution off",
        f"{told}: without an interpreter for each the run's CPU is {without:.2f}x",
    ]


def _n_started(pages: list[Page]) -> int:
    running = [fence for page in pages for chain in chains(page) for fence in chain]
    return sum(not fence.env.keys() <= SET_AFTER_IMPORT for fence in running)


def _ways(project: Project, pages: list[Page], folder: Path) -> dict[str, Callable[[], None]]:
    floor = folder / "floor.py"
    floor.write_text(_floor(pages), encoding="utf-8")
    stock = _stock_site(project, pages, folder / "stock", "force")
    off = _stock_site(project, pages, folder / "off", "off")
    own = [sys.executable, "-m", "compile_in_practice"]

    def fresh_run() -> None:
        for results in project.results.glob("torch-*"):
            shutil.rmtree(results / "fences", ignore_errors=True)
            shutil.rmtree(results / "experiments", ignore_errors=True)
        _call([*own, "--root", str(project.root), "run"])

    def rebuild() -> None:
        _call([*own, "--root", str(project.root), "docs"])

    def sphinx(source: Path, *flags: str) -> Callable[[], None]:
        def call() -> None:
            shutil.rmtree(source / "_out", ignore_errors=True)
            _call([sys.executable, "-m", "sphinx", "-q", *flags, str(source), str(source / "_out")])

        return call

    return {
        "floor: one process": lambda: _call([sys.executable, str(floor)]),
        "run: this project": fresh_run,
        INTERPRETER: lambda: _call([sys.executable, "-c", "import torch, torch._dynamo"]),
        "stock MyST-NB force": sphinx(stock),
        "stock MyST-NB force -j2": sphinx(stock, "-j2"),
        "Sphinx with execution off": sphinx(off),
        "docs: rebuild, nothing changed": rebuild,
    }


def _floor(pages: list[Page]) -> str:
    """Return a script that executes every fence in one process."""
    texts = [script(chain)[0] for page in pages for chain in chains(page)]
    return (
        f"{RESET}\nfor text in {texts!r}:\n"
        "    torch._dynamo.reset()\n"
        "    try:\n        exec(compile(text, 'fence.py', 'exec'), {'__name__': '__main__'})\n"
        "    except BaseException as error:  # state leaks from fence to fence here\n"
        "        print(type(error).__name__)\n"
    )


def _stock_site(project: Project, pages: list[Page], folder: Path, mode: str) -> Path:
    """Return a folder with the same pages as MyST-NB alone reads them."""
    for page in pages:
        target = folder / page.path.relative_to(project.docs)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = page.path.read_text(encoding="utf-8")
        if page.fences and not text.startswith("---"):
            text = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n" + text
        target.write_text(text, encoding="utf-8")
    (folder / "conf.py").write_text(CONF.format(mode=mode), encoding="utf-8")
    return folder


def _call(command: list[str]) -> None:
    settings = {k: v for k, v in process_environment().items() if k != "PYTHONWARNINGS"}
    subprocess.run(command, env=settings, capture_output=True, check=False)


def _median(way: Callable[[], None], repeat: int) -> Cost:
    costs = [_cost(way) for _ in range(repeat)]
    return Cost(
        wall_s=statistics.median(cost.wall_s for cost in costs),
        cpu_s=statistics.median(cost.cpu_s for cost in costs),
        peak_gb=max(cost.peak_gb for cost in costs),
    )


def _cost(way: Callable[[], None]) -> Cost:
    """Return what a call costs in the processes that it starts, all of them."""
    read, write = os.pipe()
    begun = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        way()
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        os.write(write, f"{usage.ru_utime + usage.ru_stime}".encode())
        os._exit(0)
    peak_kb = 0
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        peak_kb = max(peak_kb, _held_kb(pid))
        time.sleep(LOOK_S)
    wall_s = time.perf_counter() - begun
    cpu_s = float(os.read(read, 100))
    os.close(read)
    os.close(write)
    return Cost(wall_s=wall_s, cpu_s=cpu_s, peak_gb=peak_kb / 2**20)


def _held_kb(pid: int) -> int:
    """Return what a process and all below it hold, in KiB; 0 for one that has ended."""
    process = Path(f"/proc/{pid}")
    try:
        smaps = (process / "smaps_rollup").read_text(encoding="ascii")
        below = (process / "task" / str(pid) / "children").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    own = next(int(line.split()[1]) for line in smaps.splitlines() if line.startswith("Pss:"))
    return own + sum(_held_kb(int(child)) for child in below.split())
