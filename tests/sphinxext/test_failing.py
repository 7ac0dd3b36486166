"""What makes a build fail, or draw again, once it has run before."""

import json
import os
import shutil
import subprocess
import sys

from tests.sphinxext.conftest import ROOT, Site, code


def test_a_warning_names_the_real_file_and_line_each_time(site: Site) -> None:
    cells = [(0, "# A page"), (6, "Text.\n\n[nowhere](nowhere.md)")]
    site.page("page", cells, source="# A page\n\n\n\n\n\nText.\n\n[nowhere](nowhere.md)\n")
    for _ in range(2):
        done = site.build()
        assert done.returncode != 0
        assert f"{site.root}/docs/page.md:9: WARNING" in done.stderr


def test_a_cell_without_a_record_of_its_run_fails(site: Site) -> None:
    cell = code("x = 1")
    del cell["metadata"]["cip"]
    site.page("page", [(0, "# A page"), (4, cell)])
    done = site.build()
    assert done.returncode != 0
    assert "docs/page.md:5: this fence has no record of a run" in done.stdout + done.stderr


def test_a_page_that_never_ran_fails(site: Site) -> None:
    site.write("docs/forgotten.md", "# Forgotten\n")
    done = site.build()
    assert done.returncode != 0
    assert "docs/forgotten.md: this page was never run" in done.stdout + done.stderr


def test_results_with_a_failure_are_not_rendered(site: Site) -> None:
    site.summary(n_failures=1, report=("docs/page.md:9: AssertionError",))
    done = site.build()
    assert done.returncode != 0
    assert "docs/page.md:9: AssertionError" in done.stdout + done.stderr
    assert not (site.root / "out" / "page.html").exists()


def test_results_without_a_summary_are_not_rendered(site: Site) -> None:
    (site.results / "summary.json").unlink()
    done = site.build()
    assert done.returncode != 0
    assert "holds no finished run" in done.stdout + done.stderr


def test_a_page_that_was_edited_after_its_run_is_not_rendered(site: Site) -> None:
    told = {"n_failures": 0, "report": [], "pages": {"page": "0" * 64}}
    site.write("results/here/summary.json", json.dumps(told))
    done = site.build()
    assert done.returncode != 0
    assert "docs/page.md: edited after its run" in done.stdout + done.stderr


def test_a_page_that_is_gone_leaves_the_site(site: Site) -> None:
    assert site.build().returncode == 0
    kept = site.root / "out" / "search.html"
    gone = site.root / "out" / "module" / "gone.html"
    gone.parent.mkdir()
    gone.write_text("old", encoding="utf-8")
    assert site.build().returncode == 0
    assert (kept.exists(), gone.exists()) == (True, False)


def test_new_lab_data_is_drawn_though_the_script_is_the_same(site: Site) -> None:
    assert site.build().returncode == 0
    site.lab_data(7)
    assert site.build().returncode == 0
    assert "graphs: 7" in site.html("lab/question")


def test_a_broken_lab_fails_each_time_and_names_its_script(site: Site) -> None:
    site.write("results/here/labs/question.json", "{}")
    for _ in range(2):
        done = site.build()
        assert done.returncode != 0
        assert "KeyError: 'model'" in done.stdout + done.stderr
        assert f"{site.root}/gallery/lab/question.py" in done.stdout + done.stderr


def test_a_changed_output_is_rendered_though_the_page_is_the_same(site: Site) -> None:
    assert site.build().returncode == 0
    site.page("page", [(0, "# A page"), (4, code("x = 1", "something else\n"))])
    assert site.build().returncode == 0
    assert "something else" in site.html("page")


def test_a_page_that_is_gone_leaves_the_staged_tree(site: Site) -> None:
    assert site.build().returncode == 0
    (site.root / "docs/drawing.svg").unlink()
    site.page("page", [(0, "# A page")])
    assert site.build().returncode == 0
    assert not (site.results / "site/drawing.svg").exists()


def test_plain_sphinx_build_runs_the_pages_and_fails_with_them(site: Site) -> None:
    shutil.copy(ROOT / "pyproject.toml", site.root)
    shutil.rmtree(site.root / "gallery")
    fence = "```{code-cell} python\n---\nname: wrong\n---\nassert 1 + 1 == 3\n```\n"
    for name in ("index", "other", "page"):
        site.write(f"docs/{name}.md", f"# Page\n\n{fence if name == 'page' else ''}")
    variables = {k: v for k, v in os.environ.items() if not k.startswith("COMPILE_IN_")}
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "docs", "out"],
        env={**variables, "PYTHONPATH": str(ROOT / "src")},
        cwd=site.root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "docs/page.md:7: AssertionError" in done.stdout + done.stderr


STOPPED = """

def setup(app):
    import os
    import signal
    from pathlib import Path

    def stop(*_):
        if Path(app.confdir, "stop.txt").exists():
            os.kill(os.getpid(), signal.SIGKILL)

    app.connect("html-page-context", stop)
"""


def test_a_warning_comes_again_after_a_build_that_was_killed(site: Site) -> None:
    site.page("page", [(0, "# A page"), (6, "{nobody}`this`")])
    conf = site.root / "docs/conf.py"
    site.write("docs/conf.py", conf.read_text(encoding="utf-8") + STOPPED)
    site.write("docs/stop.txt", "")
    assert site.build().returncode < 0
    (site.root / "docs/stop.txt").unlink()
    done = site.build()
    assert done.returncode != 0
    assert "docs/page.md:7: WARNING" in done.stderr
