"""A small project with a finished results folder, rendered by stock Sphinx."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).parents[2]
PAGE = """# A page

Prose, then [another page](other.md).

```{code-cell} python
---
name: first
---
x = 1
```
"""
LAB = '''"""
1. A lab
========

A question.
"""

# %%
# It replays.

from compile_in_practice.replay import pyplot, replay


def experiment(backend="eager"):
    """Never called here."""
    raise AssertionError


data = replay(experiment)
print("graphs:", data["model"]["n_graphs"])

# %%
# A figure.

pyplot().bar(["model"], [data["model"]["n_graphs"]])
'''
RECORDED = "Recorded with Inductor on torch 2.8.0"
DRAWING = '<svg xmlns="http://www.w3.org/2000/svg"><path stroke="currentColor"/></svg>'


def code(source: str, printed: str = "", **told: Any) -> Any:
    """A code cell as run leaves it."""
    outputs = [new_output("stream", name="stdout", text=printed)] if printed else []
    metadata = {"cip": {"kind": "run", **told}}
    return new_code_cell(source, outputs=outputs, metadata=metadata)


@dataclass(kw_only=True)
class Site:
    """A project folder, its results, and what Sphinx makes of them."""

    root: Path
    torch: str = "2.15.0"

    @property
    def results(self) -> Path:
        return self.root / "results" / "here"

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def page(self, name: str, cells: list[tuple[int, Any]], source: str = PAGE) -> None:
        """Write a page and its executed notebook; each cell comes with its line."""
        made = [new_markdown_cell(c) if isinstance(c, str) else c for _, c in cells]
        metadata = {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
            "source_map": [line for line, _ in cells],
        }
        text = nbformat.writes(new_notebook(cells=made, metadata=metadata))
        self.write(f"docs/{name}.md", source)
        self.write(f"results/here/pages/{name}.ipynb", text)

    def summary(self, n_failures: int = 0, report: tuple[str, ...] = ()) -> None:
        told = {"n_failures": n_failures, "report": report, "torch": self.torch}
        told |= {"releases": ["2.8.0", "2.15.0"], "current": "2.15.0"}
        self.write("results/here/summary.json", json.dumps(told))

    def lab_data(self, n_graphs: int) -> None:
        data = {"model": {"n_graphs": n_graphs}}
        self.write("results/here/labs/question.json", json.dumps(data))

    def build(self, *flags: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run sphinx-build as `nox -s docs` does."""
        command = [sys.executable, "-m", "sphinx", "-n", "-W", "--keep-going", "-q", *flags]
        variables = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "COMPILE_IN_PRACTICE_RESULTS": str(self.results),
            **more,
        }
        return subprocess.run(
            [*command, str(self.root / "docs"), str(self.root / "out")],
            env=variables, cwd=self.root, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def html(self, name: str) -> str:
        return (self.root / "out" / f"{name}.html").read_text(encoding="utf-8")


def make_site(root: Path) -> Site:
    site = Site(root=root)
    for name in ("conf.py", "_static", "_templates"):
        source, target = ROOT / "docs" / name, root / "docs" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    index = "# Index\n\n```{toctree}\npage\nother\nlab/index\n```\n"
    site.page("index", [(0, index)], source=index)
    site.page("other", [(0, "# Other\n\nText.")], source="# Other\n\nText.\n")
    drawing = ":::{figure} drawing.svg\n:alt: What it finds.\n\nA caption.\n:::"
    site.page("page", [
        (0, "# A page\n\nProse, then [another page](other.md)."),
        (5, code("x = 1", "printed\n")),
        (6, "Elsewhere: `n` is 3 on torch 2.8.0."),
        (7, code("y = x", chain="x = 1", command="TORCH_LOGS=guards python fence.py")),
        (8, code("z", kind="not_run", reason="needs a GPU")),
        (9, code("w", "recorded\n", kind="recorded", label=RECORDED)),
        (10, drawing),
        (10, "Evidence: torch 2.15.0, 1 fence ran."),
    ])  # fmt: skip
    site.write("docs/drawing.svg", DRAWING)
    site.write("gallery/lab/GALLERY_HEADER.rst", "Labs\n====\n\nText.\n")
    site.write("gallery/lab/question.py", LAB)
    site.write("results/here/gallery/lab/question.py", LAB)
    site.lab_data(3)
    site.summary()
    return site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site built once, with two readers, and without a warning."""
    site = make_site(tmp_path_factory.mktemp("site"))
    done = site.build("-j2")
    assert (done.returncode, done.stderr) == (0, "")
    return site
