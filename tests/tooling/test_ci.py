import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github/workflows/ci.yml").read_text()

PYTHON = """#!/bin/sh
# Stands for the python3 that creates the environment of nox.
mkdir -p "$3/bin"
ln -s {python} "$3/bin/python"
printf '#!/bin/sh\\n' > "$3/bin/pip"
printf '#!/bin/sh\\necho "ran $*"\\n{act}\\n' > "$3/bin/nox"
chmod +x "$3/bin/pip" "$3/bin/nox"
"""


APT = """#!/bin/sh
# Stands for apt-get.
echo "apt-get $*"
"""


def ci(folder: Path, act: str, chromium: str = "sh") -> subprocess.CompletedProcess[str]:
    """Run .ci/run in a repository of its own with a nox that does as told."""
    (folder / ".ci").mkdir()
    (folder / ".ci/run").write_text((ROOT / ".ci/run").read_text())
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], cwd=folder, check=True)
    tools = folder.parent / "tools"
    tools.mkdir()
    python = PYTHON.format(python=sys.executable, act=act)
    stubs = {"python3": python, "apt-get": APT, "id": "#!/bin/sh\necho 0\n"}
    for name, text in stubs.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", ".ci/run"],
        cwd=folder,
        env=os.environ | {"PATH": path, "STAGE_LIMIT": "5", "CHROMIUM": chromium},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def verdicts(output: str) -> list[tuple[str, str]]:
    """Stage and verdict, from the closing table."""
    table = output.partition("seconds of each stage")[2]
    return re.findall(r"(?m)^ +\d+ s  (.+?) {2,}(passed|FAILED.*)$", table)


def test_ci_runs_every_stage_on_both_releases(tmp_path: Path) -> None:
    (tmp_path / "clone").mkdir()
    done = ci(tmp_path / "clone", "true")
    stages = ["lint", "types"]
    for release in ("2.15.0", "2.8.0"):
        stages += [f"{name} {release}" for name in ("tests", "docs", "plain")]
    stages += ["notebooks 2.15.0", "browser 2.15.0", "clean tree"]
    assert verdicts(done.stdout) == [(stage, "passed") for stage in stages]
    assert done.returncode == 0
    assert done.stdout.count("ran -s ") == 10
    assert "ran -s docs -- 2.8.0" in done.stdout
    assert "ran -s plain -- 2.15.0 --warm torch\n" in done.stdout
    assert "ran -s plain -- 2.8.0 --warm all\n" in done.stdout
    assert "ran -s tests -- 2.15.0\n" in done.stdout
    assert "ran -s tests -- 2.8.0 src tests/run tests/drift\n" in done.stdout


def test_ci_goes_on_after_a_failure_and_fails(tmp_path: Path) -> None:
    (tmp_path / "clone").mkdir()
    done = ci(tmp_path / "clone", 'case "$2" in types) exit 7;; esac')
    assert dict(verdicts(done.stdout))["types"] == "FAILED (status 7)"
    assert len(verdicts(done.stdout)) == 11
    assert done.returncode == 1


def test_ci_ends_a_stage_that_hangs(tmp_path: Path) -> None:
    (tmp_path / "clone").mkdir()
    done = ci(tmp_path / "clone", 'case "$2" in lint) exec sleep 60;; esac')
    assert dict(verdicts(done.stdout))["lint"] == "FAILED (status 124)"
    assert done.returncode == 1


def test_ci_fails_when_a_build_writes_into_the_tree(tmp_path: Path) -> None:
    (tmp_path / "clone").mkdir()
    done = ci(tmp_path / "clone", "touch left-behind")
    assert "?? left-behind" in done.stdout
    assert done.returncode == 1


def test_ci_fails_on_results_that_were_committed_by_force(tmp_path: Path) -> None:
    results = tmp_path / "clone/results"
    results.mkdir(parents=True)
    (results / ".gitignore").write_text("*\n")
    (results / "page.json").write_text("{}")
    git = ["git", "-C", str(tmp_path / "clone")]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "--force", "results/page.json"], check=True)
    done = ci(tmp_path / "clone", "true")
    assert "results/page.json" in done.stdout
    assert dict(verdicts(done.stdout))["clean tree"] == "FAILED (status 1)"
    assert done.returncode == 1


def test_ci_takes_no_choice_of_tests_from_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clone").mkdir()
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
    done = ci(tmp_path / "clone", 'echo "options: $PYTEST_ADDOPTS."')
    assert done.stdout.count("options: .") == 10


def test_ci_installs_a_browser_where_none_is_and_only_there(tmp_path: Path) -> None:
    for chromium, n_calls in (("no-such-browser", 2), ("sh", 0)):
        folder = tmp_path / chromium / "clone"
        folder.mkdir(parents=True)
        done = ci(folder, "true", chromium)
        assert done.stdout.count("apt-get ") == n_calls
        assert ("install --yes" in done.stdout) == bool(n_calls)
        assert done.returncode == 0


def test_workflow_pins_actions_by_commit_and_may_only_read() -> None:
    uses = re.findall(r"uses: (\S+)", WORKFLOW)
    assert uses
    assert [u for u in uses if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", u)] == []
    assert yaml.safe_load(WORKFLOW)["permissions"] == {"contents": "read"}
    assert WORKFLOW.count("persist-credentials: false") == WORKFLOW.count("checkout@")
