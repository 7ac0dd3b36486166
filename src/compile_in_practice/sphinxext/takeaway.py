"""What a reader takes along: a page's notebook and script, Markdown, the whole site."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compile_in_practice.archive import write_archive
from compile_in_practice.notebook import runnable
from compile_in_practice.sphinxext.releases import summary

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

OTHER_PAGES = ("genindex", "py-modindex", "search", "404")
NOT_PAGES = {"_static", "_downloads", "_modules", "tlparse"}
REPOSITORY_VARIABLE = "COMPILE_IN_PRACTICE_REPOSITORY"
# The publishing workflow pushes the notebooks of each release to this branch.
COLAB = "https://colab.research.google.com/github/{repository}/blob/notebooks/{torch}/{page}.ipynb"


def link_downloads(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Tell the template what there is of this page to take along."""
    if doctree is None:
        return
    path = _notebook(app, pagename)
    name = pagename.rpartition("/")[2]
    has_code = path.exists() and _has_code(path)
    context["cip_downloads"] = [
        f"{name}{suffix}" for suffix in ([".ipynb", ".py", ".md"] if has_code else [".md"])
    ]
    context["cip_archive"] = "../" * pagename.count("/") + archive_name(app)
    if has_code and (repository := os.environ.get(REPOSITORY_VARIABLE)):
        torch = summary(app)["torch"]
        context["cip_colab"] = COLAB.format(repository=repository, torch=torch, page=pagename)


def archive_name(app: Sphinx) -> str:
    """The name of the whole site's file."""
    return f"torch-compile-in-practice-{summary(app)['torch']}.zip"


def pack(app: Sphinx, exception: Exception | None) -> None:
    """Write the whole site as one file, when all else is there."""
    if not exception and app.builder.format == "html":
        write_archive(Path(app.outdir), Path(app.outdir, archive_name(app)))


def copy_downloads(app: Sphinx, exception: Exception | None) -> None:
    """Write both files beside each page of the finished site."""
    if exception or app.builder.format != "html":
        return
    kept = {Path(app.outdir, f"{name}.html") for name in [*app.env.all_docs, *OTHER_PAGES]}
    for page in Path(app.outdir).rglob("*.html"):
        if page not in kept and NOT_PAGES.isdisjoint(page.relative_to(app.outdir).parts):
            page.unlink()  # its source is gone
            for suffix in (".ipynb", ".py", ".md"):
                page.with_suffix(suffix).unlink(missing_ok=True)
    for docname in app.env.all_docs:
        path = _notebook(app, docname)
        if path.exists() and _has_code(path):
            target = Path(app.outdir, f"{docname}.ipynb")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(runnable(path), encoding="utf-8")
            target.with_suffix(".py").write_text(script(path), encoding="utf-8")


def script(path: Path) -> str:
    """The notebook at `path` as a script with `# %%` cells.

    A cell that was not run as it stands is left as comments: what its command starts,
    or the reason, above it.
    """
    parts = []
    for cell in _cells(path):
        told = cell["metadata"].get("cip", {})
        if cell["cell_type"] == "markdown":
            parts.append("# %% [markdown]\n" + _commented(cell["source"]))
        elif told.get("kind") == "not_run" or told.get("command"):
            why = told.get("command") or f"not run: {told.get('reason', '')}"
            source = "\n\n".join(filter(None, [told.get("chain"), cell["source"]]))
            parts.append(f"# %%\n# {why}\n" + _commented(source))
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
