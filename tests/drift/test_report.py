"""Several releases in one report: for people, for CI, and as data."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from compile_in_practice.drift import could_not_run
from compile_in_practice.drift_formats import commands, junit, markdown, terminal
from compile_in_practice.drift_report import main, merge, schema

CLAIM = {"claim": "p.f.n", "where": "docs/p.md:5"}
SENTENCE = {"where": "docs/p.md:3", "text": "It is {value}`f.n` | <b>."}
FAILED = {
    "claim": "p.g",
    "where": "docs/p.md:9",
    "what": "AssertionError: 100%",
    "details": ["n = 2", "torch 2"],
}
LOST = {"claim": "p.g.n", "where": "docs/p.md:8", "sentences": [SENTENCE]}
GONE = {
    "where": "docs/q.md:9",
    "what": "AttributeError: module 'torch' has no attribute 'old'",
    "details": ["torch.old()", "there is older", "torch 2.9.1"],
    "name": "torch.old",
    "near": ["older"],
}


def result(torch: str, **found: Any) -> dict[str, Any]:
    told = {"torch": torch, "platform": "Linux x86_64", "base": torch, "claims": [CLAIM]}
    return {**could_not_run(torch, "", python="3.11.9"), **told, **found}


def changed(new: object) -> list[dict[str, Any]]:
    return [{**CLAIM, "old": 1, "new": new, "sentences": [SENTENCE]}]


@pytest.fixture
def report() -> dict[str, Any]:
    """Two releases differ in the same way, one in another, one could not run."""
    return merge(
        [
            result("2.10.0", changed=changed(2)),
            result("2.9.1", changed=changed(2), failed=[FAILED], vanished=[GONE]),
            result("2.8.0"),
            result("2.11.0", changed=changed(3)),
        ],
        expected=["2.8.0", "2.12.1"],
    )


def test_each_difference_stands_once_with_the_first_release(report: dict[str, Any]) -> None:
    Draft202012Validator(schema()).validate(report)
    assert [one["label"] for one in report["releases"]] == [
        "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
    ]  # fmt: skip
    rows = [(row["change"], row["first"], row["releases"]) for row in report["rows"]]
    assert rows == [
        ("1 -> 2", "2.9.1", ["2.9.1", "2.10.0"]),
        ("1 -> 3", "2.11.0", ["2.11.0"]),
        ("gone -> older?", "2.9.1", ["2.9.1"]),
        ("AssertionError: 100%", "2.9.1", ["2.9.1"]),
    ]


def test_the_line_that_names_the_release_does_not_part_rows() -> None:
    rows = []
    for torch in ("2.8.0", "2.9.1"):
        failed = {**FAILED, "details": ["n = 2", f"torch {torch}"]}
        rows.append(result(torch, failed=[failed]))
    (row,) = merge(rows)["rows"]
    assert (row["releases"], row["details"]) == (["2.8.0", "2.9.1"], ["n = 2"])


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([], 2),
        ([result("2.8.0")], 0),
        ([result("2.8.0"), result("2.9.1", failed=[FAILED])], 1),
        ([result("2.8.0", failed=[FAILED]), could_not_run("2.9.1", "no torch")], 2),
        ([result("2.8.0"), could_not_run("nightly", "no torch")], 0),
        ([result("2.8.0"), {**result("2.16.0", changed=changed(2)), "label": "nightly"}], 0),
    ],
)
def test_status_is_what_the_releases_say_but_for_optional_ones(
    results: list[dict[str, Any]], status: int
) -> None:
    assert merge(results, optional=["nightly"])["status"] == status


def test_the_terminal_shows_a_table_and_a_line_for_each_release(report: dict[str, Any]) -> None:
    lines = terminal(report).splitlines()
    assert lines[:6] == [
        "values that changed",
        "",
        "claim  page:line    old -> new  first release",
        "-----  -----------  ----------  -------------",
        "p.f.n  docs/p.md:5  1 -> 2      2.9.1 (+1)",
        "    docs/p.md:3: It is {value}`f.n` | <b>.",
    ]
    assert lines[-5:] == [
        "2.8.0: 1 values against its ledger: all agree",
        "2.9.1: 1 values against its ledger: 1 changed, 1 vanished, 1 failed",
        "2.10.0: 1 values against its ledger: 1 changed",
        "2.11.0: 1 values against its ledger: 1 changed",
        "2.12.1: could not run: it gave no result",
    ]


def test_markdown_keeps_its_table_whatever_a_sentence_holds(report: dict[str, Any]) -> None:
    text = markdown(report)
    assert text.startswith("## A release could not run\n")
    assert "| p.f.n | docs/p.md:5 | 1 -> 2 | 2.9.1 (+1) |" in text
    assert "- `docs/p.md:3` It is {value}`f.n` \\| &lt;b>." in text


def test_annotations_name_file_and_line_and_escape(report: dict[str, Any]) -> None:
    lines = list(commands(report))
    title = "title=changed on torch 2.9.1%2C 2.10.0"
    assert lines[0] == f"::error file=docs/p.md,line=5,{title}::p.f.n: 1 -> 2"
    assert lines[3].endswith("::p.g: AssertionError: 100%25")
    assert lines[4] == "::error title=torch 2.12.1::2.12.1: could not run: it gave no result"
    only = merge([result("2.8.0", changed=changed("a\n"))], optional=["2.8.0"])
    assert next(commands(only)).startswith("::warning ")


def test_junit_has_a_suite_a_release_and_a_case_a_value(report: dict[str, Any]) -> None:
    suites = ET.fromstring(junit(report))
    counts = [(s.get("name"), s.get("tests"), s.get("failures"), s.get("errors")) for s in suites]
    assert counts == [
        ("torch 2.8.0", "1", "0", "0"),
        ("torch 2.9.1", "3", "3", "0"),
        ("torch 2.10.0", "1", "1", "0"),
        ("torch 2.11.0", "1", "1", "0"),
        ("torch 2.12.1", "1", "0", "1"),
    ]
    case = suites[1][0]
    assert (case.get("name"), case.get("file"), case.get("line")) == ("p.f.n", "docs/p.md", "5")
    assert case[0].get("message") == "docs/p.md:5: 1 -> 2"
    assert case[0].text == "docs/p.md:3: It is {value}`f.n` | <b>."
    assert [case.get("name") for case in suites[1]] == ["p.f.n", "torch.old", "p.g"]
    odd = merge([result("2.8.0", failed=[{**FAILED, "what": "\x1b[31m"}])])
    ET.fromstring(junit(odd))


def test_junit_names_what_is_missing_and_was_not_measured() -> None:
    missing = [{**CLAIM, "claim": "the code of p.f"}, CLAIM]
    (suite,) = ET.fromstring(junit(merge([result("2.8.0", missing=missing)])))
    assert [case.get("name") for case in suite] == ["p.f.n", "the code of p.f"]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")


def test_what_was_not_measured_is_told_with_its_sentences() -> None:
    report = merge([result("2.8.0", failed=[FAILED], lost=[LOST])])
    Draft202012Validator(schema()).validate(report)
    said = terminal(report)
    assert "p.g.n  docs/p.md:8  not measured  2.8.0\n    docs/p.md:3: It is" in said
    assert said.endswith("2.8.0: 1 of 2 values against its ledger: 1 failed, 1 lost")
    assert "- `docs/p.md:3` It is" in markdown(report)


def test_a_release_without_any_ledger_is_one_line_for_people() -> None:
    bare = result("2.16.0", base=None, missing=[CLAIM])
    report = merge([bare])
    line = "2.16.0: 1 values against the ledger of no release: 1 missing"
    assert (terminal(report), list(commands(report))) == (line, [])
    assert markdown(report) == f"## Drift\n\n- {line}\n"
    assert [row["claim"] for row in report["rows"]] == ["p.f.n"]
    both = merge([bare, result("2.8.0", missing=[CLAIM])])
    assert "p.f.n  docs/p.md:5  not in the ledger  2.8.0 (+1)" in terminal(both)


def test_two_machines_with_one_release_both_count() -> None:
    linux = result("2.8.0", changed=changed(2))
    mac = result("2.8.0", platform="Darwin arm64")
    for pair in ([linux, mac], [mac, linux]):
        report = merge(pair, expected=["2.8.0"])
        Draft202012Validator(schema()).validate(report)
        assert report["status"] == 1
        assert [one["label"] for one in report["releases"]] == [
            "2.8.0 on Python 3.11.9, Darwin arm64",
            "2.8.0 on Python 3.11.9, Linux x86_64",
        ]


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"claims": []}, "2.9.1.json holds no claim: nothing was compared"),
        ({"torch": "2.8.0"}, "2.9.1.json is of torch 2.8.0"),
    ],
)
def test_a_file_that_proves_nothing_is_no_agreement(
    tmp_path: Path, found: dict[str, Any], told: str
) -> None:
    path = tmp_path / "2.9.1.json"
    path.write_text(json.dumps({**result("2.9.1"), **found}), encoding="utf-8")
    given = [str(path), "--expect=2.9.1", "--out", str(tmp_path / "report")]
    assert main(given) == 2
    report = json.loads((tmp_path / "report/report.json").read_text(encoding="utf-8"))
    assert [one["error"] for one in report["releases"]] == [told]


def test_files_of_several_runners_become_one_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    paths = []
    for torch in ("2.8.0", "2.9.1"):
        paths.append(tmp_path / f"{torch}.json")
        found = changed(2) if torch == "2.9.1" else []
        paths[-1].write_text(json.dumps(result(torch, changed=found)), encoding="utf-8")
    (tmp_path / "2.10.0.json").write_text("{", encoding="utf-8")
    given = [str(path) for path in paths]
    assert main([*given, "--out", str(tmp_path / "report")]) == 1
    said = capsys.readouterr().out
    assert "::error file=docs/p.md,line=5,title=changed on torch 2.9.1::" in said
    assert (tmp_path / "step.md").read_text(encoding="utf-8").startswith("## Drift\n")
    names = sorted(path.name for path in (tmp_path / "report").iterdir())
    assert names == ["junit.xml", "report.json", "summary.md"]
    given.append(str(tmp_path / "2.10.0.json"))
    given.append(str(tmp_path / "gone.json"))
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    given.append(str(tmp_path / "list.json"))
    assert main([*given, "--out", str(tmp_path / "report")]) == 2
    said = capsys.readouterr().out
    assert "2.10.0: could not run: 2.10.0.json is no JSON\n" in said
    assert "gone: could not run: gone.json is not there\n" in said
    assert "list: could not run: list.json is no result: $: [] is not of type 'object'" in said
