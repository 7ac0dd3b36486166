"""The one closed control under a fence."""

import html
import re
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_output

from tests.sphinxext.conftest import Site, code, make_site

SPOT = {"fence": "", "line": 8, "code": "if y.sum() > 0:"}
XRAY = {
    "n_graphs": 1,
    "n_breaks": 1,
    "n_recompiles": 1,
    "n_left_out": 3,
    "compiles": [
        {
            "id": "0/1",
            "function": "branchy",
            "spot": SPOT,
            "graph": "def forward(self, L_x_):\n    return (a < b,)",
            "n_cut": 5,
            "breaks": [
                {
                    "spot": {**SPOT, "fence": "earlier"},
                    "inside": "",
                    "reason": "Data-dependent branching",
                    "explanation": "Detected `if x > 0`.",
                    "identifier": "GB0170",
                }
            ],
            "guards": ["L['x'] == 2", "of the process: ___check_global_state()"],
            "n_guards": 5,
            "recompiles": ["0/0: size mismatch"],
            "failure": "",
        }
    ],
}
VALUES = {
    "n_graphs": {"2.8.0": 1, "2.9.1": 1, "2.15.0": 2},
    "n_same": {"2.8.0": 3, "2.9.1": 3, "2.15.0": 3},
}
LOG = "".join(f"unheard {number}\n" for number in range(9)) + "the named line\n"


def logging_cell(source: str, **told: Any) -> Any:
    cell = code(source, **told)
    cell.outputs.append(new_output("stream", name="stderr", text=LOG))
    return cell


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = make_site(tmp_path_factory.mktemp("below"))
    named = {"log": LOG, "named": ["the named line"]}
    site.page("page", [
        (0, "# A page\n\nProse, then [another page](other.md)."),
        (5, code("x = 1", "printed\n", below={"xray": XRAY, "values": VALUES})),
        (6, logging_cell("y = 2", below=named)),
        (7, code("z = 3")),
        (8, logging_cell("w = 4", below={"log": LOG, "named": []})),
    ])  # fmt: skip
    done = site.build()
    assert (done.returncode, done.stderr) == (0, "")
    return site


@pytest.fixture(scope="module")
def cells(built: Site) -> list[str]:
    """The HTML of each cell of the page."""
    return re.split(r'<div class="cell ', built.html("page"))[1:]


def text(part: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", part))


def test_a_fence_has_one_control_and_it_is_closed(cells: list[str]) -> None:
    assert [cell.count("<details") for cell in cells] == [1, 1, 0, 1]
    assert "<details open" not in "".join(cells)
    (summary,) = re.findall(r"<summary>(.*?)</summary>", cells[0])
    assert summary == "X-ray: 1 graph, 1 graph break, 1 recompile; values by release"


def test_the_x_ray_shows_graph_break_guards_and_recompile(cells: list[str]) -> None:
    told = text(cells[0])
    assert "branchy [0/1] at line 8, if y.sum() > 0:" in told
    assert "def forward(self, L_x_):\n    return (a < b,)\n# 5 more lines" in told
    assert "Graph break at line 8 of earlier, if y.sum() > 0:. Data-dependent" in told
    assert "branching (GB0170): Detected if x > 0." in told
    assert "<code>if x &gt; 0</code>" in cells[0]
    assert "5 guards:L['x'] == 2\nof the process: ___check_global_state()" in told
    assert "Recompiled, a guard failed: 0/0: size mismatch" in told
    assert "3 more compiles, not shown" in told


def test_values_name_the_releases_that_agree(cells: list[str]) -> None:
    assert "1 on 2.8.0, 2.9.1; 2 on 2.15.0" in text(cells[0])
    assert "3 on all 3 releases" in text(cells[0])


def test_what_scrolls_is_reached_by_keyboard_and_has_a_name(cells: list[str]) -> None:
    boxes = re.findall(
        r"<pre ([^>]*)>", "".join(re.findall(r"<details.*?</details>", "".join(cells), re.DOTALL))
    )
    assert len(boxes) == 4
    assert all('tabindex="0"' in box and 'role="group"' in box for box in boxes)
    assert all(re.search(r'aria-label="\w[^"]+"', box) for box in boxes)


def test_of_a_long_log_the_named_lines_stay_on_the_page(cells: list[str]) -> None:
    before, control = cells[1].split("<details", 1)
    assert "the named line" in before
    assert "unheard" not in before
    assert text(control).count("unheard") == 9
    assert "log: 10 lines" in control
    before, control = cells[3].split("<details", 1)
    assert "the named line" not in before
    assert "the named line" in control


def test_the_search_finds_no_word_of_the_control(built: Site) -> None:
    index = (built.root / "out" / "searchindex.js").read_text(encoding="utf-8")
    assert "unheard" not in index
    assert "prose" in index


def test_what_is_taken_along_has_no_control(built: Site) -> None:
    path = built.root / "out" / "page.ipynb"
    taken = nbformat.read(path, as_version=4)
    assert "below" not in path.read_text(encoding="utf-8")
    errors = [o.text for cell in taken.cells for o in cell.get("outputs", []) if o.name == "stderr"]
    assert errors == [LOG, LOG]
    assert "unheard" not in path.with_suffix(".py").read_text(encoding="utf-8")
