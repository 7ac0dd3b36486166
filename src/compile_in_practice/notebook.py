"""A page as an executed notebook: what Sphinx renders and what a reader downloads."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import nbformat
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_output,
)

from compile_in_practice.answers import unfolded
from compile_in_practice.page import Fence
from compile_in_practice.values import substitute_marked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from compile_in_practice.failure import Failure
    from compile_in_practice.page import Page
    from compile_in_practice.values import Scope

KERNELSPEC = {"name": "python3", "display_name": "Python 3", "language": "python"}
LONG_LOG = 8  # lines; a longer one is in the control, but for the lines that `log` names
MOST = 3  # values that the line below a fence names; a table has them all
LANGUAGE = {"name": "python", "file_extension": ".py", "pygments_lexer": "ipython3"}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a page shows under one fence.

    Attributes:
        kind: `run`, `recorded`, `missing` or `not_run`.
        stdout: what it printed.
        stderr: what it logged.
        label: where a recorded output is from.
        recorded_on: the torch release of its record.
        reason: why the code was not run, or is pure setup.
        values: the named values, for the reader of the notebook's metadata.
        elsewhere: by name of a value, where it is what else.
        releases: each value on every release: value name, release, value.
        xray: what Dynamo made of it, None where nothing was compiled.

    """

    kind: str
    stdout: str = ""
    stderr: str = ""
    label: str = ""
    recorded_on: str = ""
    reason: str = ""
    values: dict[str, Any]
    elsewhere: dict[str, list[list[str]]]
    releases: dict[str, dict[str, Any]] = field(default_factory=dict)
    xray: dict[str, Any] | None = None


def make_notebook(
    page: Page,
    shown: dict[str, Shown],
    scope: Scope,
    *,
    file: str,
    evidence: str,
    others: Callable[[str], list[list[str]]] = lambda _: [],
) -> tuple[str, list[Failure]]:
    """Return the page as notebook JSON, and what is wrong with its names.

    Args:
        page: the page as written.
        shown: what each of its fences shows, by name.
        scope: what the names in its prose mean.
        file: the page as failures name it.
        evidence: the line at its end, or an empty text.
        others: what a value role shows elsewhere, which the site says beside the value.

    """
    cells: list[Any] = []
    lines: list[int] = []
    failures: list[Failure] = []
    by_name = {fence.name: fence for fence in page.fences}

    def add(cell: Any, line: int, identity: str) -> None:
        cell["id"] = re.sub(r"[^\w-]", "-", identity)[:64]
        cells.append(cell)
        lines.append(line)

    for part in page.parts:
        if isinstance(part, Fence):
            if part.name in shown:
                add(_code(part, shown[part.name], by_name), part.first_line - 1, part.name)
                if text := _elsewhere(shown[part.name].elsewhere):
                    cell = new_markdown_cell(text, metadata={"cip": {"kind": "elsewhere"}})
                    add(cell, part.first_line - 1, f"{part.name}-elsewhere")
        else:
            text, found, marks = substitute_marked(
                part.text, scope, others, file=file, line=part.line
            )
            failures += found
            told = {"cip": {"marks": [vars(mark) for mark in marks]}} if marks else {}
            add(new_markdown_cell(text, metadata=told), part.line - 1, f"prose-{part.line}")
    if evidence:
        cell = new_markdown_cell(evidence, metadata={"cip": {"kind": "evidence"}})
        add(cell, lines[-1] if lines else 0, "evidence")
    metadata = {
        **{key: value for key, value in page.metadata.items() if key != "kernelspec"},
        "kernelspec": KERNELSPEC,
        "language_info": LANGUAGE,
        "source_map": lines,
    }
    notebook = new_notebook(cells=cells, metadata=metadata)
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n", failures


