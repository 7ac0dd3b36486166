"""What a fence meets otherwise than in a plain run; its code stays as it is.

`settings` are torch's own, set before the fence. With `inductor`, each graph that a
backend hands back as it got it is compiled by Inductor: what counts and records in
the fence still does. `aot_eager` becomes Inductor as a whole. A backend that builds
something of its own from the graph keeps it.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Backend = Callable[..., Any]


def enter(changes: dict[str, Any]) -> None:
    """Change torch in this process as the job says.

    Raises:
        AttributeError: this release has no setting of that name.

    """
    for name, value in changes.get("settings", {}).items():
        module, _, setting = name.rpartition(".")
        setattr(importlib.import_module(module), setting, value)
    if changes.get("inductor"):
        _compile_with_inductor()


def _compile_with_inductor() -> None:
    """Put Inductor behind Dynamo's call of a backend, and in the place of aot_eager.

    Source: torch/_dynamo/output_graph.py and torch/_dynamo/backends/registry.py of
    torch 2.15.0; the names are the same from 2.8.0 on.
    """
    _share_kernels()
    registry = importlib.import_module("torch._dynamo.backends.registry")
    importlib.import_module("torch._dynamo.backends.debugging")  # registers aot_eager
    known = registry.__dict__["_COMPILER_FNS"]
    vars(_inductor).update(vars(known["aot_eager"]))  # how it is listed
    known["aot_eager"] = _inductor
    graph = importlib.import_module("torch._dynamo.output_graph").OutputGraph
    call: Backend = graph._call_user_compiler  # noqa: SLF001  (torch's only place for it)

    def call_and_compile(self: Any, *args: Any) -> Any:
        written = self.compiler_fn
        self.compiler_fn = _compiling(written)
        try:
            return call(self, *args)
        finally:
            self.compiler_fn = written

    graph._call_user_compiler = call_and_compile  # noqa: SLF001  (as above)


def _share_kernels() -> None:
    """Compile each C++ kernel once for all fences, and still find no graph in a cache."""
    own = os.environ["TORCHINDUCTOR_CACHE_DIR"]
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path.cwd().parents[1] / "kernels")
    graphs = importlib.import_module("torch._inductor.codecache").FxGraphCache
    graphs._get_tmp_dir = staticmethod(lambda: os.path.join(own, "fxgraph"))  # noqa: SLF001, PTH118
    aot = importlib.import_module("torch._functorch._aot_autograd.autograd_cache").AOTAutogradCache
    aot._get_tmp_dir = classmethod(lambda _: os.path.join(own, "aotautograd"))  # noqa: SLF001, PTH118


def _compiling(backend: Backend) -> Backend:
    """Return `backend` with Inductor behind it, where it leaves the graph as it is."""

    def compile_graph(gm: Any, inputs: Any, **options: Any) -> Any:
        made = backend(gm, inputs, **options)
        return _inductor(gm, inputs) if made is gm or made == gm.forward else made

    compile_graph.__name__ = getattr(backend, "__name__", type(backend).__name__)
    return compile_graph


def _inductor(gm: Any, inputs: Any, **_options: Any) -> Any:
    return importlib.import_module("torch._inductor.compile_fx").compile_fx(gm, inputs)
