"""Execute one fence and count the assertions that held.

Only statements at the top level are touched: behind each assertion there a count
is added, and the operands it compares are kept so that a failure can show them.
Function bodies stay as written (a counter inside a compiled function turned one
frame into three). What stands behind a failed assertion is still executed: a new
release often breaks one count of several, and the report names them all.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import re
import sys
import traceback
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from compile_in_practice.worker.torch_alone import TorchAlone

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "fence.py"
HELD = "@held"
FAILED = "@failed"
CAUGHT = "@caught"
OWN_NAMES = {"held": HELD, "failed": FAILED, "caught": CAUGHT}
IMPORTED = "@imported"
REPR_MAX = 400
BUILTINS = frozenset(dir(builtins))


def main_module(folder: str) -> ModuleType:
    """Return a new `__main__` as a plain file in `folder` would have it."""
    module = ModuleType("__main__")
    module.__file__ = str(Path(folder) / FILE)
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = module
    return module


def run_cell(cell: dict[str, Any], first_line: int, module: ModuleType) -> dict[str, Any]:
    """Execute one cell in `module`; return what held, its values, or its error.

    Args:
        cell: `source`, and `values` as a mapping of names to expressions.
        first_line: the line of `fence.py` on which the cell begins.
        module: the `__main__` of the chain.

    """
    names = vars(module)
    held = [0]
    failed: list[dict[str, Any]] = []

    def hold() -> None:
        held[0] += 1
        for name in [n for n in names if n.startswith("@operand")]:
            del names[name]

    def describe_here(error: BaseException) -> dict[str, Any]:
        compared = [[text, short_repr(names[name])] for name, text in operands if name in names]
        return {**describe(error, FILE), "compared": compared}

    def fail(error: AssertionError) -> None:
        if not failed:
            failed.append(describe_here(error))

    names[HELD] = hold
    names[FAILED] = fail
    tree = ast.parse(cell["source"])
    ast.increment_lineno(tree, first_line - 1)
    if (missing := not_imported(tree, module)) is not None:
        return {"error": missing, "values": {}, "stopped": True}
    stopped = None
    operands = instrument(tree)
    try:
        exec(compile(tree, FILE, "exec", dont_inherit=True), names)  # noqa: S102
    except BaseException as error:  # noqa: BLE001  (SystemExit is a failure here too)
        stopped = describe_here(error)
        failed.append(stopped)
    finally:
        names.pop(HELD, None)
        names.pop(FAILED, None)
    declared: dict[str, str] = cell["values"]
    if stopped is not None:
        line = stopped["line"] or first_line
        declared = {k: v for k, v in declared.items() if is_final(v, names, tree, line)}
    values, errors = evaluate(declared, names)
    if failed:
        return {"error": failed[0], "values": values, "stopped": stopped is not None}
    return {"held": held[0], "values": values, "value_errors": errors}


def evaluate(
    expressions: dict[str, str], names: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of the expressions, and the errors of those that have none."""
    values, errors = {}, {}
    for name, expression in expressions.items():
        try:
            value = eval(expression, names)  # noqa: S307  (the page's own expression)
            values[name] = plain(value)
        except Exception as error:  # noqa: BLE001  (reported with the value's line)
            errors[name] = f"{type(error).__name__}: {error}"
    return values, errors


