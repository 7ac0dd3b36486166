"""The button beside a value that is another elsewhere: in the HTML, and nowhere else."""

import json
import re
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell

from compile_in_practice.notebook import runnable
from compile_in_practice.sphinxext.markers import LABEL
from compile_in_practice.sphinxext.takeaway import script
from tests.sphinxext.conftest import Site, make_site

BUTTON = re.compile(
    r'<span class="cip-joiner">&#8288;</span>'
    r'<button type="button" class="cip-marker" popovertarget="([\w-]+)" aria-label="([^"]+)">'
    r'</button><span popover class="cip-others" id="([\w-]+)">(.*?)</span></span>'
)
OTHERS = [["on torch 2.8.0 and 2.9.1", "three`<b>`"], ["under Inductor", "`f(x)`"]]


def prose(text: str, *columns: int) -> Any:
    marks = [{"line": 0, "column": c, "shown": "2", "others": OTHERS} for c in columns]
    return new_markdown_cell(text, metadata={"cip": {"marks": marks}})


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = make_site(tmp_path_factory.mktemp("site"))
    text = "It makes 2 graphs, [and 2 frames](page.md)."
    cells = [(0, "# Other"), (2, prose(text, 10, 25)), (4, prose("| a |\n| - |\n| 2 |"))]
    cells[2][1].metadata["cip"]["marks"] = [
        {"line": 2, "column": 3, "shown": "2", "others": OTHERS}
    ]
    site.page("other", cells, source="# Other\n")
    done = site.build()
    assert (done.returncode, done.stderr) == (0, "")
    return site


def test_each_value_has_a_button_that_opens_its_own_text(marked: Site) -> None:
    found = BUTTON.findall(marked.html("other"))
    assert [label for _, label, _, _ in found] == [LABEL] * 3
    assert [target for target, *_ in found] == [name for _, _, name, _ in found]
    assert len({target for target, *_ in found}) == 3
    assert found[0][3] == (
        "<span><b>2</b> shown here, on torch 2.15.0</span>"
        "<span><b>three`&lt;b&gt;</b> on torch 2.8.0 and 2.9.1</span>"
        "<span><code>f(x)</code> under Inductor"
    )
    assert re.search(r"makes 2<span.*?<button.*?</span></span> graphs", marked.html("other"))


def test_a_button_stands_behind_the_link_of_its_value(marked: Site) -> None:
    links = re.findall(r"<a [^>]*>.*?</a>", marked.html("other"), re.DOTALL)
    assert [link for link in links if "cip-marker" in link] == []
    joined = r"and 2 frames</span></a><span class=\"cip-joiner\">&#8288;</span><button"
    assert re.search(joined, marked.html("other"))


def test_what_is_taken_along_and_what_is_searched_stays_clean(marked: Site) -> None:
    index = (marked.root / "out" / "searchindex.js").read_text(encoding="utf-8")
    assert '"graph"' in index
    assert [word for word in ("three", "shown") if f'"{word}"' in index] == []
    page = marked.results / "pages" / "other.ipynb"
    taken = nbformat.reads(runnable(page), as_version=4)
    assert taken.cells[1].source == "It makes 2 graphs, [and 2 frames](page.md)."
    assert "marks" not in json.dumps(taken)
    assert "cip-marker" not in script(page)
