"""A visit notices what is broken, so that an empty list means something."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.serve import serving
from tests.browser.visit import Visit, visit

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width">
<style>@media (prefers-color-scheme: dark) {{ body {{ background: #000; color: {dark} }} }}</style>
</head><body><main class="content"><h1>A page</h1><article>{body}</article>
</main></body></html>"""

BELOW = '<details class="cip-below"><p>Text</p></details>'
PALE = '<span class="k" style="color: #999">if</span>'
# After the first frame a line comes above all others.
LATER = "requestAnimationFrame(() => setTimeout(() => document.querySelector('h1').before('x')))"


def told(browser: Browser, folder: Path, body: str, dark: str = "#fff") -> Visit:
    (folder / "page.html").write_text(PAGE.format(body=body, dark=dark), encoding="utf-8")
    with serving(folder) as base:
        return visit(browser.new_context(), base, "page.html")


def test_what_a_late_part_moves_is_told(browser: Browser, tmp_path: Path) -> None:
    bar = '<div style="display: flex; justify-content: flex-end"><b>first</b><i>last</i></div>'
    (tmp_path / "page.html").write_text(PAGE.format(body=bar, dark="#fff"), encoding="utf-8")
    with serving(tmp_path, lambda text: [text]) as base:
        assert visit(browser.new_context(), base, "page.html").shifts == []
    with serving(tmp_path, lambda text: re.split("(?=<i>)", text)) as base:
        told = visit(browser.new_context(), base, "page.html").shifts
    assert [shift.partition(": ")[0] for shift in told] == ["390 px", "1440 px"]


def test_a_page_with_nothing_wrong_tells_nothing(browser: Browser, tmp_path: Path) -> None:
    assert told(browser, tmp_path, "Text.") == Visit(status=200, language="en", n_main=1)


@pytest.mark.parametrize(
    ("what", "body", "text"),
    [
        ("errors", "<script>console.error('it failed')</script>", "it failed"),
        ("errors", "<script>gone()</script>", "gone is not defined"),
        ("errors", '<script src="gone.js"></script>', "404"),
        ("outside", '<img alt="" src="http://example.org/a.png">', "http://example.org/a.png"),
        ("outside", "<script>fetch('http://example.org/b').catch(() => 0)</script>", "/b"),
        ("shifts", f"<script>onload = () => {LATER}</script>", "390 px: 0."),
        ("wide", '<div class="x" style="width: 500px">Text</div>', "390 px: div.x"),
        ("wide", '<details><p class="x" style="width: 800px">Text</p></details>', "768 px: p.x"),
        ("barriers", '<p style="color: #999">Text</p>', "light: color-contrast: <p style"),
        ("barriers", '<img src="data:,">', "light: image-alt: "),
        ("barriers", '<input name="q">', "dark: label: "),
        ("barriers", '<pre style="overflow: auto; width: 99px">' + "x" * 99 + "</pre>",
         "dark: scrollable-region-focusable: "),
        ("barriers",
         2 * BELOW + '<details class="cip-below"><p style="color: #999">Text</p></details>',
         "light: color-contrast"),
        ("barriers", f'<div class="highlight"><pre>x {PALE}</pre></div>',
         "light: color-contrast: <span"),
        ("weak", '<img alt="A figure." src="data:,">', "A figure."),
        ("weak", '<svg role="img" aria-label="plot"></svg>', "plot"),
    ],
)  # fmt: skip
def test_what_is_broken_is_told(
    browser: Browser, tmp_path: Path, what: str, body: str, text: str
) -> None:
    assert any(text in one for one in getattr(told(browser, tmp_path, body), what))


def test_what_is_wrong_in_the_dark_alone_is_told(browser: Browser, tmp_path: Path) -> None:
    found = told(browser, tmp_path, "<p>Text.</p>", dark="#444").barriers
    assert [one.partition(": <")[0] for one in found] == ["dark: color-contrast"] * len(found)
    assert found


def test_a_kind_of_token_and_a_long_table_are_read_once(browser: Browser, tmp_path: Path) -> None:
    pale = 'style="color: #999"'
    code = f'<pre><span class="k">if</span> <span class="k" {pale}>if</span></pre>'
    rows = "<tr><td>Text</td></tr>" * 40 + f"<tr><td {pale}>Text</td></tr>"
    body = f'<div class="highlight">{code}</div><table>{rows}</table>'
    assert told(browser, tmp_path, body).barriers == []
    seen = body.replace('class="k">', f'class="k" {pale}>').replace("<td>", f"<td {pale}>")
    found = told(browser, tmp_path, seen).barriers
    assert [sum(f": {tag}" in one for one in found) for tag in ("<span", "<td")] == [1, 2]


def test_a_fence_may_scroll_within_itself(browser: Browser, tmp_path: Path) -> None:
    fence = '<pre tabindex="0" style="overflow: auto"><code>' + "x" * 300 + "</code></pre>"
    assert told(browser, tmp_path, fence) == Visit(status=200, language="en", n_main=1)
