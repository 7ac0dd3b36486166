"""Downloads: each page with fences as the executed notebook and as a script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

if TYPE_CHECKING:
    from docutils import nodes
    from nbformat import NotebookNode
    from sphinx.application import Sphinx


def link_downloads(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    _doctree: nodes.document | None,
) -> None:
    """Tell the template the names of the page's two files, if it has fences."""
    path = _notebook(app, pagename)
    if path.exists() and _has_code(path):
        name = pagename.rpartition("/")[2]
        context["cip_downloads"] = [f"{name}.ipynb", f"{name}.py"]


def copy_downloads(app: Sphinx, exception: Exception | None) -> None:
    """Write both files beside each page of the finished site."""
    if exception or app.builder.format != "html":
        return
    for docname in app.env.all_docs:
        path = _notebook(app, docname)
        if path.exists() and _has_code(path):
            target = Path(app.outdir, f"{docname}.ipynb")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(notebook(path), encoding="utf-8")
            target.with_suffix(".py").write_text(script(path), encoding="utf-8")


def notebook(path: Path) -> str:
    """The notebook at `path` as one that runs from top to bottom in Jupyter.

    A cell that needs start-up variables writes its file and starts it with them; one
    that was not run is text.
    """
    executed = nbformat.read(path, as_version=4)
    cells: list[NotebookNode] = []
    for cell in executed.cells:
        told = cell.metadata.get("cip", {})
        if told.get("kind") == "not_run":
            code = f"```python\n{cell.source.rstrip()}\n```"
            cells.append(new_markdown_cell(f"Not run: {told['reason']}.\n\n{code}", id=cell.id))
        elif "command" in told:
            source = "\n\n".join(filter(None, [told.get("chain"), cell.source]))
            cells.append(new_code_cell(f"%%writefile fence.py\n{source}", id=cell.id))
            start = {"outputs": cell.outputs, "execution_count": cell.execution_count}
            cells.append(new_code_cell(f"!{told['command']}", id=f"{cell.id[:58]}-start", **start))
        else:
            cells.append(cell)
    metadata = {key: executed.metadata[key] for key in ("kernelspec", "language_info")}
    return str(nbformat.writes(new_notebook(cells=cells, metadata=metadata))) + "\n"


def script(path: Path) -> str:
    """The notebook at `path` as a script with `# %%` cells.

    A cell that was not run as it stands is left as comments, its command above.
    """
    parts = []
    for cell in _cells(path):
        told = cell["metadata"].get("cip", {})
        if cell["cell_type"] == "markdown":
            parts.append("# %% [markdown]\n" + _commented(cell["source"]))
        elif told.get("kind") == "not_run" or told.get("command"):
            why = told.get("command") or f"not run: {told.get('reason', '')}"
            parts.append(f"# %%\n# {why}\n" + _commented(cell["source"]))
        else:
            parts.append("# %%\n" + cell["source"])
    return "\n\n".join(parts) + "\n"


def _notebook(app: Sphinx, docname: str) -> Path:
    results: Path = app.cip_results  # type: ignore[attr-defined]
    return results / "pages" / f"{docname}.ipynb"


def _cells(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook, each source one string."""
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        cell["source"] = "".join(cell["source"])
    return cells


def _has_code(path: Path) -> bool:
    return any(cell["cell_type"] == "code" for cell in _cells(path))


def _commented(text: str) -> str:
    return "\n".join(f"# {line}".rstrip() for line in text.splitlines())
