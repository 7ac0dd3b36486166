"""Downloads: each page with fences as the executed notebook and as a script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compile_in_practice.notebook import runnable

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

OTHER_PAGES = ("genindex", "py-modindex", "search", "404")
NOT_PAGES = {"_static", "_downloads", "_modules"}


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
    kept = {Path(app.outdir, f"{name}.html") for name in [*app.env.all_docs, *OTHER_PAGES]}
    for page in Path(app.outdir).rglob("*.html"):
        if page not in kept and NOT_PAGES.isdisjoint(page.relative_to(app.outdir).parts):
            page.unlink()  # its source is gone
    for docname in app.env.all_docs:
        path = _notebook(app, docname)
        if path.exists() and _has_code(path):
            target = Path(app.outdir, f"{docname}.ipynb")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(runnable(path), encoding="utf-8")
            target.with_suffix(".py").write_text(script(path), encoding="utf-8")


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
