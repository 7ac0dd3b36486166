"""What a value is elsewhere: on the other releases, with coming defaults, under Inductor."""

import json
from pathlib import Path
from typing import Any

import pytest

from compile_in_practice.abroad import Abroad, left_out
from compile_in_practice.ledger import Measured
from compile_in_practice.page import Page
from compile_in_practice.project import Project
from compile_in_practice.values import Group, Mark, Scope, substitute_marked
from tests.run.conftest import TORCH, Site, fence

HERE = {"python": "3.11", "platform": "Linux x86_64"}


def measured(name: str, **values: object) -> Measured:
    return Measured(name=name, where="docs/p.md:3", source="s", values=values, varies={})


@pytest.fixture
def project(tmp_path: Path) -> Project:
    releases = ("2.8.0", "2.9.1", "2.10.0", "2.11.0")
    return Project(
        root=tmp_path, pythons=(), releases=releases, reference="2.8.0", current="2.11.0",
        announced={"torch.x": 1},
    )  # fmt: skip


def write(
    project: Project,
    place: str,
    source: str = "s",
    changed: dict[str, Any] | None = None,
    **fences: dict[str, Any],
) -> None:
    path = project.ledger / f"{place}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    held = {name.replace("__", "."): {"source": source, "values": v} for name, v in fences.items()}
    told = {"schema": 1, "torch": path.stem, "fences": held}
    if place.startswith("next/"):
        told["changes"] = {"settings": changed or project.announced}
    text = json.dumps(told)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def abroad(project: Project) -> Abroad:
    for release in ("2.8.0", "2.9.1", "2.10.0"):
        write(project, release, p__f={"n": 3, "sizes": {"a": 1}}, lab__l={"whole.n": 7})
    write(project, "2.11.0", p__f={"n": 2, "sizes": {"a": 1}}, lab__l={"whole.n": 8})
    write(project, "next/2.11.0", p__f={"n": 1, "sizes": {"a": 1}})
    write(project, "inductor/2.10.0", p__f={"n": 9, "sizes": {"a": 1}})
    here = [measured("p.f", n=2, sizes={"a": 1}), measured("lab.l", **{"whole.n": 8})]
    return Abroad(project, "2.11.0", HERE, here)


OWN = {"f": {"n": 2, "sizes": {"a": 1}}}
SCOPE = Scope(names=Group.of({**OWN, "p": OWN, "lab": {"l": {"whole": {"n": 8}}}}))


def tell(abroad: Abroad, text: str) -> list[list[str]]:
    page = Page(name="module/p", path=Path("p.md"), metadata={}, parts=(), lines=())
    return abroad.teller(page, SCOPE)(text)


@pytest.mark.parametrize("text", ["f.n", "p.f.n"])
def test_a_role_is_told_where_it_would_show_what_else(abroad: Abroad, text: str) -> None:
    assert tell(abroad, text) == [
        ["on torch 2.8.0 to 2.10.0", "3"],
        ["with x=1", "1"],
    ]


def test_a_role_is_judged_by_what_it_shows(abroad: Abroad) -> None:
    assert tell(abroad, "f.n * 10:d")[0] == ["on torch 2.8.0 to 2.10.0", "30"]
    assert tell(abroad, "f.n:word")[0] == ["on torch 2.8.0 to 2.10.0", "three"]
    assert tell(abroad, "f.n > 0") == []
    assert tell(abroad, 'f.sizes["a"]') == []


def test_a_value_that_a_role_cannot_show_there_is_told_as_it_is(project: Project) -> None:
    here = {"mid": [1, 4], "n": 2, "sizes": {"a": 1}, "text": "x", "new": 1}
    there = {"mid": [], "n": None, "sizes": {"b": 1}, "text": None}
    write(project, "2.8.0", p__f=there)
    one = Abroad(project, "2.11.0", HERE, [measured("p.f", **here)])
    page = Page(name="module/p", path=Path("p.md"), metadata={}, parts=(), lines=())
    names = {"f": here, "other": {"n": 1}}
    others = one.teller(page, Scope(names=Group.of({**names, "p": names})))

    def told(text: str) -> list[str]:
        return [text for _, text in others(text)]

    assert told("f.mid[1]") == ["[]"]
    assert told("p.f.n:word") == ["None"]
    assert told("f.sizes['a']") == ["{'b': 1}"]
    assert told("f.text.strip().count('x')") == ["None"]
    assert told("f.n + f.mid[0]") == ["otherwise"]
    for unknown in ("f.new", "other.n", "f.mid[1] + other.n", "f.n + f.new"):
        assert told(unknown) == []


def test_a_value_of_a_lab_is_found_by_its_groups(abroad: Abroad) -> None:
    assert tell(abroad, "lab.l.whole.n") == [["on torch 2.8.0 to 2.10.0", "7"]]


