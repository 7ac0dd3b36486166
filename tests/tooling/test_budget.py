"""What a built page may ask of a reader's connection."""

import random
from pathlib import Path

import pytest

from compile_in_practice import budget

PAGE = """<!doctype html><html><head>{head}</head>
<body><article id="furo-main-content">{body}</article>{scripts}</body></html>"""


@pytest.fixture
def html(tmp_path: Path) -> Path:
    (tmp_path / "_static").mkdir()
    (tmp_path / "module").mkdir()
    write(tmp_path, "_static/site.css", "p { margin: 0 }")
    write(tmp_path, "_static/site.js", "1;")
    return tmp_path


def write(html: Path, name: str, text: str) -> None:
    (html / name).write_text(text, encoding="utf-8")


def page(html: Path, head: str = "", body: str = "Text.", scripts: str = "") -> list[str]:
    write(html, "module/page.html", PAGE.format(head=head, body=body, scripts=scripts))
    return [str(failure) for failure in budget.check(html)]


def noise(size: int) -> str:
    """Text that no compression makes smaller than `size`."""
    return random.Random(0).randbytes(size).hex()


def style(name: str) -> str:
    return f'<link rel="stylesheet" href="../_static/{name}?v=1">'


def test_a_small_page_is_within_the_budget(html: Path) -> None:
    script = '<script src="../_static/site.js"></script>'
    assert page(html, head=style("site.css"), scripts=script) == []
    weights = budget.weigh(html, html / "module/page.html")
    assert list(weights) == ["module/page.html", "_static/site.css", "_static/site.js"]


def test_a_heavy_page_fails_with_its_size_and_its_largest_parts(html: Path) -> None:
    write(html, "_static/heavy.js", noise(190_000))
    (found,) = page(html, body=noise(20_000), scripts='<script src="../_static/heavy.js"></script>')
    assert found.startswith("module/page.html: a reader transfers ")
    assert "of at most 200.0 kB" in found
    assert found.index("_static/heavy.js") < found.index("kB  module/page.html")


def test_a_script_that_is_loaded_on_use_is_not_counted(html: Path) -> None:
    write(html, "_static/heavy.js", noise(250_000))
    assert page(html) == []


def test_figures_are_not_counted(html: Path) -> None:
    write(html, "module/figure.svg", noise(250_000))
    assert page(html, body='<img src="figure.svg" width="4" height="3">') == []


@pytest.mark.parametrize(
    ("tag", "n_found"),
    [
        ('<link rel="stylesheet" href="../_static/heavy">', 1),
        ('<script src="../_static/heavy"></script>', 1),
        ('<script defer src="../_static/heavy"></script>', 0),
    ],
)
def test_the_first_paint_waits_for_little(html: Path, tag: str, n_found: int) -> None:
    write(html, "_static/heavy", noise(30_000))
    found = page(html, head=tag)
    assert [one for one in found if "the first paint waits for" in one] == found
    assert len(found) == n_found


@pytest.mark.parametrize("rule", ["@import 'a.css';", "p { background: url(../a.png) }"])
def test_a_stylesheet_asks_for_nothing_more(html: Path, rule: str) -> None:
    write(html, "_static/site.css", rule)
    (found,) = page(html, head=style("site.css"))
    assert "asks for more before the first paint" in found


def test_a_stylesheet_may_embed_a_drawing(html: Path) -> None:
    write(html, "_static/site.css", "p { mask: url('data:image/svg+xml,<svg/>') }")
    assert page(html, head=style("site.css")) == []


def test_a_picture_has_its_place_before_it_arrives(html: Path) -> None:
    (found,) = page(html, body='<img src="figure.svg" width="4">')
    assert "figure.svg arrives: it has no width and height" in found


@pytest.mark.parametrize(
    "tag",
    [
        '<link rel="stylesheet" href="https://fonts.example/a.css">',
        '<script defer src="//cdn.example/a.js"></script>',
        '<img src="https://example.org/a.png" width="1" height="1">',
    ],
)
def test_no_request_leaves_the_site(html: Path, tag: str) -> None:
    (found,) = page(html, head=tag)
    assert "a request leaves the site" in found


def test_a_file_that_is_missing_is_told(html: Path) -> None:
    (found,) = page(html, head=style("gone.css"))
    assert "not there: ../_static/gone.css" in found


def test_the_search_index_waits_until_it_is_used(html: Path) -> None:
    write(html, "searchindex.js", "1;")
    tag = '<script src="{}searchindex.js"></script>'
    write(html, "search.html", PAGE.format(head="", body="", scripts=tag.format("")))
    (found,) = page(html, scripts=tag.format("../"))
    assert found == "module/page.html: the search index is loaded before it is used"


def test_a_reports_own_page_is_not_one_of_the_site(html: Path) -> None:
    write(html, "module/report.html", '<script src="https://example.org/a.js"></script>')
    assert page(html) == []
