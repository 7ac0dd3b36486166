"""tlparse's report: the sentence that leads to it, and its files in the site."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from compile_in_practice import tlparse

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = "tlparse"


class TlparseReport(SphinxDirective):
    """A sentence with a link to the report, or with the reason why there is none."""

    def run(self) -> list[nodes.Node]:
        """Return the sentence."""
        results: Path = self.env.app.cip_results  # type: ignore[attr-defined]
        self.env.note_dependency(str(results / "tlparse" / "told.json"))
        told = tlparse.told(results)
        if problem := told.get("problem", "the pages were run without it"):
            return [nodes.paragraph("", f"This build has no report by tlparse: {problem}.")]
        up = "../" * self.env.docname.count("/")
        text = f"the report that tlparse {told['version']} made in this build"
        link = nodes.reference("", text, refuri=f"{up}{FOLDER}/index.html", internal=False)
        return [nodes.paragraph("", "", nodes.Text("Open "), link, nodes.Text("."))]


def copy_report(app: Sphinx, exception: Exception | None) -> None:
    """Put the report's pages into the finished site."""
    if exception or app.builder.format != "html":
        return
    results: Path = app.cip_results  # type: ignore[attr-defined]
    target = Path(app.outdir, FOLDER)
    shutil.rmtree(target, ignore_errors=True)
    if (made := results / "tlparse" / "report").is_dir():
        shutil.copytree(made, target)
