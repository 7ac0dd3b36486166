"""Every page as a browser sees it: errors, requests, widths, and what axe-core finds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
AT_ONCE = 2
WIDTHS = (360, 390, 768, 1440)
LOADED = (390, 1440)
HEIGHT = 900
THEMES = (("light", 1440), ("dark", 390))  # both, and what scrolls at either width
OPEN_ALL = "document.querySelectorAll('details').forEach(one => { one.open = true; })"
# To axe-core a colour costs most, and the same ones stand on each line of code and in each
# row: it reads the first of each kind of token, and the first rows of a long table.
READ_ONCE = """mostRows => {
    const seen = new Set();
    for (const code of document.querySelectorAll(".highlight pre")) {
        const within = code.closest("[class*=cell_], .sphx-glr-script-out, .highlight").className;
        const copy = code.cloneNode(true);
        for (const token of copy.querySelectorAll("span[class]")) {
            const kind = `${token.className} in ${within}`;
            if (seen.has(kind)) token.replaceWith(...token.childNodes);
            seen.add(kind);
        }
        code.replaceChildren(...copy.childNodes);
    }
    document.querySelectorAll(`tbody > tr:nth-child(n + ${mostRows + 1})`)
        .forEach(row => row.remove());
}"""
ROWS = 40
# The page and its column may not scroll sideways; a fence or a table may, within itself.
TOO_WIDE = """width => {
    const within = (one) => one.parentElement.closest("pre, .table-wrapper, .cip-figure, svg");
    const wide = [...document.querySelectorAll("html, .content")]
        .filter(one => one.scrollWidth > one.clientWidth + 1);
    if (!wide.length) return [];
    const right = one => one.getBoundingClientRect().right;
    const parts = [...document.querySelectorAll(".content *")].filter(
        one => right(one) > width + 1 && !within(one));
    return [...wide, ...parts].slice(0, 5).map(
        one => `${one.tagName.toLowerCase()}.${one.getAttribute("class") ?? ""}`);
}"""
# A figure's text says what it shows: more than a name, and not the name of its file.
WEAK_ALTERNATIVES = """() => [...document.querySelectorAll("article img, article svg[role=img]")]
    .filter(one => one.checkVisibility())
    .map(one => one.getAttribute("alt") ?? one.getAttribute("aria-label") ?? "")
    .filter(text => text.trim().split(/\\s+/).length < 5)"""
# What moved on its own while the page was loaded, and how far: counted as Chromium does.
WATCH_SHIFTS = """self.shifts = []; new PerformanceObserver(list => {
    for (const one of list.getEntries()) {
        const parts = one.sources.map(({node}) => (node?.parentElement ?? node)?.outerHTML ?? "?");
        self.shifts.push(`${one.value.toFixed(4)}: ${parts.map(html => html.slice(0, 80))}`);
    }
}).observe({type: "layout-shift", buffered: true});"""
SHIFTS = "self.shifts"
# What changes with the width is done before the second frame after it.
SETTLED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
MAIN = "document.querySelectorAll('main, [role=main]').length"


@dataclass(kw_only=True)
class Visit:
    """What was seen of a page; each list is empty where nothing is wrong.

    Attributes:
        status: what the server answered.
        errors: errors and warnings on the console, and exceptions.
        outside: requests that would have left the site.
        shifts: what moved after it was painted, each time it was loaded, by width.
        wide: what is too wide, by width.
        barriers: what axe-core found, by theme.
        weak: alternatives of figures that say too little.
        language: of the page.
        n_main: how many main landmarks it has.

    """

    status: int = 0
    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    shifts: list[str] = field(default_factory=list)
    wide: list[str] = field(default_factory=list)
    barriers: list[str] = field(default_factory=list)
    weak: list[str] = field(default_factory=list)
    language: str = ""
    n_main: int = 0


def visit_all(executable: str, base: str, pages: list[str]) -> dict[str, Visit]:
    """Visit each page, with as many browsers at once as cores are counted on."""

    def visit_some(some: list[str]) -> dict[str, Visit]:
        with launched(executable) as browser:
            context = browser.new_context(reduced_motion="reduce")
            return {page: visit(context, base, page) for page in some}

    with ThreadPoolExecutor(AT_ONCE) as pool:
        parts = pool.map(visit_some, [pages[start::AT_ONCE] for start in range(AT_ONCE)])
        return {page: told for part in parts for page, told in part.items()}


def visit(context: BrowserContext, base: str, address: str) -> Visit:
    """Open a page with every closed control open, at each width and in both themes."""
    page = context.new_page()
    told = Visit()
    watch(page, base, told)
    page.add_init_script(WATCH_SHIFTS)
    for width in LOADED:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        told.status, shifts = load(page, base + address)
        if shifts:  # a table that is painted before it has all its rows is no fault
            told.status, shifts = load(page, base + address)
        told.shifts += [f"{width} px: {one}" for one in shifts]
    page.evaluate(OPEN_ALL)
    told.language = page.evaluate("document.documentElement.lang")
    told.n_main = page.evaluate(MAIN)
    told.weak = page.evaluate(WEAK_ALTERNATIVES)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        told.wide += [f"{width} px: {one}" for one in page.evaluate(TOO_WIDE, width)]
    page.evaluate(READ_ONCE, ROWS)
    page.evaluate(AXE_SCRIPT)
    for theme, width in THEMES:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.evaluate(SETTLED)
        found = page.evaluate("axe.run({resultTypes: ['violations']})")
        told.barriers += [f"{theme}: {one}" for one in _barriers(found["violations"])]
    page.close()
    return told


def load(page: Page, address: str) -> tuple[int, list[str]]:
    """Open an address; return its status, and what moved after it was painted."""
    answer = page.goto(address)
    page.evaluate(SETTLED)  # painted
    page.evaluate(SETTLED)  # and what moved since is told
    return answer.status if answer else 0, page.evaluate(SHIFTS)


def watch(page: Page, base: str, told: Visit) -> None:
    """Note what a page logs, and what it asks for that is not the site's."""
    page.on(
        "console",
        lambda said: said.type in {"error", "warning"} and told.errors.append(said.text),
    )
    page.on("pageerror", lambda error: told.errors.append(str(error)))
    ours = (base, "data:", "blob:")
    page.on("request", lambda one: one.url.startswith(ours) or told.outside.append(one.url))


def _barriers(violations: list[dict[str, Any]]) -> Iterator[str]:
    for violation in violations:
        for node in violation["nodes"][:3]:
            reason = node["failureSummary"].splitlines()[1].strip()
            yield f"{violation['id']}: {node['html'][:160]}: {reason}"


@contextmanager
def launched(executable: str) -> Iterator[Browser]:
    """Yield a browser that finds no host but this machine."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=[ALONE])
        yield browser
        browser.close()
