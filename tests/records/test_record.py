"""What a record must hold, what is refused, and what a page shows of it."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compile_in_practice import cli, experiment, record, replay
from compile_in_practice.page import Fence
from compile_in_practice.recorded import record_values, recorded_digest, recorded_fence

ROOT = Path(__file__).parents[2]
CEILINGS = next((ROOT / "gallery" / "records").glob("ceilings--*.json"))
SCRIPTS = {path.stem: path for path in (ROOT / "gallery").glob("[lg]*/*.py")}
COMMITTED = [p for p in record.RECORDS.glob("*.json") if not p.name.startswith(record.FENCES)]

Change = Callable[[dict[str, Any]], None]


def changed(folder: Path, change: Change) -> Path:
    data = json.loads(CEILINGS.read_text())
    change(data)
    path = folder / CEILINGS.name
    path.write_text(json.dumps(data | {"sha256": record.digest(data)}))
    return path


def set_row(**fields: Any) -> Change:
    return lambda data: data["rows"][3].update(fields)


def set_median(value: float) -> Change:
    return lambda data: data["rows"][0]["timing"].update(median_ms=value)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_a_committed_record_is_valid_and_belongs_to_its_experiment(path: Path) -> None:
    loaded = record.load(path)
    record.check(loaded, experiment.load(SCRIPTS[loaded.experiment]).hash)
    assert path.name.startswith(f"{loaded.experiment}--")
    assert path.name.endswith(f"--torch-{loaded.torch}.json")
    assert "/work" not in path.read_text()


def test_the_record_with_inductor_on_a_cpu_exists_for_both_releases() -> None:
    found = record.find("cpu_fusion")
    assert [one.torch for one in found] == ["2.8.0", "2.15.0"]
    assert all(one.data["machine"]["compiler"] for one in found)
    for one in found:
        counts = {name: values.get("n_generated") for name, values in one.values.items()}
        assert counts == {"reduction": 1, "pointwise": 1, "whole": 1, "modes": None}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda data: data.update(surprise=1), "surprise"),
        (lambda data: data.pop("clocks"), "clocks"),
        (set_row(colour="red"), "rows[3]"),
        (set_median(-1.0), "rows[0].timing.median_ms"),
        (lambda data: data["rows"][0].update(facts={"load_s": -1.0}), "rows[0].facts.load_s"),
        (lambda data: data["rows"][0].update(status="fine"), "rows[0].status"),
        (lambda data: data.update(hash="123"), "hash"),
        (lambda data: data.update(schema=2), "schema"),
        (lambda data: data.pop("schema"), "schema"),
        (lambda data: data["machine"].update(torch="new"), "machine.torch"),
    ],
)
def test_a_wrong_field_is_named_with_its_file(tmp_path: Path, change: Change, field: str) -> None:
    path = changed(tmp_path, change)
    with pytest.raises(record.RecordError) as caught:
        record.load(path)
    assert str(path) in str(caught.value)
    assert field in str(caught.value)


AGAIN = {"kind": "lease", "date": "2026-11-30T09:00:00Z", "beside": "", "empty_launch_us": 4.0}
AGAIN |= {"medians_ms": {"copy_64": 0.0688}, "spreads_ms": {"copy_64": [0.068, 0.07]}}
AGAIN |= {"cold_s": {}, "outcomes": {}}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (set_median(0.0123), r"rows\[0\]\.timing\.median_ms: \w+ holds 0.0123, its samples give"),
        (
            lambda data: data["rows"][1]["timing"]["spread_ms"].__setitem__(1, 9.0),
            r"rows\[1\]\.timing\.spread_ms\[1\]: \w+ holds 9.0",
        ),
        (set_row(speedup=99.0), r"rows\[3\]\.speedup: \w+ holds 99.0, its samples give 1"),
        (
            lambda data: (data["rows"][0].pop("timing"), data["rows"][0].update(speedup=2.0)),
            r"rows\[0\]\.speedup: \w+ holds 2.0, nothing was timed",
        ),
        (
            lambda data: data.update(again=[{**AGAIN, "medians_ms": {"copy_64": 0.0123}}]),
            r"again\[0\]\.medians_ms\.copy_64",
        ),
        (lambda data: data.update(again=[{**AGAIN, "spreads_ms": {}}]), r"again\[0\]"),
    ],
)
def test_a_number_that_the_samples_do_not_give_is_refused(
    tmp_path: Path, change: Change, fault: str
) -> None:
    path = changed(tmp_path, change)
    with pytest.raises(record.RecordError, match=f"{re.escape(path.name)}: {fault}"):
        record.load(path)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (r'"gb_s": \d+', '"gb_s": 9999'),
        ('"complete": true', '"complete": false'),
        ('"NVIDIA H200"', '"NVIDIA A100"'),
        ('"date": "20', '"date": "19'),
        ('"sha256": "[0-9a-f]{4}', '"sha256": "0000'),
    ],
)
def test_a_record_that_was_edited_by_hand_is_refused(tmp_path: Path, was: str, now: str) -> None:
    path = tmp_path / CEILINGS.name
    text, n_edits = re.subn(was, now, CEILINGS.read_text(), count=1)
    path.write_text(text)
    assert n_edits
    with pytest.raises(record.RecordError, match=f"{re.escape(str(path))}: sha256: was edited"):
        record.load(path)


def test_nan_is_refused_on_reading_and_on_writing(tmp_path: Path) -> None:
    path = changed(tmp_path, set_median(float("nan")))
    with pytest.raises(record.RecordError, match=re.escape(str(path)) + ".*NaN"):
        record.load(path)
    with pytest.raises(ValueError, match="JSON compliant"):
        record.write(tmp_path / "new.json", {"ms": float("inf")})
    assert not (tmp_path / "new.json").exists()


def test_a_truncated_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / CEILINGS.name
    path.write_text(CEILINGS.read_text()[:400])
    with pytest.raises(record.RecordError, match=re.escape(str(path)) + r":\d+: truncated"):
        record.load(path)


def test_an_edited_experiment_refuses_its_old_record() -> None:
    with pytest.raises(record.RecordError, match=r"edited after.*--experiment ceilings"):
        record.check(record.load(CEILINGS), "0" * 64)


def replayed(tmp_path: Path, text: str) -> list[record.Record]:
    script = tmp_path / "ceilings.py"
    script.write_text(text)
    function = experiment.load(script).namespace.experiment
    return replay.replay_records(function, tmp_path)


def test_a_replay_labels_a_record_of_an_older_torch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "build_torch", lambda: "2.15.0")
    shutil.copy(CEILINGS, tmp_path)
    (one,) = replayed(tmp_path, SCRIPTS["ceilings"].read_text())
    out = capsys.readouterr().out
    assert one.torch == "2.11.0"
    assert "NVIDIA H200" in out
    assert "OLDER than this build's torch 2.15.0" in out


def test_a_second_measurement_is_shown_beside_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(tmp_path, lambda data: data.update(again=[AGAIN]))
    (one,) = replayed(tmp_path, SCRIPTS["ceilings"].read_text())
    replay.measured_again(one)
    out = capsys.readouterr().out
    told = " ".join(out.split())
    assert "on another lease on 2026-11-30; an empty launch took 4.0 µs; 0 of 1 spreads" in told
    assert max(map(len, out.partition("\n\n")[0].splitlines())) <= replay.WIDTH
    assert re.search(r"copy_64 .* 0\.0688 .* \+100%", out)
    assert one.facts["moved"] == pytest.approx(1.0, rel=0.01)


def test_a_replay_of_an_edited_experiment_fails(tmp_path: Path) -> None:
    shutil.copy(CEILINGS, tmp_path)
    edited = SCRIPTS["ceilings"].read_text().replace("n_samples=40", "n_samples=41")
    with pytest.raises(record.RecordError, match="edited"):
        replayed(tmp_path, edited)


def test_an_edited_sentence_needs_no_new_record(tmp_path: Path) -> None:
    shutil.copy(CEILINGS, tmp_path)
    edited = SCRIPTS["ceilings"].read_text().replace("# The rates by size", "# All rates by size")
    assert len(replayed(tmp_path, edited)) == 1


def test_a_missing_record_leaves_a_mark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replayed(tmp_path, SCRIPTS["ceilings"].read_text()) == []
    assert "NO RECORD of ceilings" in capsys.readouterr().out


def test_of_two_machines_a_sentence_quotes_the_one_recorded_last(tmp_path: Path) -> None:
    def elsewhere(date: str) -> tuple[str, list[str]]:
        path = changed(tmp_path, lambda data: data.update(date=date))
        other = json.loads(path.read_text().replace("NVIDIA H200", "NVIDIA A100"))
        record.save(tmp_path / CEILINGS.name.replace("h200", "a100"), other)
        shutil.copy(CEILINGS, tmp_path)
        values, failures = record_values(tmp_path, "2.15.0")
        return values["ceilings"]["device"], [str(failure) for failure in failures]

    assert elsewhere("2020-01-01T00:00:00Z") == ("NVIDIA H200", [])
    assert elsewhere("2099-01-01T00:00:00Z") == ("NVIDIA A100", [])
    _, [tie] = elsewhere(json.loads(CEILINGS.read_text())["date"])
    assert CEILINGS.name in tie
    assert CEILINGS.name.replace("h200", "a100") in tie


def test_releases_are_ordered_as_numbers() -> None:
    assert record.release_key("2.8.0") < record.release_key("2.15.0+cpu")


def test_fences_are_kept_by_the_hash_of_their_source(tmp_path: Path) -> None:
    fence = {"page": "p", "name": "n", "stdout": "1\n", "values": {"a": 1}, "n_asserts": 2}
    path = record.save_fences(
        "2.8.0", {"ab": fence}, compiler="g++", python="3.11.7", folder=tmp_path
    )
    (loaded,) = record.load_fences("2.8.0", tmp_path).values()
    assert loaded == {**fence, "sha256": loaded["sha256"]}
    assert record.load_fences("2.9.1", tmp_path) == {}
    path.write_text(path.read_text().replace('"stdout"', '"stderr"'))
    with pytest.raises(record.RecordError, match=r"fences\.ab.*stdout"):
        record.load_fences("2.8.0", tmp_path)


@pytest.mark.parametrize(("was", "now"), [('"a": 1', '"a": 9'), ("of 1", "of 9")])
def test_a_recorded_fence_that_was_edited_by_hand_is_named(
    tmp_path: Path, was: str, now: str
) -> None:
    fence = {"page": "p", "name": "n", "stdout": "of 1\n", "values": {"a": 1}, "n_asserts": 2}
    path = record.save_fences(
        "2.8.0", {"ab": fence}, compiler="g++", python="3.11.7", folder=tmp_path
    )
    path.write_text(path.read_text().replace(was, now))
    with pytest.raises(record.RecordError, match=r"fences\.ab: p, n: its values or its stdout"):
        record.load_fences("2.8.0", tmp_path)


def test_a_command_ends_with_what_a_damaged_record_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def build(*_: object, **__: object) -> None:
        message = "a.json: fences.ab: edited"
        raise record.RecordError(message)

    monkeypatch.setattr(cli, "build", build)
    assert cli.main(["run"]) == cli.COULD_NOT_RUN
    assert capsys.readouterr().err == "a.json: fences.ab: edited\n"


@pytest.mark.parametrize(
    "path", sorted(record.RECORDS.glob(f"{record.FENCES}--*.json")), ids=lambda path: path.stem
)
def test_the_committed_fences_are_as_recorded(path: Path) -> None:
    assert record.load_fences(path.stem.rpartition("-")[2])


def test_a_fence_of_which_something_else_is_asked_has_no_record(tmp_path: Path) -> None:
    fence = Fence(page="p", name="n", line=1, first_line=2, source="n = 1", values={"n": "n"})
    entry = {"page": "p", "name": "n", "stdout": "", "values": {"n": 1}, "n_asserts": 1}
    record.save_fences(
        "2.8.0", {recorded_digest(fence): entry}, compiler="g++", python="3.11.7", folder=tmp_path
    )

    def shown(one: Fence) -> tuple[str, list[str]]:
        found, failures = recorded_fence(tmp_path, one, "2.8.0", ("2.8.0",), where="docs/p.md:1")
        return found.kind, [failure.what for failure in failures]

    assert shown(fence) == ("recorded", [])
    stale = "fence n was edited after it was recorded on torch 2.8.0"
    for change in ({"values": {"n": "1000"}}, {"env": {"N": "1"}}, {"source": "n = 2"}):
        assert shown(replace(fence, **change)) == ("missing", [stale])


def test_the_reference_names_each_field_of_the_schema() -> None:
    page = (ROOT / "docs" / "reference" / "record-schema.md").read_text()
    schema = record.schema()
    machine = schema["properties"]["machine"]["properties"]
    fields = {*schema["properties"], *machine, *schema["$defs"]["row"]["properties"]}
    fields |= set(machine["gpu"]["oneOf"][1]["properties"])
    assert sorted(name for name in fields if not re.search(rf"\b{name}\b", page)) == []
