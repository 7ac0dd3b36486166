"""One release against the ledgers: what differs, where, and what may be accepted."""

import json

import pytest

from compile_in_practice.drift_report import merge, read, schema
from tests.drift.conftest import drift, edit_ledger
from tests.run.conftest import TORCH, Site, fence

OLD = '"n_known": 3'


def test_a_ledger_edited_by_hand_names_that_claim_and_nothing_else(copy: Site) -> None:
    edit_ledger(copy, OLD, '"n_known": 4')
    status, result, said = drift(copy, "--torch", TORCH)
    report = merge([result])
    assert status == report["status"] == 1
    (row,) = report["rows"]
    sentence = "There are {value}`asked.n_known` things to know, in {value}`asked.n_calls` call."
    assert row == {
        "kind": "changed",
        "claim": "api.asked.n_known",
        "where": "docs/api.md:5",
        "change": "4 -> 3",
        "old": 4,
        "new": 3,
        "sentences": [{"where": "docs/api.md:3", "text": sentence}],
        "details": [],
        "releases": [TORCH],
        "first": TORCH,
    }
    line = f"api.asked.n_known  docs/api.md:5  4 -> 3      {TORCH}"
    assert line in said
    assert f"    docs/api.md:3: {sentence}" in said


def test_a_value_of_a_lab_and_of_another_page_finds_its_sentences(copy: Site) -> None:
    edit_ledger(copy, '"all.n": 4', '"all.n": 5')
    path = f"docs/ledger/{TORCH}.json"
    text = (copy.root / path).read_text(encoding="utf-8")
    copy.write(path, text.replace('"n_all": 2', '"n_all": 9'))
    _, result, _ = drift(copy, "--torch", TORCH)
    found = {row["claim"]: [s["where"] for s in row["sentences"]] for row in result["changed"]}
    assert found == {
        "frames.counted.n_all": ["docs/frames.md:3", "docs/logs.md:3"],
        "lab.steady.all.n": ["docs/steady.md:3"],
    }


def test_a_release_without_a_ledger_is_compared_with_the_newest_known(copy: Site) -> None:
    edit_ledger(copy, OLD, '"n_known": 4', torch="2.7.0")
    settings = (copy.root / "pyproject.toml").read_text(encoding="utf-8")
    copy.write("pyproject.toml", settings.replace('"2.7.0", ', '"2.6.0", "2.7.0", '))
    edit_ledger_of_none = copy.docs / "ledger/2.6.0.json"
    edit_ledger_of_none.write_text('{"schema": 1, "torch": "2.6.0", "fences": {}}')
    copy.page("new", fence("new", "n = 1\nassert n", values="{n: n}"))
    status, result, said = drift(copy)
    assert (status, result["base"], result["missing"]) == (1, "2.7.0", [])
    assert [row["claim"] for row in result["changed"]] == ["api.asked.n_known"]
    assert said.endswith(f"{TORCH}: 12 values against the ledger of 2.7.0: 1 changed\n")


def test_a_value_that_its_ledger_lacks_or_alone_has_does_not_agree(copy: Site) -> None:
    edit_ledger(copy, OLD, '"n_other": 3')
    status, result, said = drift(copy, "--torch", TORCH, "--brief")
    assert said == f"{TORCH}: 11 values against its ledger: 1 missing, 1 stale\n"
    assert status == 1
    assert result["missing"] == [{"claim": "api.asked.n_known", "where": "docs/api.md:5"}]
    assert [row["what"] for row in result["stale"]] == ["api.asked.n_other is on no page"]


def test_code_that_its_ledger_does_not_hold_does_not_agree(copy: Site) -> None:
    page = (copy.docs / "steady.md").read_text(encoding="utf-8")
    page += fence("silent", "assert 1 + 1 == 2")
    copy.write("docs/steady.md", page.replace("n = 1 + 1", "n = 3 - 1"))
    status, result, said = drift(copy, "--torch", TORCH)
    assert (status, [row["claim"] for row in result["missing"]]) == (
        1,
        ["the code of steady.plain", "steady.silent"],
    )
    assert f"the code of steady.plain  docs/steady.md:5   not in the ledger  {TORCH}" in said
    assert read(copy.root / "out.json") == result


def test_a_value_that_is_known_for_another_python_alone_is_missing(copy: Site) -> None:
    edit_ledger(copy, OLD, '"n_known": {"varies": ["python"], "by": {"3.99": 3}}')
    status, result, _ = drift(copy, "--torch", TORCH)
    assert (status, [row["claim"] for row in result["missing"]]) == (1, ["api.asked.n_known"])


def test_what_is_on_no_page_is_stale_for_a_release_without_a_ledger_too(copy: Site) -> None:
    edit_ledger(copy, OLD, '"n_other": 3', torch="2.7.0")
    page = copy.docs / "frames.md"
    page.write_text(page.read_text(encoding="utf-8").replace("first == 1", "first == 2"))
    status, result, _ = drift(copy, "--torch", TORCH)
    assert (status, result["base"]) == (1, "2.7.0")
    assert result["stale"] == [
        {"where": "docs/ledger/2.7.0.json:1", "what": "api.asked.n_other is on no page"}
    ]
    assert [row["claim"] for row in result["failed"]] == ["frames.counted"]


