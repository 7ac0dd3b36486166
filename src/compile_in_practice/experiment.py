"""An experiment: the part of a gallery script that measures, hashed and run alone.

A gallery script holds a function named `experiment` and, around it, code that
turns its data into tables and figures. Here the script's syntax tree is cut down
to the statements that `experiment` reaches by name. That slice runs without the
rest of the script, and its hash says whether data still belongs to the script.

Standard library only: the slice runs where torch is all that is installed.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import importlib.util
import symtable
import sys
import textwrap
import types
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PACKAGE = "compile_in_practice"
ROOTS = ("experiment", "CASES")


class ExperimentError(Exception):
    """The script has no usable experiment: says which script and what to write."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The measuring part of one gallery script."""

    path: Path
    tree: ast.Module

    @property
    def name(self) -> str:
        """Name of the script without its suffix."""
        return self.path.stem

    @cached_property
    def hash(self) -> str:
        """sha256 over the normalized trees of the slice and of the helpers it reaches."""
        parts = [("", self.tree), *sorted(_helpers(self.tree).items())]
        text = "\n".join(f"{name}:{normalize(tree)}" for name, tree in parts)
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def namespace(self) -> types.ModuleType:
        """The slice, executed as a module: no replay part, no matplotlib."""
        module = types.ModuleType(f"experiment_{self.name}")
        module.__file__ = str(self.path)
        sys.modules[module.__name__] = module  # Dynamo imports a frame's module by name
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)  # noqa: S102  the project's own script
        return module

    @property
    def cases(self) -> list[dict[str, Any]]:
        """Knobs of each call that a whole recording makes; one call without knobs by default."""
        return list(getattr(self.namespace, "CASES", [{}]))

    def __call__(self, **knobs: Any) -> Any:
        """Data that the experiment returns for these knobs."""
        function: Callable[..., Any] = self.namespace.experiment
        return function(**knobs)


def load(path: Path, roots: tuple[str, ...] = ROOTS) -> Experiment:
    """The experiment of the script at `path`: what the names in `roots` reach.

    Raises:
        ExperimentError: if the script does not parse or defines no `experiment`.
    """
    text = path.read_text(encoding="utf-8")
    try:
        tree = ast.parse(text, filename=str(path))
    except SyntaxError as error:
        message = f"{path}:{error.lineno}: {error.msg}"
        raise ExperimentError(message) from error
    sliced = reach(tree, roots)
    if "experiment" not in {name for node in sliced.body for name in _bound(node)}:
        message = (
            f"{path}: no function named `experiment` at the top level; "
            "move what measures into `def experiment(...)` that returns plain data"
        )
        raise ExperimentError(message)
    return Experiment(path=path, tree=sliced)


def reach(tree: ast.Module, roots: Iterable[str]) -> ast.Module:
    """`tree` cut down to the top-level statements that the names in `roots` reach.

    A statement is reached when it binds a reached name or changes what one holds
    (`config.limit = 2`). Imports keep only their reached names. Order is kept.
    """
    wanted = set(roots)
    chosen: set[int] = set()
    grew = True
    while grew:
        grew = False
        for index, node in enumerate(tree.body):
            if index not in chosen and (_is_future(node) or wanted & _bound(node)):
                chosen.add(index)
                wanted |= _used(node)
                grew = True
    body = [_narrow(tree.body[index], wanted) for index in sorted(chosen)]
    return ast.Module(body=body, type_ignores=[])


