"""Every page of the built site, in both themes and at each width."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ROOT
from tests.browser.serve import serving
from tests.browser.visit import HEIGHT, WATCH_SHIFTS, Visit, load

Visits = dict[str, Visit]
WITH_BAR = (390, 1000)  # where the bar is shown


def wrong(visits: Visits, what: str) -> dict[str, object]:
    """What is wrong, by page."""
    return {page: told for page, visit in visits.items() if (told := getattr(visit, what))}


def test_every_built_page_was_visited(html: Path, visits: Visits) -> None:
    summary = json.loads((html.parent / "summary.json").read_text(encoding="utf-8"))
    scripts = [path.relative_to(ROOT / "gallery") for path in ROOT.glob("gallery/[lg]*/[a-z]*.py")]
    expected = {f"{name}.html" for name in summary["pages"]}
    expected |= {path.with_suffix(".html").as_posix() for path in scripts}
    expected |= {"404.html", "genindex.html", "gpu/index.html", "lab/index.html", "search.html"}
    assert expected - visits.keys() == set()
    assert len(visits) == len(list(html.rglob("*.html"))) - n_of_others(html)
    assert {visit.status for visit in visits.values()} == {200}
    print(f"{len(visits)} pages in a browser")


def n_of_others(html: Path) -> int:
    """How many HTML files the theme brings, and tlparse, whose markup is its own."""
    return sum(len(list((html / name).rglob("*.html"))) for name in ("_static", "tlparse"))


def test_no_page_logs_an_error(visits: Visits) -> None:
    assert wrong(visits, "errors") == {}


def test_no_request_leaves_the_site(visits: Visits) -> None:
    assert wrong(visits, "outside") == {}


def test_nothing_moves_while_a_page_loads(visits: Visits) -> None:
    assert wrong(visits, "shifts") == {}


@pytest.mark.parametrize("page", ["index", "module/graph-breaks", "search"])
def test_what_of_a_bar_has_arrived_stays_in_its_place(
    html: Path, browser: Browser, page: str
) -> None:
    n_parts = []

    def parts(text: str) -> list[str]:
        before, bar, after = re.split("(?s)(<header.*?</header>)", text, maxsplit=1)
        cut = [before, *re.split("\n", bar), after]
        n_parts.append(len(cut))
        return cut

    told = {}
    with serving(html, parts) as base:
        for width in WITH_BAR:
            one = browser.new_page(viewport={"width": width, "height": HEIGHT})
            one.add_init_script(WATCH_SHIFTS)
            told[width] = load(one, f"{base}{page}.html")
            one.close()
    assert told == {width: (200, []) for width in WITH_BAR}
    assert min(n_parts) > 20


def test_no_page_scrolls_sideways(visits: Visits) -> None:
    assert wrong(visits, "wide") == {}


def test_axe_finds_nothing_in_either_theme(visits: Visits) -> None:
    assert wrong(visits, "barriers") == {}


def test_each_figure_says_in_words_what_it_shows(visits: Visits) -> None:
    assert wrong(visits, "weak") == {}


def test_each_page_has_its_language_and_one_main_landmark(visits: Visits) -> None:
    assert {(visit.language, visit.n_main) for visit in visits.values()} == {("en", 1)}


def test_the_report_of_tlparse_opens_within_the_site(html: Path, desk: Page) -> None:
    desk.goto("module/graph-breaks-evidence.html")
    if not (html / "tlparse").is_dir():
        expect(desk.locator("article")).to_contain_text("This build has no report by tlparse")
        return
    desk.get_by_role("link", name="the report that tlparse").click()
    expect(desk).to_have_url(re.compile("/tlparse/index[.]html$"))
    expect(desk.locator("body")).to_contain_text("Stack")
