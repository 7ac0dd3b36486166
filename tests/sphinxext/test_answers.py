"""A page's own questions, and the line that says where the page stands on the path."""

import re
from pathlib import Path

import pytest

from compile_in_practice.answers import unmeasured
from compile_in_practice.page import Fence, Page, Prose
from tests.sphinxext.conftest import Site, code, make_site

ANSWER = ":::{answer}\nThree frames, since one breaks.\n:::"
PATH = "# Index\n\n```{learning-path}\npage:\nother: page\n```\n\n```{toctree}\nlab/index\n```\n"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site with one question and a learning path, built without a warning."""
    site = make_site(tmp_path_factory.mktemp("site"))
    site.page("index", [(0, PATH)], source=PATH)
    site.page("other", [(0, "# Other\n\nA claim.\nYou leave with a fix.")], source="# Other\n")
    site.page("page", [
        (0, "# A page\n\nHow many frames?"),
        (5, code("x = asked\n" * 45)),
        (6, code("assert counted", "it is 3\n", chain="x = asked")),
        (6, "Elsewhere: `n` is 2 on torch 2.8.0."),
        (7, ANSWER + "\n\nText behind it."),
    ])  # fmt: skip
    done = site.build()
    assert (done.returncode, done.stderr) == (0, "")
    return site


def closed(site: Site) -> str:
    found = re.search(r'<details class="cip-answer">.*?</details>', site.html("page"), re.DOTALL)
    assert found is not None  # so it has no attribute that opens it
    return found[0]


def test_an_answer_is_closed_with_the_fence_that_measures_it(asked: Site) -> None:
    for text in ("Three frames", "counted", "it is 3", "on torch 2.8.0"):
        assert text in closed(asked)
        assert asked.html("page").count(text) == 1


def test_what_the_question_asks_about_stays_open(asked: Site) -> None:
    outside = asked.html("page").replace(closed(asked), "")
    assert "How many frames?" in outside
    assert "asked" in re.sub(r"<[^>]+>", "", outside)
    assert "Text behind it." in outside


def test_a_notebook_taken_along_shows_the_answer_as_any_markdown(asked: Site) -> None:
    taken = (asked.root / "out" / "page.ipynb").read_text(encoding="utf-8")
    assert "<summary>Answer</summary>" in taken
    assert "{answer}" not in taken


def test_a_page_says_where_it_stands_and_what_it_needs(asked: Site) -> None:
    line = '<p class="cip-path">Page 1 of 2 · 2 minutes · needs no other page</p>'
    assert line in asked.html("page")
    needs = 'Page 2 of 2 · 1 minute · needs <a class="reference internal" href="page.html">'
    assert needs in asked.html("other")


def test_the_path_lists_each_page_with_what_the_reader_leaves_with(asked: Site) -> None:
    listed = re.search(r"<ol.*?</ol>", asked.html("index"), re.DOTALL)
    assert listed is not None
    assert "You leave with a fix." in listed[0]
    assert "A claim." not in listed[0]
    assert "All of it takes 3 minutes" in asked.html("index")


def test_a_page_that_needs_a_later_one_fails(site: Site) -> None:
    source = PATH.replace("page:\nother: page", "page: other\nother:")
    site.page("index", [(0, source)], source=source)
    done = site.build()
    assert done.returncode != 0
    assert "docs/index.md:4: WARNING: page needs other, which does not come" in done.stderr


@pytest.mark.parametrize(
    ("first", "second", "lines"),
    [
        ("{value}`counted.n` of them", "{value}`records.decode.small.share`", []),
        ("{verdict}`None <counted.n == 0>`", "{value}`1 / records.decode.moved:.1f`", []),
        ("None at all: {value}`other_page.counted.n`", "{value}`records.decode.moved`", [9]),
        ("None at all: {value}`asked.n`", "{value}`records.decode.moved`", [9]),
        ("{value}`counted.n`", "{value}`counted.n`", [15]),
        ("Two", "Three", [9, 15]),
    ],
)
def test_an_answer_shows_a_value_of_its_own_fence_or_of_a_record(
    first: str, second: str, lines: list[int]
) -> None:
    def fence(name: str) -> Fence:
        return Fence(page="page", name=name, line=1, first_line=2, source="n = 1")

    answers = "".join(f"\n:::{{answer}}\n{text}.\n:::\n\nA question?\n" for text in (first, second))
    quoted = "\n````text\n:::{answer}\nAs one writes it.\n:::\n````\n"
    parts = (fence("asked"), fence("counted"), Prose(line=8, text=answers + quoted))
    page = Page(name="page", path=Path("page.md"), metadata={}, parts=parts, lines=())
    found = [failure.where for failure in unmeasured(page, "docs/page.md")]
    assert found == [f"docs/page.md:{line}" for line in lines]
