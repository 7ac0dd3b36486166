"""The labs' contracts, with the backends that need no compiler."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compile_in_practice import experiment, labs, replay

# Dynamo itself reads .grad of the tensors on which it builds guards.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
ROOT = Path(__file__).parents[2]
LABS = ROOT / "gallery" / "lab"


@pytest.fixture(params=["eager", "aot_eager"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def data(name: str, backend: str) -> Any:
    return experiment.load(LABS / f"{name}.py")(backend=backend)


def test_the_messy_model_breaks_and_the_clean_one_does_not(backend: str) -> None:
    found = data("messy_vs_clean", backend)
    assert found["messy"]["n_breaks"] >= 3
    assert (found["clean"]["n_breaks"], found["clean"]["n_graphs"]) == (0, 1)


def test_six_lengths_cost_six_at_most_three_and_one_frame(backend: str) -> None:
    frames = data("length_sweep", backend)["hand_norm"]
    assert frames["n_frames_false"] == 6
    assert frames["n_frames_none"] <= 3
    assert frames["n_frames_true"] == 1


def test_a_float_recompiles_and_a_buffer_does_not(backend: str) -> None:
    found = data("float_or_buffer", backend)
    assert found["float"]["n_recompiles"] >= 1
    assert found["buffer"]["n_recompiles"] == 0


def test_a_stack_is_one_frame_whole_and_two_by_block(backend: str) -> None:
    found = data("whole_or_blocks", backend)
    assert (found["whole"]["n_frames"], found["whole"]["n_ops"]) == (1, 30)
    assert (found["blocks"]["n_frames"], found["blocks"]["n_ops_each"]) == (2, [5, 5])


def test_the_compiled_twin_stays_with_the_eager_one(backend: str) -> None:
    assert data("training_twins", backend)["twins"]["below_1e_6"]


def test_a_lab_imports_no_figures_before_its_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(SystemExit):
        replay.pyplot()
    assert "matplotlib is not installed" in capsys.readouterr().out


def test_inductor_without_a_compiler_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch._inductor.config.cpp.cxx", ("no-such-compiler",))
    with pytest.raises(SystemExit, match=r"needs a C\+\+ compiler.*install g\+\+"):
        replay.require_compiler()


def test_a_build_without_data_for_a_lab_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(replay.RESULTS_VARIABLE, str(tmp_path))
    lab = experiment.load(LABS / "messy_vs_clean.py")
    with pytest.raises(FileNotFoundError, match="stored no data for messy_vs_clean"):
        replay.replay(lab.namespace.experiment)


def test_one_command_runs_each_lab_and_says_what_broke(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = "def experiment(backend):\n    return {'group': {'n': 2, 'backend': backend}}\n"
    (tmp_path / "good.py").write_text(good)
    assert labs.main(["--backend", "eager"], tmp_path) == 0
    (tmp_path / "bad.py").write_text("def experiment(backend):\n    assert backend == 'x', 'no'\n")
    assert labs.main(["--backend", "eager"], tmp_path) == 1
    out = capsys.readouterr().out
    assert "group 2" in out
    assert "BROKEN" in out


def test_the_skeleton_of_the_how_to_page_is_a_lab_that_runs(tmp_path: Path) -> None:
    page = ROOT / "docs" / "how-to" / "add-a-lab-or-a-gpu-experiment.md"
    lab = tmp_path / "your_lab.py"
    lab.write_text(page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0])
    command = [sys.executable, str(lab), "--backend", "eager"]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=True
    )
    assert "static          3" in done.stdout
    assert experiment.load(lab)(backend="aot_eager")["static"] == {"n_frames": 3}