def is_final(expression: str, names: dict[str, Any], tree: ast.Module, line: int) -> bool:
    """Return whether a fence that stopped at `line` would have given this very value.

    It would where each name is bound to plain data that nothing from there on binds
    again: a counter may count on.
    """
    read = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
    left = [node for node in tree.body if (node.end_lineno or 0) >= line]
    bound = {
        node.id
        for statement in left
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    fixed = (int, float, str, bytes, type(None))
    return all(name in names and isinstance(names[name], fixed) for name in read - BUILTINS) and (
        not read & bound
    )


def plain(value: Any) -> Any:
    """Return `value` as JSON keeps it.

    Raises:
        TypeError: it is a float, which enters only as a predicate, or no plain data.

    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(item) for key, item in value.items()}
    kind = "a float (state a predicate over it)" if isinstance(value, float) else None
    message = f"a value must be int, bool, str, list or dict, not {kind or type(value).__name__}"
    raise TypeError(message)


def short_repr(value: object) -> str:
    """Return one line that shows `value`, cut where it is long."""
    try:
        text = " ".join(repr(value).split())
    except Exception as error:  # noqa: BLE001  (a broken repr must not hide the failure)
        text = f"<{type(value).__name__}: repr raised {type(error).__name__}>"
    return text if len(text) <= REPR_MAX else text[:REPR_MAX] + "..."


def describe(error: BaseException, file: str) -> dict[str, Any]:
    """Return the error's class, message, innermost line in `file`, and traceback."""
    report = traceback.TracebackException.from_exception(error)
    stack = list(report.stack)
    mine = [index for index, frame in enumerate(stack) if frame.filename == file]
    line = stack[mine[-1]].lineno if mine else None
    if isinstance(error, SyntaxError) and error.filename in {file, "<unknown>"}:
        line = error.lineno
    report.stack = traceback.StackSummary.from_list(stack[mine[0] if mine else 0 :])
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else kind.__module__ + "."
    return {
        "type": module + kind.__qualname__,
        "message": str(error),
        "line": line,
        "traceback": "".join(report.format()),
        "near": nearest(error),
    }


def nearest(error: BaseException) -> list[str]:
    """Return names like the one that was not found, where a renamed one may be."""
    if isinstance(error, AttributeError):
        owner, name = error.obj, error.name
    elif isinstance(error, ImportError) and error.name in sys.modules:
        match = re.match(r"cannot import name '(\w+)'", str(error))
        owner, name = sys.modules[error.name], match and match[1]
    else:
        return []
    return difflib.get_close_matches(name, dir(owner), 2, 0.7) if name else []


def not_imported(tree: ast.Module, module: ModuleType) -> dict[str, Any] | None:
    """Return the error of a plain file that uses a module which it does not import.

    This process is warm: `torch._dynamo.testing` is loaded though the fence did not
    import it. What earlier cells of the chain imported is remembered in `module`.
    """
    imported: set[str] = module.__dict__.setdefault(IMPORTED, set())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        name = ast.unparse(node)
        if name in TorchAlone.warmed and not any(
            known == name or known.startswith(name + ".") for known in imported
        ):
            message = f"a plain file has not loaded {name}: this fence does not import it"
            return {
                "type": "AttributeError",
                "message": message,
                "line": node.lineno,
                "compared": [],
                "traceback": "",
                "near": [],
            }
    return None


# --- counting -------------------------------------------------------------------

PLAIN = "held()"
RESUMED = """\
try:
    pass
except AssertionError as caught:
    failed(caught)
else:
    held()
"""


def instrument(tree: ast.Module) -> list[tuple[str, str]]:
    """Count assertions at the top level of `tree`, in place.

    Returns the name under which each compared operand is kept, with its source.
    """
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    helpers = {node.name: node for node in ast.walk(tree) if isinstance(node, functions)}
    operands: list[tuple[str, str]] = []
    numbers = count()
    caught = {  # the fence catches these itself
        id(node)
        for guard in ast.walk(tree)
        if isinstance(guard, ast.Try | ast.TryStar) and guard.handlers
        for node in ast.walk(guard)
    }
    for block in _blocks(tree):
        counted: list[ast.stmt] = []
        for statement in block:
            if isinstance(statement, ast.Assert):
                statement.test = _keep(statement.test, operands, numbers)
            elif not is_assertion_call(statement, helpers):
                counted.append(statement)
                continue
            text = PLAIN if id(statement) in caught else RESUMED
            wrapped = ast.parse(text).body
            for node in (part for top in wrapped for part in ast.walk(top)):
                if isinstance(node, ast.Name):
                    node.id = OWN_NAMES.get(node.id, node.id)
                elif isinstance(node, ast.ExceptHandler):
                    node.name = CAUGHT
                ast.copy_location(node, statement)
            if isinstance(wrapped[0], ast.Try):
                wrapped[0].body = [statement]
            else:
                wrapped.insert(0, statement)
            counted += wrapped
        block[:] = counted
    ast.fix_missing_locations(tree)
    return operands


def is_assertion_call(
    statement: ast.stmt, helpers: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]
) -> bool:
    """Return whether `statement` calls a helper named assert..., which asserts."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    function = statement.value.func
    if isinstance(function, ast.Attribute):
        return function.attr.startswith("assert")
    if not (isinstance(function, ast.Name) and function.id.startswith("assert")):
        return False
    body = helpers.get(function.id)
    if body is None:
        return True
    inner = list(ast.walk(body))
    if isinstance(body, ast.AsyncFunctionDef) or any(
        isinstance(n, ast.Yield | ast.YieldFrom) for n in inner
    ):
        return False  # the call alone executes nothing of its body
    return any(isinstance(n, ast.Assert | ast.Raise) for n in inner)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the statement lists that run at the top level of the file."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if not (isinstance(block, list) and block and isinstance(block[0], ast.stmt)):
            continue
        for statement in block:
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from _blocks(statement)
        yield block
    for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from _blocks(inner)


def is_literal(node: ast.expr) -> bool:
    """Return whether the source of `node` already shows its value."""
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _keep(test: ast.expr, operands: list[tuple[str, str]], numbers: Iterator[int]) -> ast.expr:
    """Return `test` with each operand that it compares kept under a name."""

    def keep(node: ast.expr) -> ast.expr:
        if isinstance(node, ast.BoolOp):
            node.values = [keep(value) for value in node.values]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = keep(node.operand)
        elif isinstance(node, ast.Compare):
            node.left = store(node.left)
            node.comparators = [store(value) for value in node.comparators]
        elif isinstance(node, ast.Call):
            node.args = [arg if isinstance(arg, ast.Starred) else store(arg) for arg in node.args]
        else:
            return store(node)
        return node

    def store(node: ast.expr) -> ast.expr:
        unsafe = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
        if is_literal(node) or any(isinstance(n, unsafe) for n in ast.walk(node)):
            return node
        name = f"@operand{next(numbers)}"
        operands.append((name, ast.unparse(node)))
        target = ast.copy_location(ast.Name(name, ast.Store()), node)
        return ast.copy_location(ast.NamedExpr(target, node), node)

    return keep(test)