def test_values_that_a_failure_kept_from_being_measured_are_lost(copy: Site) -> None:
    page = (copy.docs / "api.md").read_text(encoding="utf-8")
    copy.write("docs/api.md", page.replace("known = 3", "known = 3 + None"))
    lab = copy.root / "gallery/lab/steady.py"
    lab.write_text(
        lab.read_text(encoding="utf-8").replace("return", "assert not backend\n    return")
    )
    status, result, said = drift(copy, "--torch", TORCH)
    assert status == 1
    found = {row["claim"]: [s["where"] for s in row["sentences"]] for row in result["lost"]}
    assert found == {
        "api.asked.n_known": ["docs/api.md:3"],
        "api.asked.n_calls": ["docs/api.md:3"],
        "api.after.n_after": [],
        "lab.steady.all.n": ["docs/steady.md:3"],
    }
    assert [row["claim"] for row in result["failed"]] == ["api.asked", "lab.steady"]
    assert f"{TORCH}: 7 of 11 values against its ledger: 2 failed, 4 lost" in said
    assert read(copy.root / "out.json") == result
    refused = copy.command("drift", "--torch", TORCH, "--accept")
    assert f"no ledger of torch {TORCH} was written; failures: 3\n" in refused.stdout


def test_a_sentence_that_names_a_release_rests_on_the_fence_beside_it(copy: Site) -> None:
    edit_ledger(copy, OLD, '"n_known": 4')
    page = (copy.docs / "api.md").read_text(encoding="utf-8")
    page = page.replace("\n```{code", "\nOn 2.15.0 there are as many.\nTwo are.\n\n```{code", 1)
    copy.write("docs/api.md", page + "\n## Else\n\nOn 2.15.0 it is another.\n")
    _, result, _ = drift(copy, "--torch", TORCH)
    (row,) = result["changed"]
    assert [s["where"] for s in row["sentences"]] == ["docs/api.md:3", "docs/api.md:5"]


def test_without_any_ledger_nothing_agrees(copy: Site) -> None:
    (copy.docs / "ledger" / f"{TORCH}.json").unlink()
    status, result, said = drift(copy, "--label", "mine", "--brief")
    assert (status, result["base"], len(result["missing"])) == (1, None, 11)
    assert said == f"mine (torch {TORCH}): 11 values against the ledger of no release: 11 missing\n"


def test_a_false_verdict_is_named_with_its_sentence(copy: Site) -> None:
    page = (copy.docs / "limits.md").read_text(encoding="utf-8")
    copy.write("docs/limits.md", page.replace("< 12>", "< 2>"))
    status, result, _ = drift(copy, "--torch", TORCH)
    assert status == 1
    (row,) = result["failed"]
    assert row["where"] == "docs/limits.md:5"
    assert row["what"].startswith("verdict 'stops' is false")


def test_new_values_are_accepted_for_a_release_named_explicitly(copy: Site) -> None:
    edit_ledger(copy, OLD, '"n_known": 4')
    path = copy.docs / "ledger" / f"{TORCH}.json"
    before = path.read_text(encoding="utf-8")
    done = copy.command("drift", "--accept")
    assert (done.returncode, path.read_text(encoding="utf-8")) == (2, before)
    assert "named explicitly" in done.stderr
    status, result, said = drift(copy, "--torch", TORCH, "--accept")
    assert (status, result["changed"]) == (0, [])
    assert f"api.asked.n_known  docs/api.md:5  4 -> 3      {TORCH}" in said
    assert (
        f"  api.asked.n_known: 4 -> 3\nvalues changed, new or gone in docs/ledger/{TORCH}.json: 1\n"
        in said
    )
    assert said.endswith(f"{TORCH}: 11 values against its ledger: all agree\n")


def test_a_new_release_gets_a_ledger_and_shows_what_it_does_otherwise(copy: Site) -> None:
    edit_ledger(copy, OLD, '"n_known": 4', torch="2.7.0")
    status, result, said = drift(copy, "--torch", TORCH, "--accept")
    assert (status, result["base"]) == (0, TORCH)
    assert said.startswith("values that changed\n")
    assert f"{TORCH}: 11 values against the ledger of 2.7.0: 1 changed" in said
    assert (
        "\nagainst the ledger of torch 2.7.0:\n  api.asked.n_known: 4 -> 3\n"
        f"values changed, new or gone in docs/ledger/{TORCH}.json: 11\n" in said
    )


def test_a_release_that_is_not_installed_could_not_run(copy: Site) -> None:
    status, result, _ = drift(copy, "--torch", "2.0.0")
    assert status == 2
    assert (result["label"], result["claims"]) == ("2.0.0", [])
    assert f"torch {TORCH} is installed, 2.0.0 was asked for" in result["error"]


def test_what_is_written_follows_the_schema(copy: Site) -> None:
    edit_ledger(copy, OLD, '"n_known": 4')
    _, result, _ = drift(copy, "--torch", TORCH)
    assert read(copy.root / "out.json") == result
    del result["claims"]
    copy.write("out.json", json.dumps(result))
    assert "'claims' is a required property" in read(copy.root / "out.json")["error"]
    assert schema()["$defs"]["result"]["required"]


pytestmark = pytest.mark.usefixtures("known")
