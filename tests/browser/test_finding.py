"""Search: a pasted error leads to its symptom from every page, online and in a folder."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from zipfile import ZipFile

import pytest
from playwright.sync_api import Browser, Page, expect

from compile_in_practice import symptoms
from tests.browser.conftest import ROOT, opened

PAGE = "module/training.html"  # any page: it has no matcher of its own
REPORTS = symptoms.reports(ROOT)
ANSWERS = symptoms.ranked(ROOT / "docs", [report["text"] for report in REPORTS])
FOUND = [  # which ones, and that they are nine of ten, is for tests/symptoms to say
    report
    for report, ids in zip(REPORTS, ANSWERS, strict=True)
    if report["entry"] in ids[: symptoms.AMONG]
]
LAST = {  # docs/_static/search.js has the same pages
    *(f"how-to/add-a-{one}" for one in ("page", "release", "lab-or-a-gpu-experiment")),
    *(f"reference/{one}" for one in ("api", "behaviour-by-release", "changelog", "claims")),
    *(f"reference/{one}" for one in ("drift-report", "production-forms", "readings")),
    *(f"reference/{one}" for one in ("record-schema", "what-changed", "symptoms/this-site")),
}
TEN = list({report["entry"]: report for report in FOUND}.values())[:10]


def paste(page: Page, text: str) -> None:
    """Put a text into the page's search field as a reader does."""
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.locator(".sidebar-search").focus()
    page.keyboard.press("Control+V")


def test_there_are_ten_reports_of_different_symptoms() -> None:
    assert len({report["entry"] for report in TEN}) == 10
    assert any("\n" in report["text"].strip() for report in TEN)


@pytest.mark.parametrize("report", TEN, ids=lambda report: report["file"])
def test_a_pasted_error_leads_to_its_symptom(desk: Page, report: dict[str, str]) -> None:
    desk.goto(PAGE)
    paste(desk, report["text"])
    wanted = f'a[href$="#{report["entry"]}"]'
    expect(desk.locator(f".cip-found {wanted}")).to_be_visible()
    desk.keyboard.press("Enter")
    expect(desk).to_have_url(re.compile(r"/search\.html#q="))
    hit = desk.locator(f".cip-matches {wanted}")
    expect(hit).to_be_visible()
    hit.press("Enter")
    expect(desk.locator(f"#{report['entry']}").first).to_be_in_viewport()


def test_search_finds_a_name_of_the_api(desk: Page) -> None:
    desk.goto(PAGE)
    field = desk.locator(".sidebar-search")
    field.fill("mark_dynamic")
    field.press("Enter")
    expect(desk.locator("#search-results a").first).to_be_visible()


def hits(page: Page, text: str) -> list[str]:
    """The pages that a search lists, in order."""
    page.goto("about:blank")
    page.goto(f"search.html?q={quote(text)}")
    expect(page.locator(".search-summary")).to_contain_text(re.compile("found|No page"))
    found = page.locator("#search-results li > a").evaluate_all(
        "all => all.map(one => one.getAttribute('href'))"
    )
    return [one.partition(".html")[0] for one in found]


@pytest.mark.parametrize(
    "text", ["upgrade", "migrating", "release notes", "breaking changes", "upgrade PyTorch"]
)
def test_who_upgrades_finds_what_releases_change_first(desk: Page, text: str) -> None:
    found = hits(desk, text)
    assert {*found[:2]} == {"reference/behaviour-by-release", "reference/what-changed"}


def test_what_repeats_other_pages_comes_after_them(desk: Page) -> None:
    docs = ROOT / "docs"
    evidence = [path.relative_to(docs).with_suffix("") for path in docs.rglob("*-evidence.md")]
    last = {path.as_posix() for path in evidence} | LAST
    assert [name for name in last if not (docs / f"{name}.md").is_file()] == []
    found = hits(desk, "torch")
    is_last = [name in last for name in found]
    assert is_last == sorted(is_last)
    assert sum(is_last) > 10


