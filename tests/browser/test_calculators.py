"""Calculators and filters, by keyboard and by touch."""

import os

import pytest
from playwright.sync_api import Page, expect

from compile_in_practice.ledger import read_ledgers
from tests.browser.conftest import ROOT

LEDGERS = read_ledgers(ROOT / "docs/ledger")
WORTH = "module/is-it-worth-it.html"
FIELDS = ("compile_s", "eager_ms", "compiled_ms")


def test_break_even_is_reckoned_by_keyboard(desk: Page) -> None:
    desk.goto(WORTH)
    form = desk.get_by_role("form", name="Break-even calculator")
    told = form.locator("output")
    first = told.text_content()
    assert first
    choice = form.get_by_label("Start from")
    choice.focus()
    desk.keyboard.press("ArrowDown")
    expect(told).not_to_have_text(first)
    for figure in ("60", "30", "20"):
        desk.keyboard.press("Tab")
        desk.keyboard.press("Control+A")
        desk.keyboard.type(figure)
    expect(told).to_have_text("Paid back after 6000 steps, 2.0 minutes of compiled steps.")
    desk.keyboard.press("Control+A")
    desk.keyboard.type("30")
    expect(told).to_contain_text("Never paid back")
    desk.keyboard.press("Enter")
    assert desk.url.endswith(WORTH)


def test_break_even_is_reckoned_by_touch(phone: Page) -> None:
    phone.goto(WORTH)
    form = phone.get_by_role("form", name="Break-even calculator")
    for name, figure in zip(FIELDS, ("1", "3", "0"), strict=True):
        field = form.locator(f"[name={name}]")
        field.tap()
        field.fill(figure)
    expect(form.locator("output")).to_contain_text("Paid back after 334 steps")
    form.get_by_label("Start from").select_option(index=1)
    expect(form.locator("output")).not_to_contain_text("334 steps")
    box = form.bounding_box()
    assert box
    assert box["x"] + box["width"] <= 390


def test_a_filter_keeps_the_rows_with_its_words(desk: Page) -> None:
    desk.goto("reference/behaviour-by-release.html")
    box = desk.locator(".cip-filter").first
    rows = box.locator("tbody tr")
    n_rows = rows.count()
    desk.keyboard.press("Tab")
    field = box.get_by_role("searchbox", name="Filter")
    field.focus()
    desk.keyboard.type("recompile")
    kept = rows.locator("visible=true").count()
    assert 0 < kept < n_rows
    expect(box.locator("output")).to_have_text(f"{kept} of {n_rows} rows")


@pytest.mark.parametrize("release", LEDGERS)
def test_a_release_keeps_the_rows_where_it_differs_from_the_build(desk: Page, release: str) -> None:
    built, other = LEDGERS[os.environ["TORCH_RELEASE"]], LEDGERS[release]
    differ = [
        value if name.startswith("lab.") else f"{name.partition('.')[2]}.{value}"
        for name, entry in built.items()
        for value, here in entry["values"].items()
        if other[name]["values"][value] != here
    ]
    desk.goto("reference/behaviour-by-release.html")
    box = desk.locator(".cip-filter").first
    box.locator("input").fill(release)
    kept = box.locator("tbody tr").locator("visible=true")
    names = kept.locator("td:first-child > p > code").all_text_contents()
    assert sorted(names) == sorted(differ)
