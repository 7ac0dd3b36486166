"""A browser, and the site that `nox -s docs` built: `nox -s browser` names both."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser import built
from tests.browser.serve import serving
from tests.browser.visit import Visit, launched, visit_all, watch

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def executable() -> str:
    return os.environ["CHROMIUM"]


@pytest.fixture(scope="session")
def html() -> Path:
    """The folder of the built site; without one no test can tell anything."""
    folder, problem = built.find(ROOT, os.environ["TORCH_RELEASE"])
    if folder is None:
        pytest.exit(problem, returncode=1)
    return folder


@pytest.fixture(scope="session")
def address(html: Path) -> Iterator[str]:
    with serving(html) as base:
        yield base


@pytest.fixture(scope="session")
def visits(html: Path, address: str, executable: str) -> dict[str, Visit]:
    return visit_all(executable, address, built.addresses(html))


@pytest.fixture(scope="session")
def browser(executable: str) -> Iterator[Browser]:
    with launched(executable) as one:
        yield one


@pytest.fixture
def desk(browser: Browser, address: str) -> Iterator[Page]:
    """A wide page; nothing that a test does there may log an error or leave the site."""
    yield from opened(browser, address, {"width": 1440, "height": 900})


@pytest.fixture
def phone(browser: Browser, address: str) -> Iterator[Page]:
    """A narrow page that is touched."""
    yield from opened(browser, address, {"width": 390, "height": 800}, has_touch=True)


def opened(browser: Browser, base: str, viewport: dict[str, int], **more: bool) -> Iterator[Page]:
    context = browser.new_context(
        base_url=base,
        viewport=viewport,  # type: ignore[arg-type]
        permissions=["clipboard-read", "clipboard-write"],
        reduced_motion="reduce",  # nothing is asked halfway
        **more,  # type: ignore[arg-type]
    )
    page = context.new_page()
    told = Visit()
    watch(page, base, told)
    yield page
    context.close()
    assert (told.errors, told.outside) == ([], [])
