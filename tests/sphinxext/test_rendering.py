import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import nbformat
import pytest

from compile_in_practice import budget
from compile_in_practice.replay import pyplot
from compile_in_practice.sphinxext.galleries import in_words
from tests.sphinxext.conftest import ROOT, Site

OTHER = """
own = replay


def replay(*args):
    print("drawn by other code")
    return own(*args)
"""


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html))


def test_a_build_puts_nothing_into_docs(built: Site) -> None:
    found = {p.relative_to(built.root / "docs").parts[0] for p in (built.root / "docs").rglob("*")}
    pages = {"index.md", "other.md", "page.md"}
    assert found == pages | {"conf.py", "_static", "_templates", "drawing.svg"}


def test_a_build_puts_nothing_beside_its_output(built: Site) -> None:
    found = {path.name for path in built.root.iterdir()}
    assert found == {"docs", "gallery", "results", "out"}


def test_outputs_of_the_run_are_on_the_page(built: Site) -> None:
    assert "printed" in text(built.html("page"))


def test_a_link_to_another_page_resolves(built: Site) -> None:
    assert 'href="other.html"' in built.html("page")


def test_code_that_was_not_run_carries_its_reason(built: Site) -> None:
    assert "Not run here: needs a GPU" in text(built.html("page"))


def test_a_recorded_output_says_where_it_is_from(built: Site) -> None:
    assert "Recorded with Inductor on torch 2.8.0" in text(built.html("page"))


def test_start_up_variables_are_shown_as_a_command(built: Site) -> None:
    assert "TORCH_LOGS=guards python fence.py" in text(built.html("page"))


def test_the_copy_button_takes_the_chain(built: Site) -> None:
    hidden = re.search(
        r'<pre><span class="cip-chain" hidden>(.*?)</span>', built.html("page"), re.DOTALL
    )
    assert hidden is not None
    assert hidden.group(1) == "x = 1\n\n"


def test_lines_that_run_adds_are_set_apart(built: Site) -> None:
    assert '<p class="cip-evidence">' in built.html("page")
    assert '<p class="cip-elsewhere">' in built.html("page")


def test_a_drawing_is_part_of_the_page_and_has_a_label(built: Site) -> None:
    assert '<svg role="img" aria-label="What it finds."' in built.html("page")


def test_a_page_with_fences_can_be_taken_along(built: Site) -> None:
    assert 'href="page.ipynb"' in built.html("page")
    assert 'href="other.ipynb"' not in built.html("other")
    script = (built.root / "out" / "page.py").read_text(encoding="utf-8")
    ast.parse(script)
    assert "\nx = 1\n" in script
    assert "# TORCH_LOGS=guards python fence.py\n# x = 1\n#\n# y = x\n" in script
    assert "# not run: needs a GPU\n# z\n" in script


def test_every_page_leads_to_its_markdown_and_to_the_whole_site(built: Site) -> None:
    for name in ("page", "other"):
        assert f'href="{name}.md" download' in built.html(name)
    archive = "torch-compile-in-practice-2.15.0.zip"
    assert f'href="{archive}" download' in built.html("page")
    assert f'href="../{archive}" download' in built.html("lab/question")
    with ZipFile(built.root / "out" / archive) as packed:
        names = set(packed.namelist())
        page = packed.read(f"{archive[:-4]}/page.html").decode()
    assert archive not in page
    kept = {"index.html", "page.ipynb", "page.py", "page.md", "searchindex.js", "lab/question.html"}
    assert {f"{archive[:-4]}/{name}" for name in kept} <= names


def test_colab_is_offered_where_the_repository_is_known(built: Site, site: Site) -> None:
    assert "colab" not in built.html("page")
    site.build(COMPILE_IN_PRACTICE_REPOSITORY="someone/project")
    address = "https://colab.research.google.com/github/someone/project/blob/notebooks"
    assert f'href="{address}/2.15.0/page.ipynb"' in site.html("page")
    assert "colab" not in site.html("other")


def test_what_is_taken_along_goes_with_its_page(site: Site) -> None:
    site.build()
    index = "# Index\n\n```{toctree}\nother\nlab/index\n```\n"
    site.page("index", [(0, index)], source=index)
    (site.root / "docs/page.md").unlink()
    site.build()
    left = {path.name for path in (site.root / "out").glob("page.*")}
    assert left == set()


