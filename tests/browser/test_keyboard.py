"""The site by keyboard: what can be reached, in which order, and that it shows."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

GUIDE = "module/graph-breaks.html"
MARKER = 'class="cip-marker"'
# What has the focus: where it is, and whether it, or the label of a hidden box, shows it.
FOCUSED = """() => {
    const one = document.activeElement;
    if (one === document.body) return null;
    const shown = one.type === "checkbox" ? document.querySelector(`label[for="${one.id}"]`) : one;
    const style = getComputedStyle(shown);
    const box = shown.getBoundingClientRect();
    return {
        what: `${one.tagName}.${one.className}#${one.id} ${one.textContent.trim().slice(0, 30)}`,
        isMarked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
        isThere: (shown !== one || style.opacity > 0)
            && box.width > 0 && box.right > 0 && box.left < innerWidth,
        isWithin: Boolean(one.closest("article")),
    };
}"""


def tabbed(page: Page, most: int = 400) -> list[dict[str, object]]:
    """Each stop of the tab key, from the top to the end of the page."""
    stops = []
    for _ in range(most):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop is None:
            return stops
        stops.append(stop)
    pytest.fail(f"more than {most} stops, the last at {stops[-1]}")


def test_the_first_stop_leads_to_the_content(desk: Page) -> None:
    desk.goto(GUIDE)
    desk.keyboard.press("Tab")
    skip = desk.locator(".skip-to-content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    desk.keyboard.press("Enter")
    assert desk.url.endswith("#furo-main-content")
    desk.keyboard.press("Tab")
    assert desk.evaluate(FOCUSED)["isWithin"]


@pytest.mark.parametrize("name", ["index.html", "module/is-it-worth-it.html"])
def test_every_stop_is_on_the_screen_and_shows_that_it_has_the_focus(desk: Page, name: str) -> None:
    desk.goto(name)
    stops = tabbed(desk)
    assert len(stops) > 30
    assert [stop["what"] for stop in stops if not (stop["isMarked"] and stop["isThere"])] == []


def test_on_a_phone_a_closed_drawer_holds_no_stop(phone: Page) -> None:
    phone.goto("module/is-it-worth-it.html")
    stops = tabbed(phone)
    assert [stop["what"] for stop in stops if not (stop["isMarked"] and stop["isThere"])] == []


def test_no_page_sets_an_order_of_its_own(desk: Page) -> None:
    for name in ("index.html", GUIDE, "search.html", "reference/symptoms.html"):
        desk.goto(name)
        assert desk.evaluate("[...document.querySelectorAll('*')].every(e => e.tabIndex <= 0)")


def test_a_drawer_opens_by_keyboard_and_escape_closes_it(phone: Page) -> None:
    phone.goto(GUIDE)
    for name, within in (("site navigation", "input[name=q]"), ("table of contents", "li li a")):
        button = phone.get_by_role("button", name=f"Toggle {name} sidebar").filter(visible=True)
        drawer = ".sidebar-drawer" if "input" in within else ".toc-drawer"
        inside = phone.locator(f"{drawer} {within}").first
        expect(inside).to_be_hidden()
        button.focus()
        phone.keyboard.press("Enter")
        expect(button).to_have_attribute("aria-expanded", "true")
        expect(inside).to_be_in_viewport()
        phone.keyboard.press("Escape")
        expect(inside).to_be_hidden()
        expect(button).to_be_focused()


def test_a_drawer_opens_by_touch_and_closes_beside_it(phone: Page) -> None:
    phone.goto(GUIDE)
    field = phone.locator(".sidebar-drawer input[name=q]")
    phone.locator(".nav-overlay-icon").tap()
    expect(field).to_be_in_viewport()
    phone.touchscreen.tap(380, 400)
    expect(field).to_be_hidden()


def test_a_part_of_the_tree_opens_by_keyboard(desk: Page) -> None:
    desk.goto("index.html")
    box = desk.locator(".sidebar-tree .toctree-checkbox").first
    leaf = desk.locator(".sidebar-tree .has-children li a").first
    expect(leaf).to_be_hidden()
    box.focus()
    desk.keyboard.press("Space")
    expect(leaf).to_be_visible()


def test_what_is_closed_opens_by_keyboard_and_touch(desk: Page, phone: Page) -> None:
    desk.goto(GUIDE)
    first = desk.locator("article details").first
    first.locator("summary").focus()
    desk.keyboard.press("Enter")
    expect(first).to_have_attribute("open", "")
    desk.keyboard.press("Enter")
    expect(first).not_to_have_attribute("open", "")
    phone.goto(GUIDE)
    phone.locator("article details summary").first.tap()
    expect(phone.locator("article details").first).to_have_attribute("open", "")


def test_a_term_is_defined_on_focus_until_escape(desk: Page) -> None:
    desk.goto(GUIDE)
    term = desk.locator(".cip-term").first
    tip = term.locator(".cip-definition")
    expect(tip).to_be_hidden()
    desk.keyboard.press("Tab")  # a focus shows once keys are used
    term.locator("a").first.focus()
    expect(tip).to_be_visible()
    desk.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_what_scrolls_on_its_own_scrolls_by_keyboard(phone: Page) -> None:
    phone.goto(GUIDE)
    fence = phone.locator("article pre[tabindex='0']").first
    fence.focus()
    phone.keyboard.press("ArrowRight")
    phone.wait_for_function("document.activeElement.scrollLeft > 0")


def test_nothing_moves_for_a_reader_who_asked_for_that(desk: Page) -> None:
    moving = """() => [getComputedStyle(document.documentElement).scrollBehavior,
        getComputedStyle(document.querySelector(".sidebar-drawer")).transitionProperty]"""
    desk.emulate_media(reduced_motion="no-preference")
    desk.goto(GUIDE)
    assert desk.evaluate(moving) == ["smooth", "left"]
    desk.emulate_media(reduced_motion="reduce")
    assert desk.evaluate(moving) == ["auto", "none"]


def test_what_is_elsewhere_opens_beside_its_value(html: Path, desk: Page, phone: Page) -> None:
    marked = [path for path in html.rglob("module/*.html") if MARKER in path.read_text("utf-8")]
    name = min(marked).relative_to(html).as_posix()
    for page, act in ((desk, "press"), (phone, "tap")):
        page.goto(name)
        button = page.locator("button.cip-marker").filter(visible=True).first
        told = page.locator(f"#{button.get_attribute('popovertarget')}")
        expect(told).to_be_hidden()
        button.press("Enter") if act == "press" else button.tap()
        expect(told).to_be_in_viewport()
        expect(told).to_contain_text("shown here")
        page.keyboard.press("Escape")
        expect(told).to_be_hidden()
