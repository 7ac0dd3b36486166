"""What a phone needs: nothing hidden, nothing cut without a hint, and a page for lost addresses."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

FENCES = "module/graph-breaks.html"
LEDGERS = ["claims", "behaviour-by-release", "what-changed"]


def test_the_copy_button_is_seen_and_met_by_a_finger(phone: Page) -> None:
    phone.goto(FENCES)
    button = phone.locator("button.copybtn").first
    expect(button).to_have_css("opacity", "1")
    box = button.bounding_box()
    assert box
    assert min(box["width"], box["height"]) >= 40
    button.tap()
    assert "import torch" in phone.evaluate("navigator.clipboard.readText()")


def test_with_a_pointer_the_copy_button_waits_for_it(desk: Page) -> None:
    desk.goto(FENCES)
    expect(desk.locator("button.copybtn").first).to_have_css("opacity", "0")


@pytest.mark.parametrize("name", ["div.cell_input pre", ".cell_output pre", ".cip-below pre"])
def test_a_cut_edge_of_code_is_shaded(phone: Page, name: str) -> None:
    phone.goto(FENCES)
    code = phone.locator(f"article {name}").first
    assert code.evaluate("one => getComputedStyle(one).backgroundImage").count("gradient") == 4


def test_the_hidden_mark_of_a_heading_takes_no_line(phone: Page) -> None:
    phone.goto("reference/symptoms/recompile-limit-messages.html")
    expect(phone.locator("#symptom-recompile-limit .headerlink")).to_have_css("display", "none")


@pytest.mark.parametrize("name", LEDGERS)
def test_a_row_of_a_ledger_is_a_card_that_names_its_columns(phone: Page, name: str) -> None:
    phone.goto(f"reference/{name}.html")
    row = phone.locator(".cip-ledger tbody tr").first
    cells = row.locator("td:visible").evaluate_all(
        "all => all.map(one => [one.getBoundingClientRect(), one.dataset.column])"
    )
    empty = phone.locator(".cip-ledger td:visible").filter(has_not_text=re.compile(r"\S"))
    expect(empty).to_have_count(0)
    assert len(cells) > 2
    assert all(column for _, column in cells)
    assert all(box["right"] <= 390 for box, _ in cells)
    assert [box["top"] for box, _ in cells] == sorted({box["top"] for box, _ in cells})
    if phone.locator(".cip-filter").count():  # its field hides cards as it hides rows
        phone.locator(".cip-filter input").fill("no row has these words")
        expect(phone.locator(".cip-ledger tbody tr").locator("visible=true")).to_have_count(0)


def test_the_mark_of_a_value_stays_on_its_line(phone: Page) -> None:
    phone.goto("reference/what-appeared-when.html")
    gaps = phone.locator("button.cip-marker:visible").evaluate_all(
        """all => all.map((one) => {
          const value = document.createRange();
          value.selectNode(one.previousSibling.previousSibling);
          return one.getBoundingClientRect().left - [...value.getClientRects()].at(-1).right;
        })"""
    )
    assert len(gaps) > 10
    assert [gap for gap in gaps if not 0 <= gap < 10] == []


def test_a_lost_address_below_the_root_has_its_styles_and_leads_on(
    browser: Browser, address: str
) -> None:
    page = browser.new_context(base_url=address).new_page()
    missing: list[str] = []
    page.on("response", lambda one: one.status == 404 and missing.append(one.url))
    page.goto("reference/symptoms/nothing-here.html")
    expect(page.locator("h1")).to_have_text("No such page")
    assert missing == [f"{address}reference/symptoms/nothing-here.html"]
    page.get_by_role("main").get_by_role("link", name="Symptoms").click()
    expect(page).to_have_url(re.compile(r"/reference/symptoms\.html$"))
    page.context.close()