@pytest.mark.parametrize(
    ("text", "page", "place"),
    [
        ("graph break", "module/graph-breaks", 2),  # the first is the glossary's term
        ("NaN", "module/wrong-results", 1),
        ("changelog", "reference/changelog", 1),
    ],
)
def test_a_page_on_what_was_searched_is_first(desk: Page, text: str, page: str, place: int) -> None:
    assert page in hits(desk, text)[:place]


def test_of_a_long_search_no_word_is_marked(desk: Page) -> None:
    for text, is_marked in (("graph break", True), ("torch compile graph break model", False)):
        assert hits(desk, text)
        desk.locator("#search-results li > a").first.click()
        expect(desk.locator("article h1")).to_be_visible()
        desk.wait_for_timeout(50)  # Sphinx marks after 10 ms
        assert bool(desk.locator(".highlighted").count()) == is_marked


def test_a_search_that_no_page_answers_says_what_to_do(desk: Page) -> None:
    assert hits(desk, "qwertyuiop zxcvbnm") == []
    expect(desk.locator(".search-summary")).to_contain_text("Take fewer")


def test_the_symptoms_page_ranks_a_pasted_text(phone: Page) -> None:
    phone.goto("reference/symptoms.html")
    phone.locator("#symptom-text").fill(TEN[0]["text"])
    expect(phone.locator(f'#symptom-results a[href$="#{TEN[0]["entry"]}"]')).to_be_visible()


def test_a_word_offers_titles_and_the_search_of_all_pages(phone: Page) -> None:
    phone.goto("index.html")
    field, found = phone.locator(".cip-ask input"), phone.locator("article .cip-found")
    field.fill("mark_dynamic")
    expect(found.locator('a[href$="dynamic-shapes.html#mark-dynamic"]')).to_be_visible()
    expect(found.locator('a[href$="glossary.html#term-mark-dynamic"]')).to_be_visible()
    field.fill("zygote")
    expect(found.locator("ol")).to_have_count(0)
    found.get_by_role("link", name="Search all pages for “zygote”").click()
    expect(phone).to_have_url(re.compile(r"/search\.html#q=zygote"))


def test_what_is_found_is_as_high_as_a_finger_needs(phone: Page) -> None:
    phone.goto(PAGE)
    phone.locator(".mobile-header .nav-overlay-icon button").click()
    phone.locator(".sidebar-search").fill("mark_dynamic")
    links = phone.locator(".sidebar-drawer .cip-found a")
    expect(links.first).to_be_visible()
    heights = [box["height"] for one in links.all() if (box := one.bounding_box())]
    assert len(heights) > 2
    assert min(heights) >= 32


@pytest.fixture(scope="session")
def folder(html: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the site's .zip, unpacked."""
    (archive,) = html.glob("*.zip")
    target = tmp_path_factory.mktemp("folder")
    with ZipFile(archive) as packed:
        packed.extractall(target)
    return (target / archive.stem).as_uri() + "/"


@pytest.fixture
def offline(browser: Browser, folder: str) -> Iterator[Page]:
    yield from opened(browser, folder, {"width": 1440, "height": 900})


def test_the_zip_is_read_and_searched_from_a_folder(offline: Page, folder: str) -> None:
    offline.goto(folder + "index.html")
    offline.locator(".sidebar-tree a", has_text="The module").first.click()
    expect(offline.locator("h1")).to_be_visible()
    field = offline.locator(".sidebar-search")
    field.fill(TEN[0]["text"].strip().splitlines()[-1])
    expect(offline.locator(".cip-found a").first).to_be_visible()
    field.fill("mark_dynamic")
    field.press("Enter")
    hit = offline.locator("#search-results a").first
    expect(hit).to_be_visible()
    hit.click()
    expect(offline.locator("article h1")).to_be_visible()
    assert offline.url.startswith(folder)