def test_a_notebook_taken_along_sets_start_up_variables_and_runs_nothing_unfit(
    built: Site,
) -> None:
    taken = nbformat.read(built.root / "out" / "page.ipynb", as_version=4)
    nbformat.validate(taken)
    code = [cell.source for cell in taken.cells if cell.cell_type == "code"]
    at = code.index("!TORCH_LOGS=guards python fence.py")
    assert code[at - 1].startswith("%%writefile fence.py\n")
    assert "z" not in code
    texts = [cell.source for cell in taken.cells if cell.cell_type == "markdown"]
    assert "Not run: needs a GPU.\n\n```python\nz\n```" in texts


def test_a_lab_shows_its_data_and_a_figure(built: Site) -> None:
    assert "graphs: 3" in text(built.html("lab/question"))
    assert "sphx_glr_question_001.svg" in built.html("lab/question")


def test_a_figure_is_there_in_words_with_its_numbers(built: Site) -> None:
    assert 'alt="Figure: model 3."' in built.html("lab/question")
    figure, axes = pyplot().subplots()
    axes.barh(["eager", "compiled"], [2.5, 1], label="median")
    axes.set_xlabel("ms")
    axes.plot([1, 2, 8], [10, 15, 20], "o-")
    axes.annotate("● a line", (8, 20))
    assert in_words(figure) == "ms: median: eager 2.5, compiled 1; a line from 10 at 1 to 20 at 8."
    pyplot().close(figure)


def test_every_page_is_made_anew_by_other_code(site: Site, tmp_path: Path) -> None:
    site.build()
    pages = [site.root / "out" / name for name in ("other.html", "lab/question.html")]
    first = [page.stat().st_mtime_ns for page in pages]
    site.build()
    assert [page.stat().st_mtime_ns for page in pages] == first
    changed = shutil.copytree(ROOT / "src", tmp_path / "changed")
    with (changed / "compile_in_practice/sphinxext/terms.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    replay = changed / "compile_in_practice/replay.py"
    replay.write_text(replay.read_text() + OTHER)
    assert site.build(PYTHONPATH=str(changed)).returncode == 0
    assert all(page.stat().st_mtime_ns > old for page, old in zip(pages, first, strict=True))
    assert "drawn by other code" in site.html("lab/question")


def test_no_request_leaves_the_site(built: Site) -> None:
    for page in ("index", "page", "lab/question"):
        loaded = re.findall(r'(?:src|<link[^>]*href)="(https?:[^"]+)"', built.html(page))
        assert loaded == []


def test_rendering_imports_no_torch() -> None:
    program = (
        "import sys, compile_in_practice.sphinxext as s;"
        "from compile_in_practice.sphinxext import staging, cells, drawings, takeaway;"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "False"


def test_a_page_loads_the_parts_that_it_uses(built: Site) -> None:
    loaded = {name: built.html(name) for name in ("page", "other", "lab/question")}
    with_cells = {name for name, html in loaded.items() if "_static/mystnb" in html}
    assert with_cells == {"page"}
    of_galleries = {name for name, html in loaded.items() if "_static/sg_gallery" in html}
    assert of_galleries == {"lab/question"}
    assert not any("_static/sphinx-design" in html for html in loaded.values())


def test_a_built_site_is_within_the_budget(built: Site) -> None:
    out = built.root / "out"
    pages = {page.relative_to(out).as_posix() for page in budget.pages(out)}
    assert {"index.html", "page.html", "lab/question.html", "search.html"} <= pages
    assert budget.check(out) == []


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        ("", "Open the report that tlparse 9.9 made in this build."),
        ("not installed", "This build has no report by tlparse: not installed."),
    ],
)
def test_a_page_leads_to_the_report_or_says_why_there_is_none(
    site: Site, problem: str, sentence: str
) -> None:
    site.write("results/here/tlparse/told.json", json.dumps({"version": "9.9", "problem": problem}))
    if not problem:
        site.write("results/here/tlparse/report/index.html", "<h1>Report</h1>")
    source = "# Other\n\n```{tlparse-report}\n```\n"
    site.page("other", [(0, source)], source=source)
    done = site.build()
    assert (done.returncode, done.stderr) == (0, "")
    assert sentence in text(site.html("other"))
    assert (site.root / "out/tlparse/index.html").exists() is (not problem)


def test_a_page_shows_furos_switch_from_the_first_paint(built: Site) -> None:
    """Furo's own script comes last, and the title made room for the switch."""
    head, _, _ = built.html("page").partition("<body>")
    assert 'document.documentElement.classList.remove("no-js")' in head
