"""The recorder, tried with a script that succeeds, fails, dies and hangs."""

import json
from pathlib import Path

import pytest

from compile_in_practice import record, recording

SCRIPT = """\
import os
import time

CASES = [{"what": what} for what in ("good", "bad", "dead", "slow", "last")]


def experiment(*, what):
    if what == "bad":
        raise ValueError("no such thing")
    if what == "dead":
        os._exit(0)
    if what == "slow":
        time.sleep(600)
    timing = {"n_warmup": 1, "n_calls": 1, "samples_ms": [1.0, 2.0, 3.0]}
    timing |= {"median_ms": 2.0, "spread_ms": [1, 3]}
    facts = {"outcome": what}
    row = {"name": what, "status": "ok", "reason": "", "facts": facts, "timing": timing}
    return [{**row, "compile": {"cold_s": 8.0}}]
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tried.py"
    path.write_text(SCRIPT)
    monkeypatch.setattr(recording, "script_path", lambda _name: path)
    return path


def made(folder: Path, *options: str) -> tuple[int, record.Record]:
    command = ["--experiment", "tried", "--out", str(folder), "--commit", "0" * 40, *options]
    status = recording.main(command)
    (path,) = folder.glob("tried--*.json")
    return status, record.load(path)


@pytest.mark.usefixtures("script")
def test_what_fails_dies_or_hangs_is_a_row_and_costs_only_itself(tmp_path: Path) -> None:
    status, one = made(tmp_path, "--case-limit-s", "4")
    reached = {row["case"]["what"]: (row["status"], row["reason"]) for row in one.rows}
    assert list(reached) == ["good", "bad", "dead", "slow", "last"]
    assert [reached[what][0] for what in reached] == ["ok", "failed", "failed", "failed", "ok"]
    assert "status 1" in reached["bad"][1]
    assert "status 0" in reached["dead"][1]
    assert "longer than 4 s" in reached["slow"][1]
    assert status == 0
    assert one.data["machine"]["gpu"] is None


@pytest.mark.usefixtures("script")
def test_a_recording_that_ran_out_of_time_is_resumed(tmp_path: Path) -> None:
    status, one = made(tmp_path, "--case", "0")
    assert one.data["complete"] is False
    kept = {row["name"]: row["status"] for row in one.rows}
    assert kept["good"] == "ok"
    assert set(list(kept.values())[1:]) == {"skipped"}
    text = json.dumps(one.data)
    assert "NaN" not in text
    status, one = made(tmp_path, "--resume", "--case-limit-s", "4")
    assert [row["status"] for row in one.rows].count("ok") == 2
    assert one.data["complete"] is True
    assert status == 0


@pytest.mark.usefixtures("script")
def test_measured_again_adds_spreads_and_outcomes_and_keeps_the_rows(tmp_path: Path) -> None:
    _, first = made(tmp_path, "--case", "0")
    status, one = made(tmp_path, "--again", "process", "--case", "0", "--case", "4")
    assert status == 0
    assert one.rows == first.rows
    (again,) = one.again
    assert again["kind"] == "process"
    assert again["medians_ms"] == {"good": 2.0, "last": 2.0}
    assert again["spreads_ms"]["good"] == [1, 3]
    assert again["outcomes"] == {"good": "good", "last": "last"}
    assert one.values["good"]["medians_ms"] == [2.0, 2.0]
    assert one.values["good"]["colds_s"] == [8.0, 8.0]
    assert one.facts["moved"] == 0.0


@pytest.mark.usefixtures("script")
def test_recorded_again_whole_keeps_the_old_record_as_second(tmp_path: Path) -> None:
    made(tmp_path, "--case", "0")
    _, one = made(tmp_path, "--keep", "lease", "--case", "4")
    assert [row["name"] for row in one.rows if row["status"] == "ok"] == ["last"]
    assert [again["medians_ms"] for again in one.again] == [{"good": 2.0}]
    _, one = made(tmp_path, "--resume", "--case", "0")
    assert len(one.again) == 1


@pytest.mark.usefixtures("script")
def test_nothing_is_measured_again_without_a_record(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="nothing to measure again"):
        made(tmp_path, "--again", "lease")


@pytest.mark.usefixtures("script")
def test_an_edited_record_is_not_added_to_but_made_anew(tmp_path: Path) -> None:
    _, one = made(tmp_path, "--case", "0")
    one.path.write_text(one.path.read_text().replace('"cold_s": 8.0', '"cold_s": 0.8'))
    for option in (["--again", "process"], ["--keep", "lease"], ["--resume"]):
        with pytest.raises(SystemExit, match="sha256: was edited"):
            made(tmp_path, *option, "--case", "0")
    _, one = made(tmp_path, "--case", "0")
    assert one.rows[0]["compile"]["cold_s"] == 8.0


def test_a_name_without_a_script_says_where_it_looked() -> None:
    with pytest.raises(SystemExit, match="gallery/gpu or gallery/lab"):
        recording.script_path("nothing")
