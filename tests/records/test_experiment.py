"""The slice of a script that measures, and the hash that binds data to it."""

from pathlib import Path

import pytest

from compile_in_practice import experiment

SCRIPT = '''\
"""Docstring."""

import math

import matplotlib.pyplot as plt

SIZES = (1, 2)  # a knob
CASES = [{"size": size} for size in SIZES]
TRY_CASES = [{"size": size} for size in (0,)]
LIMITS = {"low": 1}
LIMITS["high"] = 2


def helper(x):
    """Doc."""
    return math.sqrt(x) + LIMITS["high"]


def unused():
    return plt


def experiment(*, size=1):
    """Doc."""
    data = {"root": helper(size)}
    return data


data = experiment()
for size in SIZES:
    plt.plot(size)
'''


def write(folder: Path, text: str) -> Path:
    path = folder / "lab.py"
    path.write_text(text)
    return path


def hash_of(folder: Path, text: str) -> str:
    return experiment.load(write(folder, text)).hash


def test_the_slice_runs_without_the_replay_part(tmp_path: Path) -> None:
    lab = experiment.load(write(tmp_path, SCRIPT))
    assert lab(size=4) == {"root": 4.0}
    assert lab.cases == [{"size": 1}, {"size": 2}]
    names = set(vars(lab.namespace))
    assert {"helper", "LIMITS", "math", "SIZES"} <= names
    assert names.isdisjoint({"plt", "unused", "data", "TRY_CASES", "size"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a knob", "# another comment"),
        ('"""Doc."""', '"""Other words."""'),
        ('"""Docstring."""', '"""Other words.\n\nMore.\n"""'),
        ("plt.plot(size)", "plt.plot(size, size)"),
        ("for size in (0,)", "for size in (0, 9)"),
        ("return plt", "return None"),
        (
            "import math\n\nimport matplotlib",
            "import matplotlib.cm\nimport math\nimport matplotlib",
        ),
        ("SIZES = (1, 2)", "SIZES = (\n    1,\n    2,\n)"),
    ],
)
def test_prose_and_replay_leave_the_hash_alone(tmp_path: Path, old: str, new: str) -> None:
    assert old in SCRIPT
    assert hash_of(tmp_path, SCRIPT.replace(old, new)) == hash_of(tmp_path, SCRIPT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SIZES = (1, 2)", "SIZES = (1, 3)"),
        ('LIMITS["high"] = 2', 'LIMITS["high"] = 3'),
        ("math.sqrt(x) +", "math.sqrt(x) -"),
        ('{"root": helper(size)}', '{"root": helper(size), "more": 1}'),
        ("size=1", "size=2"),
    ],
)
def test_an_edited_knob_or_helper_changes_the_hash(tmp_path: Path, old: str, new: str) -> None:
    assert old in SCRIPT
    assert hash_of(tmp_path, SCRIPT.replace(old, new)) != hash_of(tmp_path, SCRIPT)


def test_an_edited_helper_of_the_project_changes_the_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "from compile_in_practice.timing import sample\n\n\ndef experiment():\n    return sample\n"
    )
    before = hash_of(tmp_path, text)
    real = experiment._source

    def edited(old: str, new: str) -> None:
        def source(module: str) -> str:
            assert old in real("compile_in_practice.timing")
            return real(module).replace(old, new)

        monkeypatch.setattr(experiment, "_source", source)

    edited("n_samples: int = 25", "n_samples: int = 26")
    assert hash_of(tmp_path, text) != before
    edited("def kernel_names(", "def other_name(")
    assert hash_of(tmp_path, text) == before


def test_the_hash_is_the_same_on_each_python(tmp_path: Path) -> None:
    # Pinned: Pythons differ in where they keep the variables of a comprehension.
    digest = "9e171640"
    assert len(hash_of(tmp_path, SCRIPT)) == 64
    assert hash_of(tmp_path, SCRIPT)[:8] == digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def experiment(:\n", "lab.py:1"),
        ("x = 1\n", "no function named `experiment`"),
    ],
)
def test_a_script_without_an_experiment_says_so(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(experiment.ExperimentError, match=message):
        experiment.load(write(tmp_path, text))


def test_an_import_within_an_experiment_of_a_missing_helper_says_so(tmp_path: Path) -> None:
    text = "def experiment():\n    from compile_in_practice.nowhere import x\n    return x\n"
    with pytest.raises(experiment.ExperimentError, match="nowhere"):
        _ = hash_of(tmp_path, text)
