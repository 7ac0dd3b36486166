"""The command that records the GPU gallery and builds it: tried without a GPU."""

from pathlib import Path

import pytest

from compile_in_practice import gpu, record, recording
from compile_in_practice.values import Group, Scope

SCRIPT = """\
CASES = [{"n": n} for n in (1, 2)]
TRY_CASES = [{"n": n} for n in (1, 2)]


def experiment(*, n):
    return [{"name": f"row{n}", "status": "ok", "reason": "", "facts": {"n": n}}]
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tried.py"
    path.write_text(SCRIPT)
    monkeypatch.setattr(recording, "script_path", lambda _name: path)
    monkeypatch.setattr(gpu, "SITE_NEEDS", ("no_such_package",))
    return path


def test_without_cuda_nothing_is_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu.machine, "machine", lambda: {"gpu": None})
    assert gpu.main(["ceilings", "--out", str(tmp_path)]) == 2
    assert "no CUDA device" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_one_experiment_is_recorded_kept_and_resumed(
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["tried", "--try", "--out", str(tmp_path / "records")]
    assert gpu.main(command) == 0
    (path,) = (tmp_path / "records").glob("*.json")
    assert [row["name"] for row in record.load(path).rows] == ["row1", "row2"]
    told = capsys.readouterr().err
    assert "no_such_package not installed" in told
    before = path.read_bytes()
    assert gpu.main(command) == 0
    assert "recorded whole, kept" in capsys.readouterr().err
    assert path.read_bytes() == before

    recording.main(["--experiment", "tried", "--try", "--out", str(path.parent), "--case", "1"])
    assert not record.load(path).data["complete"]
    assert gpu.main(command) == 0
    assert record.load(path).data["complete"]
    script.write_text(SCRIPT.replace('"n": n}}', '"n": n + 1}}'))
    assert gpu.main(command) == 0
    assert [row["facts"]["n"] for row in record.load(path).rows] == [2, 3]


def test_ceilings_come_first_and_what_this_machine_lacks_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = gpu._all(n_gpus=1)
    assert names[0] == "ceilings"
    assert "two_gpus" not in names
    assert "two_gpus: left out" in capsys.readouterr().err
    assert "two_gpus" in gpu._all(n_gpus=2)


def test_a_verdict_that_fails_on_another_machine_is_marked() -> None:
    scope = Scope(names=Group.of({"records": {"a": {"b": {"ms": 1}}}}))
    text = "# It :verdict:`loses <records.a.b.ms > 2>` at :value:`records.a.b.ms` ms."
    told = gpu._told(text, scope, "a.py")
    assert told == "# It (not so in these records: loses) at 1 ms."


def test_the_gallery_is_built_as_a_site_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tmp_path / "scripts"
    one.mkdir()
    for name in ("GALLERY_HEADER.rst", "ceilings.py"):
        (one / name).write_text((gpu.SCRIPTS / name).read_text())
    monkeypatch.setattr(gpu, "SCRIPTS", one)
    assert gpu.build_site(tmp_path / "site") == 0
    page = (tmp_path / "site" / "html" / "gpu" / "ceilings.html").read_text()
    assert "The largest copy moves 4288 GB/s" in page
    assert "NVIDIA H200" in page
    assert ".svg" in page