def _code(fence: Fence, shown: Shown, by_name: dict[str, Fence]) -> Any:
    told: dict[str, Any] = {"kind": shown.kind}
    if shown.reason:
        told["reason"] = shown.reason
    if shown.label:
        told["label"] = shown.label
    if fence.env:
        told["command"] = command(fence)
    if chain := _before(fence, by_name):
        told["chain"] = chain
    if below := _below(fence, shown):
        told["below"] = below
    outputs = [
        new_output("stream", name=name, text=text)
        for name, text in (("stdout", shown.stdout), ("stderr", shown.stderr))
        if text
    ]
    executed = shown.kind in {"run", "recorded"}
    metadata = {"cip": told, "name": fence.name, "values": shown.values}
    return new_code_cell(
        fence.source,
        outputs=outputs,
        execution_count=1 if executed else None,
        metadata=metadata,
    )


def _below(fence: Fence, shown: Shown) -> dict[str, Any]:
    """Return what stands in the closed control under a fence, as far as there is any."""
    below: dict[str, Any] = {}
    if shown.xray is not None:
        below["xray"] = shown.xray
    if shown.releases:
        below["values"] = shown.releases
    lines = shown.stderr.splitlines()
    if len(lines) > LONG_LOG:
        below["log"] = shown.stderr
        below["named"] = [line for line in lines if any(text in line for text in fence.log)]
    return below


def runnable(path: Path) -> str:
    """Return the notebook at `path` as one that runs from top to bottom in Jupyter.

    A cell that needs start-up variables writes its file and starts it with them; one
    that was not run is text.
    """
    executed = nbformat.read(path, as_version=4)
    cells: list[Any] = []
    for cell in executed.cells:
        told = cell.metadata.get("cip", {})
        told.pop("below", None)  # of the page alone
        if told.get("kind") == "not_run":
            code = f"```python\n{cell.source.rstrip()}\n```"
            cells.append(new_markdown_cell(f"Not run: {told['reason']}.\n\n{code}", id=cell.id))
        elif "command" in told:
            source = "\n\n".join(filter(None, [told.get("chain"), cell.source]))
            cells.append(new_code_cell(f"%%writefile fence.py\n{source}", id=cell.id))
            start = {"outputs": cell.outputs, "execution_count": cell.execution_count}
            cells.append(new_code_cell(f"!{told['command']}", id=f"{cell.id[:58]}-start", **start))
        elif cell.cell_type == "markdown":
            cells.append(new_markdown_cell(unfolded(cell.source), id=cell.id))
        else:
            told.pop("marks", None)  # the site's own
            cells.append(cell)
    metadata = {key: executed.metadata[key] for key in ("kernelspec", "language_info")}
    return str(nbformat.writes(new_notebook(cells=cells, metadata=metadata))) + "\n"


def command(fence: Fence) -> str:
    """Return how a reader starts a fence that needs start-up variables."""
    variables = " ".join(f"{name}={_quoted(value)}" for name, value in fence.env.items())
    return f"{variables} python fence.py"


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w./:+-]+", text) else f'"{text}"'


def _before(fence: Fence, by_name: dict[str, Fence]) -> str:
    """Return the source of the fences that this one continues."""
    sources: list[str] = []
    while fence.continues is not None:
        fence = by_name[fence.continues]
        sources.insert(0, fence.source)
    return "\n\n".join(sources)


def _elsewhere(found: dict[str, list[list[str]]]) -> str:
    """Return one line that says which release measures something else.

    >>> old = "on torch 2.8.0 to 2.10.0"
    >>> _elsewhere({"n": [[old, "3"], ["under Inductor", "4"]], "m": [[old, "2"]]})
    'Elsewhere: `n` is 3, `m` is 2 on torch 2.8.0 to 2.10.0; `n` is 4 under Inductor.'
    """
    by_place: dict[str, list[str]] = {}
    for name in [*found][:MOST]:
        for where, value in found[name]:
            by_place.setdefault(where, []).append(f"`{name}` is {value}")
    parts = [f"{', '.join(values)} {where}" for where, values in by_place.items()]
    if len(found) > MOST:
        n_more = len(found) - MOST
        parts.append(f"{n_more} more {'differs' if n_more == 1 else 'differ'}")
    return f"Elsewhere: {'; '.join(parts)}." if parts else ""