def test_what_has_other_code_there_is_not_told(project: Project, abroad: Abroad) -> None:
    write(project, "2.9.1", "another", p__f={"n": 3})
    again = Abroad(project, "2.11.0", HERE, abroad.measured)
    assert tell(again, "f.n")[0] == ["on torch 2.8.0 and 2.10.0", "3"]
    assert again.elsewhere("p.f", {"n": 3}) == {"n": [["with x=1", "1"]]}


def test_what_other_defaults_gave_is_not_told(project: Project, abroad: Abroad) -> None:
    write(project, "next/2.11.0", changed={"torch.y": 1}, p__f={"n": 1})
    again = Abroad(project, "2.11.0", HERE, abroad.measured)
    assert tell(again, "f.n") == [["on torch 2.8.0 to 2.10.0", "3"]]


def test_what_of_a_variant_is_not_shown_is_told(project: Project, abroad: Abroad) -> None:
    assert left_out(project, "2.11.0", abroad.measured) == []
    write(project, "inductor/2.11.0", "another", p__f={"n": 1}, p__gone={"n": 1})
    write(project, "next/2.11.0", changed={"torch.y": 1}, p__f={"n": 1})
    accept = "\n    -> nox -s drift -- 2.11.0 --variant {0} --accept 2.11.0"
    assert [str(one) for one in left_out(project, "2.11.0", abroad.measured)] == [
        "docs/ledger/next/2.11.0.json:1: it was made with other settings than"
        " {'settings': {'torch.x': 1}}, so nothing of it is shown" + accept.format("next"),
        "docs/ledger/inductor/2.11.0.json:1: it was made with other settings than"
        " {'inductor': True}, so nothing of it is shown" + accept.format("inductor"),
    ]
    write(project, "next/2.11.0", "another", p__f={"n": 1}, p__gone={"n": 1})
    assert str(left_out(project, "2.11.0", abroad.measured)[0]) == (
        "docs/ledger/next/2.11.0.json:1: 1 of its fences had other code,"
        " so what they gave is not shown" + accept.format("next")
    )


def test_what_of_a_variant_is_not_shown_fails_in_ci(site: Site) -> None:
    site.page("page", fence("counted", "n = 3\nassert n", values="{n: n}"))
    item = site.build().measured[0]
    held = {item.name: {"source": item.source, "values": {"n": 3}}}
    told = {"schema": 1, "torch": TORCH, "fences": held}
    site.write(f"docs/ledger/{TORCH}.json", json.dumps(told))
    site.write(f"docs/ledger/inductor/{TORCH}.json", json.dumps(told | {"changes": {}}))
    where = f"docs/ledger/inductor/{TORCH}.json:1"
    report = site.build()
    assert report.failures == []
    assert [notice.partition(": ")[0] for notice in report.notices] == [where]
    assert [failure.where for failure in site.build(ci=True).failures] == [where]


def test_a_long_value_is_shown_where_it_differs(project: Project) -> None:
    write(project, "2.8.0", p__f={"text": "x" * 100 + "y" * 90})
    one = Abroad(project, "2.11.0", HERE, [measured("p.f", text="x" * 110)])
    assert one.elsewhere("p.f", {"text": "x" * 110}) == {
        "text": [["on torch 2.8.0", f"`…{'x' * 29}{'y' * 29}…`"]],
    }


def test_a_mark_stands_right_behind_what_is_shown() -> None:
    text = (
        "`code` {value}`f.n:word`, {verdict}`holds <f.n == 2>` {value}`f.n`.\n\n:alt: {value}`f.n`"
    )
    others = [["on torch 2.8.0", "3"]]
    shown, failures, marks = substitute_marked(text, SCOPE, lambda _: others, file="p", line=1)
    assert (shown, failures) == ("`code` two, holds 2.\n\n:alt: 2", [])
    assert marks == [
        Mark(line=0, column=len("`code` two"), shown="two", others=others),
        Mark(line=0, column=len("`code` two, holds 2"), shown="2", others=others),
    ]


def test_marks_are_in_the_metadata_alone(site: Site) -> None:
    site.page(
        "page", "It is {value}`counted.n`.\n", fence("counted", "n = 3\nassert n", values="{n: n}")
    )
    report = site.build()
    item = report.measured[0]
    held = {item.name: {"source": item.source, "values": {"n": 4}}}
    text = json.dumps({"schema": 1, "torch": "2.6.0", "fences": held})
    site.write("docs/ledger/2.6.0.json", text)
    report = site.build()
    notebook = json.loads((report.results / "pages/page.ipynb").read_text(encoding="utf-8"))
    prose = notebook["cells"][0]
    assert "".join(prose["source"]) == "# page\n\nIt is 3."
    mark = {"line": 2, "column": 7, "shown": "3", "others": [["on torch 2.6.0", "4"]]}
    assert prose["metadata"] == {"cip": {"marks": [mark]}}
