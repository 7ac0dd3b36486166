"""The pages that the ledgers write: what changed, and what each release does."""

import json
import re

from compile_in_practice.history import Place, behaviour, changes, find_places
from compile_in_practice.ledger import Ledger
from compile_in_practice.project import load_project
from compile_in_practice.reading import read_page
from tests.run.conftest import TORCH, Site, fence

PLACES = {"p.f": Place(page="module/p", title="A | b", anchor="a--b")}
LINK = "[A \\| b](/module/p.md#a--b)"


def ledger(n: object, source: str = "s", **more: object) -> Ledger:
    return {"p.f": {"source": source, "values": {"n": n, **more}}}


def test_each_release_lists_what_differs_from_the_one_before() -> None:
    ledgers = {"2.8.0": ledger(1), "2.9.1": ledger(1), "2.10.0": ledger(2, m=0)}
    assert "\n".join(changes(ledgers, PLACES)).split("\n") == [
        "## PyTorch 2.10.0",
        "",
        "1 value differs from PyTorch 2.9.1.",
        "",
        "Counts and outcomes, 1 of 1:",
        "",
        "::::{div} cip-ledger",
        "",
        "| Value | 2.9.1 | 2.10.0 |",
        "| --- | --- | --- |",
        f"| {LINK} `f.n` | `1` | `2` |",
        "",
        "::::",
        "",
        "## PyTorch 2.9.1",
        "",
        "Nothing that is measured here differs from PyTorch 2.8.0.",
        "",
    ]


def test_values_of_an_edited_fence_are_not_compared() -> None:
    ledgers = {"2.8.0": ledger(1, "another"), "2.9.1": ledger(2)}
    assert [*changes(ledgers, PLACES)] == [
        "## PyTorch 2.9.1\n",
        "No value that both measure differs from PyTorch 2.8.0.",
        "1 of 1 fences are not compared: 2.8.0 ran no such code.",
        "",
    ]
    table = [*behaviour(ledgers, PLACES, {}, "2.9.1")]
    assert f"| {LINK} `f.n` | `2` | not measured on 2.8.0 |" in table


def test_counts_and_outcomes_come_before_names_and_texts() -> None:
    names = ["settings.dynamo.limit", "p.f.gb", "p.switches.x", "p.f.template", "p.f.n"]
    old: Ledger = {}
    for name in names:
        fence, _, value = name.rpartition(".")
        old.setdefault(fence, {"source": "s", "values": {}})["values"][value] = 1
    new = {f: {**e, "values": dict.fromkeys(e["values"], 2)} for f, e in old.items()}
    told = "\n".join(changes({"2.8.0": old, "2.9.1": new}, {}))
    assert re.findall(r"^(\S.*) of 5:$|`(\S+)` \| `1`", told, re.MULTILINE) == [
        ("Counts and outcomes, 1", ""),
        ("", "f.n"),
        ("Settings and names, 2", ""),
        ("", "dynamo.limit"),
        ("", "switches.x"),
        ("Texts and ids of messages, 2", ""),
        ("", "f.gb"),
        ("", "f.template"),
    ]


def test_the_table_of_an_older_build_begins_with_its_own_release() -> None:
    ledgers = {"2.8.0": ledger(1), "2.9.1": ledger(2), "2.10.0": ledger(2)}
    under = {"with x=1": ledger(3)}
    head, row = [*behaviour(ledgers, {}, under, "2.8.0")][1:-1]
    assert head.startswith("| Value | 2.8.0, this build | Elsewhere | With x=1, 2.10.0 |")
    assert row == "| p `f.n` | `1` | `2` on 2.9.1 and 2.10.0 | `3` |"
    head = [*behaviour(ledgers, {}, under, "2.10.0")][1]
    assert head.startswith("| Value | 2.10.0, this build | Elsewhere | With x=1 |")
    del ledgers["2.10.0"]
    assert [*behaviour(ledgers, {}, {}, "2.10.0")][1].startswith("| Value | 2.9.1 | Elsewhere |")


def test_every_value_stands_in_one_table_with_the_releases_that_differ() -> None:
    ledgers = {"2.8.0": ledger(3, m="a"), "2.9.1": ledger(3, m="a"), "2.10.0": ledger(2, m="a")}
    assert [*behaviour(ledgers, PLACES, {}, "2.10.0")][2:-1] == [
        f"| {LINK} `f.n` | `2` | `3` on 2.8.0 and 2.9.1 |",
        f'| {LINK} `f.m` | `"a"` | the same |',
    ]


def test_a_variant_has_a_column_that_says_what_is_other() -> None:
    ledgers = {"2.10.0": {**ledger(2, m="a", k=1), "p.g": ledger(1)["p.f"]}}
    under = {"with x=1": ledger(3, m="a"), "under Inductor": {}}
    head, *rows = [*behaviour(ledgers, {}, under, "2.10.0")][1:-1]
    assert head.startswith("| Value | 2.10.0, this build | Elsewhere | With x=1 | Under Inductor |")
    assert rows == [
        "| p `f.n` | `2` | the same | `3` | not measured |",
        '| p `f.m` | `"a"` | the same |  | not measured |',
        "| p `f.k` | `1` | the same | the code fails | not measured |",
        "| p `g.n` | `1` | the same | not measured | not measured |",
    ]


def test_a_fence_is_found_in_its_section(site: Site) -> None:
    one, two, three = (fence(name, "assert 1") for name in ("one", "two", "three"))
    head = "## The `fix`: it's here\n"
    path = site.page("page", one, head, two, head, "#### Not linked\n", three)
    page, _ = read_page(load_project(site.root), path)
    found = {name: (place.title, place.anchor) for name, place in find_places([page]).items()}
    assert found == {
        "page.one": ("page", "page"),
        "page.two": ("page: The `fix`: it's here", "the-fix-its-here"),
        "page.three": ("page: The `fix`: it's here", "the-fix-its-here-1"),
    }


def test_a_page_without_a_heading_is_linked_as_a_whole() -> None:
    assert Place(page="p", title="p", anchor="").link == "[p](/p.md)"


def test_a_page_that_asks_for_the_table_has_it_when_it_is_built(site: Site) -> None:
    site.page("page", fence("counted", "n = 3\nassert n", values="{n: n}"))
    site.page("history", "```{releases} changes\n```\n\n```{releases} behaviour\n```\n")
    page, _ = read_page(load_project(site.root), site.docs / "page.md")
    entry = {"page.counted": {"source": page.fences[0].digest, "values": {"n": 3}}}
    for torch in ("2.7.0", TORCH):
        entry["page.counted"]["values"] = {"n": 3 if torch == TORCH else 2}
        text = json.dumps({"schema": 1, "torch": torch, "fences": entry})
        site.write(f"docs/ledger/{torch}.json", text)
    report = site.build()
    assert report.failures == []
    notebook = json.loads((report.results / "pages/history.ipynb").read_text(encoding="utf-8"))
    (cell,) = notebook["cells"]
    link = "[page](/page.md#page)"
    assert f"| {link} `counted.n` | `2` | `3` |" in "".join(cell["source"])
    assert f"| {link} `counted.n` | `3` | `2` on 2.7.0 |" in "".join(cell["source"])
    assert "{releases}" not in "".join(cell["source"])
