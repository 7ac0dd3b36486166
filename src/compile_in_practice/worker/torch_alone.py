"""An import system that shows torch, what torch requires, and nothing else.

The documentation's environment also holds Sphinx, numpy and packaging. A reader's
may hold none of them, and torch itself behaves differently where numpy is found.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from importlib.machinery import PathFinder, SourceFileLoader
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

INDUCTOR = "torch._inductor.compile_fx"
STANDARD = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
STANDARD_FINDERS = ("BuiltinImporter", "FrozenImporter")


class TorchAlone(PathFinder):
    """Finds the standard library, torch, what torch requires, and local files.

    Attributes:
        allowed: top-level modules that an installed package may provide.
        hidden: top-level modules that are never found, wherever they are.
        refuses_inductor: whether Inductor's compiler may be imported but not called.
        inductor: the line of the fence that called it all the same, else None.
        warmed: modules that are loaded here because this process is warm; a plain
            file finds them only after importing them.
        own: the only folder besides Python's own from which a fence imports files,
            or None where any may be imported.

    """

    allowed: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    refuses_inductor: bool = False
    installed: tuple[str, ...] = ()
    inductor: int | None = None
    warmed: frozenset[str] = frozenset()
    own: str | None = None

    @classmethod
    def find_spec(
        cls,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return the spec, or None for a module that torch does not bring."""
        if fullname in cls.hidden:
            return None
        if path is None and fullname in cls.allowed:  # not from a folder of PYTHONPATH
            path = cls.installed
        spec = super().find_spec(fullname, path, target)
        if spec is not None and fullname == INDUCTOR and cls.refuses_inductor:
            spec.loader = RefusingLoader(fullname, str(spec.origin))
        if spec is None or path is not None:
            return spec
        where = spec.submodule_search_locations or [spec.origin or ""]
        folder = os.path.normpath(os.path.dirname(next(iter(where), "")))  # noqa: PTH120  (for each import)
        if folder not in cls.installed:
            # A reader has no file of ours, and an edit of it would go unnoticed.
            known = cls.own is None or folder.startswith((cls.own, *STANDARD, *cls.installed))
            return spec if known else None
        # What an allowed package carries inside itself is still found, as setuptools' own.
        elsewhere = [folder for folder in sys.path if folder not in cls.installed]
        return super().find_spec(fullname, elsewhere, target)


class RefusingLoader(SourceFileLoader):
    """Loads Inductor's compiler so that a call of it raises.

    An import alone is no compile: optimizers and autograd caches import it too.
    """

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module and put the refusal in the compiler's place."""
        super().exec_module(module)
        module.__dict__["compile_fx"] = refuse
        module.__dict__["compile_fx_inner"] = refuse


def refuse(*_args: object, **_options: object) -> None:
    """Stand in for Inductor's compiler.

    Raises:
        RuntimeError: always; the line of the fence is noted, however it is caught.

    """
    if TorchAlone.inductor is None:
        TorchAlone.inductor = user_line()
    message = "a CPU fence must not reach Inductor"
    raise RuntimeError(message)


def user_line() -> int:
    """Return the line of the fence that is running now, 0 where none is."""
    frame = sys._getframe()  # noqa: SLF001  (inspect.stack reads every source file)
    while frame := frame.f_back:  # type: ignore[assignment]
        if frame.f_code.co_filename == "fence.py":
            return frame.f_lineno
    return 0


def install(allowed: Iterable[str]) -> None:
    """Hide every installed package but `allowed`, also where already imported."""
    TorchAlone.allowed = frozenset(allowed)
    TorchAlone.installed = tuple(p for p in sys.path if p.endswith("-packages"))
    kept = [f for f in sys.meta_path if getattr(f, "__name__", "") in STANDARD_FINDERS]
    sys.meta_path[:] = [*kept, TorchAlone]
    for name, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None) or ""
        top = name.partition(".")[0]
        if file.startswith(TorchAlone.installed) and top not in TorchAlone.allowed:
            del sys.modules[name]
