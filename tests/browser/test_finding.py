"""Search: a pasted error leads to its symptom from every page, online and in a folder."""

import re
from collections.abc import Iterator
from pathlib import Path
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


def test_the_symptoms_page_ranks_a_pasted_text(phone: Page) -> None:
    phone.goto("reference/symptoms.html")
    phone.locator("#symptom-text").fill(TEN[0]["text"])
    expect(phone.locator(f'#symptom-results a[href$="#{TEN[0]["entry"]}"]')).to_be_visible()


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
