import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = "def test_fact() -> None:\n    assert True\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with this one's conftest and settings, and one test."""
    for file in ("pyproject.toml", "tests/conftest.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text((ROOT / file).read_text())
    (tmp_path / "src").mkdir()
    (tmp_path / "tests/test_first.py").write_text(TEST)
    return tmp_path


def run(project: Path, *args: str) -> tuple[int, str]:
    """Exit status and output of pytest there."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *args]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("processes", [(), ("-n2", "--dist=loadscope")])
def test_several_processes_are_counted_together(project: Path, processes: list[str]) -> None:
    (project / "tests/test_other.py").write_text(TEST)
    code, output = run(project, *processes)
    assert (code, "2 passed" in output, "ERROR" in output) == (0, True, False)
    (project / "tests/test_empty.py").write_text("")
    code, output = run(project, *processes)
    assert (code, output.count("ERROR")) == (1, 1)
    assert "ERROR tests/test_empty.py: no test of it passed" in output


def test_full_run_passes(project: Path) -> None:
    code, output = run(project)
    assert (code, "1 passed" in output) == (0, True)


def test_full_run_fails_when_a_file_ran_no_test(project: Path) -> None:
    (project / "tests/test_empty.py").write_text("")
    code, output = run(project)
    assert code == 1
    assert "ERROR tests/test_empty.py: no test of it passed" in output


def test_full_run_fails_when_a_file_of_tests_has_another_name(project: Path) -> None:
    (project / "tests/check_other.py").write_text(TEST)
    (project / "tests/projects").mkdir()
    (project / "tests/projects/check_copy.py").write_text(TEST)
    code, output = run(project)
    assert code == 1
    assert output.count("ERROR") == 1
    assert "ERROR tests/check_other.py: no test of it passed" in output


def test_full_run_fails_when_a_module_is_skipped_whole(project: Path) -> None:
    skip = 'import pytest\npytest.skip("needs luck", allow_module_level=True)\n'
    (project / "tests/test_skipped.py").write_text(skip)
    code, output = run(project)
    assert code == 1
    assert "ERROR tests/test_skipped.py: no test of it passed" in output


@pytest.mark.parametrize("chosen", [[], ["tests/test_first.py"]])
@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("skip('flaky')", "test_other (flaky): a skip that nobody expects"),
        ("skip('needs CUDA or luck')", "(needs CUDA or luck): a skip that nobody expects"),
        pytest.param(
            "skip('needs Linux')",
            "(needs Linux): a skip that nobody expects",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="needs Linux"),
        ),
        ("parametrize('n', [])", "a skip that nobody expects"),
        ("xfail", "test_other: marked as failing: mend it or delete it"),
    ],
)
def test_any_run_fails_on_what_nobody_expects(
    project: Path, mark: str, told: str, chosen: list[str]
) -> None:
    other = f"\nimport pytest\n@pytest.mark.{mark}\ndef test_other(n): assert n\n"
    other += "@pytest.fixture\ndef n(): return 0\n"
    (project / "tests/test_first.py").write_text(TEST + other)
    code, output = run(project, *chosen)
    assert (code, told in output) == (1, True)


def test_full_run_fails_when_docstring_examples_did_not_run(project: Path) -> None:
    (project / "src/module.py").write_text('"""One.\n\n>>> 1\n1\n"""\n')
    assert run(project)[0] == 0
    code, output = run(project, "-p", "no:doctest", "-o", "addopts=")
    assert code == 1
    assert "ERROR src/module.py: no test of it passed" in output


def test_chosen_tests_are_no_full_run(project: Path) -> None:
    (project / "tests/test_empty.py").write_text("")
    assert run(project, "tests/test_first.py")[0] == 0
    assert run(project, "-k", "fact")[0] == 0


def test_warning_is_an_error(project: Path) -> None:
    warn = "import warnings\ndef test_fact():\n    warnings.warn('x')\n"
    (project / "tests/test_first.py").write_text(warn)
    assert run(project)[0] == 1
