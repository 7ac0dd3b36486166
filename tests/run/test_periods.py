"""A page that asks for its values by release."""

import json

from compile_in_practice.ledger import Ledger
from compile_in_practice.periods import expand
from compile_in_practice.project import load_project
from compile_in_practice.reading import read_page
from tests.run.conftest import TORCH, Site, fence

SOURCES = {"settings.defaults": "s"}


def ledger(source: str = "s", **values: object) -> Ledger:
    return {"settings.defaults": {"source": source, "values": values}}


def test_each_value_has_the_releases_on_which_it_was_the_same(site: Site) -> None:
    path = site.page(
        "settings",
        fence("defaults", "a = b = 1\nassert a", values="{a: a, b: b}"),
        "```{periods}\n```\n",
    )
    page, _ = read_page(load_project(site.root), path)
    ledgers = {
        "2.8.0": ledger(a="x|y"),
        "2.9.1": ledger(a="8", b="T"),
        "2.10.0": ledger(a="8", b="T"),
        "2.11.0": ledger("of other code", a="8", b="T"),
        "2.12.1": ledger(a="8", b="T"),
    }
    made = expand(page, ledgers, SOURCES)
    text = json.dumps([getattr(part, "text", "") for part in made.parts])
    assert "{periods}" not in text
    assert r"| `a` | `x\\|y` on 2.8.0, `8` on 2.9.1 to 2.10.0, `8` on 2.12.1 |" in text
    assert "| `b` | `T` on 2.9.1 to 2.10.0, `T` on 2.12.1 |" in text


def test_a_page_that_asks_for_nothing_is_left_as_it_is(site: Site) -> None:
    page, _ = read_page(load_project(site.root), site.page("page", "Text.\n"))
    assert expand(page, {"2.8.0": ledger(a=1)}, SOURCES) is page


def test_a_value_that_varies_is_shown_as_it_is_here(site: Site) -> None:
    code = fence("one", "n = 3\nassert n", values="{n: n}", varies="{n: [python]}")
    site.page("page", code, "```{periods}\n```\n")
    assert site.command("ledger", "--torch", TORCH).returncode == 0
    text = (site.build().results / "pages/page.ipynb").read_text(encoding="utf-8")
    assert f"| `n` | `3` on {TORCH} |" in text
