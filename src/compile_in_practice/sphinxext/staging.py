"""The staged tree: what Sphinx reads in place of `docs/`.

Each page of the tree holds its executed notebook, under the name of the page.
So MyST-NB finds values and outputs in place, a link to `other.md` still
resolves, and Sphinx reads a page again when its outputs have changed.
Nothing that a build generates lands in `docs/`.
"""

from __future__ import annotations

import filecmp
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from sphinx.errors import ExtensionError
from sphinx.util import logging

from compile_in_practice.sphinxext import markers
from compile_in_practice.store import file_digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbformat import NotebookNode
    from sphinx.application import Sphinx
    from sphinx.config import Config

RESULTS_VARIABLE = "COMPILE_IN_PRACTICE_RESULTS"
NOT_STAGED = {"conf.py", "_static", "_templates", "ledger"}
GALLERIES = ("lab", "gpu")

logger = logging.getLogger(__name__)


def stage(app: Sphinx, config: Config) -> None:
    """Run the pages unless that is done, and let Sphinx read the staged tree.

    Raises:
        ExtensionError: when a fence or a lab failed, or a page was not run.
    """
    docs = Path(app.confdir)
    results = _results(docs.parent)
    site = results / "site"
    kept = {site / name for name in config.sphinx_gallery_conf["gallery_dirs"]}
    _mirror(dict(_wanted(docs, docs.parent / "gallery", results)), site, kept)
    missing = [line for page in _pages(docs) for line in _not_run(page, docs, results)]
    missing += _edited(docs, results)
    if missing:
        raise ExtensionError("\n".join(missing))
    app.srcdir = site
    app.cip_results = results  # type: ignore[attr-defined]


def _results(root: Path) -> Path:
    """Return the folder of finished results, from the environment or from a run now.

    Raises:
        ExtensionError: the run failed, or torch is missing.
    """
    if given := os.environ.get(RESULTS_VARIABLE):
        return _finished(Path(given))
    from compile_in_practice import run, tlparse  # noqa: PLC0415  # finished results need none
    from compile_in_practice.failure import BuildError  # noqa: PLC0415  # as above
    from compile_in_practice.project import load_project  # noqa: PLC0415  # as above

    try:
        report = run.build(root)
        tlparse.write_report(load_project(root), report.results)
    except BuildError as error:
        raise ExtensionError(str(error)) from error
    for line in report.lines():
        logger.info("%s", line)
    os.environ[RESULTS_VARIABLE] = str(report.results)  # for the labs' replay
    return _finished(report.results)


def _finished(results: Path) -> Path:
    """Return `results` if its run ended and nothing in it failed.

    Raises:
        ExtensionError: there is no summary of a run, or it has failures.
    """
    summary = results / "summary.json"
    if not summary.exists():
        what = f"{results} holds no finished run: there is no summary.json"
        raise ExtensionError(what)
    told = json.loads(summary.read_text(encoding="utf-8"))
    if told["n_failures"]:
        raise ExtensionError("\n".join(["nothing was rendered", *told["report"]]))
    return results.resolve()


def _pages(docs: Path) -> list[Path]:
    """Return every page, relative to `docs`."""
    return sorted(
        path.relative_to(docs)
        for path in docs.rglob("*.md")
        if NOT_STAGED.isdisjoint(path.relative_to(docs).parts)
    )


def _wanted(docs: Path, gallery: Path, results: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each path of the staged tree with the file it is copied from."""
    for path in docs.rglob("*"):
        relative = path.relative_to(docs)
        if path.is_file() and NOT_STAGED.isdisjoint(relative.parts):
            is_page = path.suffix == ".md"
            yield relative, _notebook(results, relative) if is_page else path
    for name in GALLERIES:
        for path in (gallery / name).glob("*.*"):
            with_values = results / "gallery" / name / path.name
            source = with_values if path.suffix == ".py" else path
            yield Path("_gallery", name, path.name), source


def _notebook(results: Path, page: Path) -> Path:
    """Return where run has put the executed notebook of `page`."""
    return results / "pages" / page.with_suffix(".ipynb")


def _mirror(wanted: dict[Path, Path], site: Path, kept: set[Path]) -> None:
    """Copy what changed, and delete what is no longer wanted."""
    for relative, source in wanted.items():
        target = site / relative
        if not source.exists():
            target.unlink(missing_ok=True)
        elif not (target.exists() and filecmp.cmp(source, target, shallow=False)):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    for path in list(site.rglob("*")):
        is_stale = path.is_file() and path.relative_to(site) not in wanted
        if is_stale and kept.isdisjoint(path.parents):
            path.unlink()


def _not_run(page: Path, docs: Path, results: Path) -> Iterator[str]:
    """Yield one line for each cell of `page` that has no record of a run."""
    where = f"{docs.name}/{page.as_posix()}"
    path = _notebook(results, page)
    if not path.exists():
        yield f"{where}: this page was never run; {path} does not exist."
        return
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    lines = notebook["metadata"]["source_map"]
    for cell, line in zip(notebook["cells"], lines, strict=True):
        if cell["cell_type"] == "code" and "cip" not in cell["metadata"]:
            yield f"{where}:{line + 1}: this fence has no record of a run."


def _edited(docs: Path, results: Path) -> Iterator[str]:
    """Yield one line for each page that was written after its run."""
    told = json.loads((results / "summary.json").read_text(encoding="utf-8"))
    for name, digest in told.get("pages", {}).items():
        path = docs / f"{name}.md"
        if path.exists() and file_digest(path) != digest:
            yield f"{docs.name}/{name}.md: edited after its run; unset {RESULTS_VARIABLE}."


def read_notebook(text: str) -> NotebookNode:
    """Return the notebook of a staged page, for MyST-NB.

    MyST-NB adds a line too many to each place, so each starts a line earlier.
    """
    notebook: NotebookNode = nbformat.reads(text, as_version=4)
    lines = notebook.metadata["source_map"]
    notebook.metadata["source_map"] = [line - 1 for line in lines]
    markers.insert(notebook)
    return notebook


def keep_notebooks_out_of_the_tree(app: Sphinx) -> None:
    """Let MyST-NB write its copies of notebooks beside the results.

    Its own choice is a folder beside the output, so in the project's top level.
    """
    results: Path = app.cip_results  # type: ignore[attr-defined]
    app.env.mystnb_config = app.env.mystnb_config.copy(  # type: ignore[attr-defined]
        output_folder=str(results / "jupyter_execute")
    )