def normalize(node: ast.AST | list[Any] | object) -> str:
    """Text of a tree that comments, docstrings, layout and order of imports leave alone.

    It is the same on each Python: a field that is empty is left out, since which fields
    exist depends on the version.
    """
    if isinstance(node, list):
        imports = [
            normalize(n) for n in node if isinstance(n, ast.Import | ast.ImportFrom | ast.alias)
        ]
        others = [
            normalize(n) for n in node if not isinstance(n, ast.Import | ast.ImportFrom | ast.alias)
        ]
        return "[" + " ".join([*sorted(imports), *others]) + "]"
    if isinstance(node, ast.AST):
        fields = {
            name: _without_docstring(node, name, value)
            for name, value in ast.iter_fields(node)
            if name not in {"ctx", "kind", "type_comment"}
        }
        inner = " ".join(f"{k}={normalize(v)}" for k, v in fields.items() if v not in (None, []))
        return f"({type(node).__name__} {inner})"
    return f"{type(node).__name__}:{node!r}"


def _without_docstring(node: ast.AST, field: str, value: object) -> object:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    if field != "body" or not isinstance(node, documented):
        return value
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else value


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _bound(node: ast.stmt) -> set[str]:
    """Names that a top-level statement binds, or whose object it changes."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {_alias(alias) for alias in node.names}
    names: set[str] = set()
    pending: list[ast.AST] = [node]
    while pending:
        child = pending.pop()
        if isinstance(child, ast.Name | ast.Attribute | ast.Subscript):
            if isinstance(child.ctx, ast.Store):
                names |= {name.id for name in ast.walk(child) if isinstance(name, ast.Name)}
        elif child is not node and isinstance(child, ast.stmt):
            names |= _bound(child)
        elif not isinstance(child, ast.comprehension):  # its variables live in it alone
            pending += ast.iter_child_nodes(child)
    return names


def _used(node: ast.stmt) -> set[str]:
    """Module-level names that a statement reads, on each Python the same.

    The statement is looked at as the body of a function, where neither a variable of its
    own nor one of a comprehension counts as global.
    """
    if isinstance(node, ast.Import | ast.ImportFrom):
        return set()
    body = textwrap.indent(ast.unparse(node), " ")
    tables = [symtable.symtable(f"def statement():\n{body}", "statement", "exec")]
    names: set[str] = set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        if table.get_type() != "module":
            names |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    return names


def _alias(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _narrow(node: ast.stmt, wanted: set[str]) -> ast.stmt:
    if not isinstance(node, ast.Import | ast.ImportFrom) or _is_future(node):
        return node
    narrowed = copy.copy(node)
    narrowed.names = [alias for alias in node.names if _alias(alias) in wanted]
    return narrowed


def _helpers(tree: ast.Module) -> dict[str, ast.Module]:
    """Slices of the project's own modules that `tree` reaches, by module name."""
    wanted: dict[str, set[str]] = {}
    slices: dict[str, ast.Module] = {}
    pending = [tree]
    while pending:
        for module, names in _own_imports(pending.pop()):
            known = wanted.setdefault(module, set())
            if names <= known:
                continue
            known |= names
            slices[module] = _slice_of(module, known)
            pending.append(slices[module])
    return slices


def _slice_of(module: str, names: set[str]) -> ast.Module:
    whole = ast.parse(_source(module))
    return whole if "*" in names else reach(whole, names)


def _own_imports(tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    """(module, names) for each import of the project's own code, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_own(alias.name):
                    yield alias.name, {"*"}
        elif isinstance(node, ast.ImportFrom) and node.module and _is_own(node.module):
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                if _exists(submodule):
                    yield submodule, {"*"}
                else:
                    yield node.module, {alias.name}


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def _file(module: str) -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        message = f"the package {PACKAGE} is not importable; put its folder on PYTHONPATH"
        raise ExperimentError(message)
    root = Path(next(iter(spec.submodule_search_locations)))
    inner = root.joinpath(*module.split(".")[1:])
    return inner / "__init__.py" if inner.is_dir() else inner.with_suffix(".py")


def _exists(module: str) -> bool:
    return _file(module).is_file()


def _source(module: str) -> str:
    path = _file(module)
    if not path.is_file():
        message = f"{module}: no such module of this project ({path} is missing)"
        raise ExperimentError(message)
    return path.read_text(encoding="utf-8")
