"""The theme, and the release where a site is published."""

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.serve import serving
from tests.sphinxext.conftest import make_site

GUIDE = "module/graph-breaks.html"
GROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.mark.parametrize(("width", "toggle"), [(1440, "content"), (390, "header")])
def test_the_theme_changes_by_keyboard_and_stays(desk: Page, width: int, toggle: str) -> None:
    desk.set_viewport_size({"width": width, "height": 900})
    desk.goto(GUIDE)
    body = desk.locator("body")
    expect(body).to_have_attribute("data-theme", "auto")
    button = desk.locator(f".theme-toggle-{toggle} button")
    seen = {}
    for _ in range(3):
        button.focus()
        desk.keyboard.press("Enter")
        seen[body.get_attribute("data-theme")] = desk.evaluate(GROUND)
    assert set(seen) == {"light", "dark", "auto"}
    assert seen["light"] == seen["auto"] != seen["dark"]
    while body.get_attribute("data-theme") != "dark":
        button.press("Enter")
    desk.goto("index.html")
    expect(body).to_have_attribute("data-theme", "dark")
    assert desk.evaluate(GROUND) == seen["dark"]


def test_without_a_choice_the_theme_is_the_systems(desk: Page) -> None:
    desk.goto(GUIDE)
    light = desk.evaluate(GROUND)
    desk.emulate_media(color_scheme="dark")
    assert desk.evaluate(GROUND) != light


def test_the_release_changes_and_the_page_stays(browser: Browser, tmp_path: Path) -> None:
    site = make_site(tmp_path / "project")
    for release in ("2.8.0", "2.15.0"):
        site.torch = release
        site.summary()
        done = site.build("-E", COMPILE_IN_PRACTICE_URL="https://example.org/practice")
        assert (done.returncode, done.stderr) == (0, "")
        shutil.copytree(site.root / "out", tmp_path / "published" / release)
    with serving(tmp_path / "published") as base:
        page = browser.new_context(base_url=base).new_page()
        page.goto("2.15.0/page.html")
        page.locator(".cip-releases summary").focus()
        page.keyboard.press("Enter")
        page.locator(".cip-releases a", has_text="2.8.0").press("Enter")
        expect(page).to_have_url(re.compile(r"/2\.8\.0/page\.html$"))
        notice = page.get_by_role("note")
        expect(notice).to_contain_text("built with PyTorch 2.8.0")
        notice.get_by_role("link").click()
        expect(page).to_have_url(re.compile(r"/2\.15\.0/page\.html$"))
        page.context.close()
