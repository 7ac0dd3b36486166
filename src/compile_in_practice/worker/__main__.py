"""``python -m compile_in_practice.worker ORDER.json``: run what the order lists.

An order has a mode. `fork` imports torch once and forks a child for each job;
`fresh` starts an interpreter for each job, where forking is not safe; `scout` names
what a first compile imports. A job whose start-up variables torch reads at import
alone gets an interpreter in either mode.

Warm means imported, never compiled: a compile in the parent leaves counters behind
(``counters["frames"]["total"]`` reads 2 in the child), and with torch 2.15 the
autograd engine starts threads, after which no child can run backward.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

from compile_in_practice.worker import torch_alone
from compile_in_practice.worker.child import Job, run_job
from compile_in_practice.worker.supervisor import (
    Forked,
    Process,
    Supervisor,
    adopt_orphans,
    die_with_parent,
    n_threads,
    spawn,
)

TORCH = ("torch", "torch._dynamo")  # torch itself imports the second when asked for it


def warm_up(modules: list[str]) -> dict[str, Any]:
    """Import torch and `modules`; return what torch says it is."""
    for name in TORCH:
        importlib.import_module(name)
    early = frozenset(sys.modules)
    for name in ("torch._dynamo.testing", *modules):
        importlib.import_module(name)
    torch_alone.TorchAlone.warmed = frozenset(sys.modules) - early
    gc.collect()
    gc.freeze()  # a child that collects garbage would copy every page of this process
    return {"torch": str(sys.modules["torch"].__version__), "threads": n_threads()}


def scout() -> list[str]:
    """Return the modules that a first aot_eager compile with a backward loads."""
    torch = importlib.import_module("torch")

    def function(x: Any) -> Any:
        return (x.sin() + 1).sum()

    x = torch.ones(2, requires_grad=True)
    torch.compile(function, backend="aot_eager")(x).backward()
    return [
        name
        for name, module in sys.modules.items()
        if name.startswith("torch.") and (getattr(module, "__file__", "") or "").endswith(".py")
    ]


def main(argv: list[str]) -> int:
    """Run an order, or the one job of a fresh interpreter."""
    order = json.loads(Path(argv[-1]).read_text(encoding="utf-8"))
    torch_alone.install(order["allowed"])
    if argv[0] == "--one":
        die_with_parent()
        run_job(order)
        return 0
    die_with_parent(signal.SIGTERM)
    adopt_orphans()
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1) as out:

        def tell(event: dict[str, Any]) -> None:
            out.write(json.dumps(event) + "\n")

        if order["mode"] == "scout":
            tell({"modules": scout()})
        elif order["mode"] == "fresh":
            Supervisor(spawn, order["width"], tell).run(order["jobs"])
        else:
            tell(warm_up(order["modules"]))
            Supervisor(partial(start, events=out.fileno()), order["width"], tell).run(order["jobs"])
    return 0


def stop(signum: int, _frame: object) -> None:
    """End this process; a second signal does not end the cleaning up."""
    signal.signal(signum, signal.SIG_IGN)
    sys.exit(128 + signum)


def start(job: Job, events: int) -> Process:
    """Fork, or start an interpreter for a job whose variables torch reads at import."""
    return spawn(job) if job["fresh"] else Forked(job, events)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
