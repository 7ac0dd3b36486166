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
    return [{"name": what, "status": "ok", "reason": "", "facts": {"n": 1}}]
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tried.py"
    path.write_text(SCRIPT)
    monkeypatch.setattr(recording, "_script", lambda _name: path)
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


def test_a_name_without_a_script_says_where_it_looked() -> None:
    with pytest.raises(SystemExit, match="gallery/gpu or gallery/lab"):
        recording._script("nothing")
