"""What runs elsewhere: pinned, with few rights, and told by the project's own list."""

import json
import os
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github/workflows"
NAMES = sorted(path.name for path in FOLDER.glob("*.yml"))
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["compile_in_practice"]

GH = """#!/bin/sh
# Stands for gh: one open issue of the bot where the file is there, which holds its text.
# Somebody else has opened one too.
echo "$@" >> "{log}"
for last; do :; done
case "$1 $2" in
  "issue list") case "$*" in
    *"--app github-actions"*) test ! -e "{log}.open" || echo 7 ;;
    *) echo 5 ;;
    esac ;;
  "issue view") cat "{log}.open" ;;
  "issue create" | "issue edit") cat "$last" > "{log}.open" ;;
  "issue close") rm "{log}.open" ;;
esac
"""


NIGHTS = [("0", ""), ("1", "x"), ("1", "x"), ("2", "y"), ("1", "y"), ("0", "")]


def workflow(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load((FOLDER / name).read_text())
    return found


def jobs(name: str) -> dict[str, Any]:
    found: dict[str, Any] = workflow(name)["jobs"]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_pinned_by_commit_with_their_version_beside(name: str) -> None:
    lines = [line for line in (FOLDER / name).read_text().splitlines() if "uses:" in line]
    pinned = re.compile(r"\s*(- )?uses: [\w/-]+@[0-9a-f]{40} # v[\d.]+")
    assert lines
    assert [line for line in lines if not pinned.fullmatch(line)] == []


def test_an_action_has_one_pin_everywhere() -> None:
    text = "".join((FOLDER / name).read_text() for name in NAMES)
    pins = dict(re.findall(r"uses: ([\w/-]+)@(\w+)", text))
    assert set(re.findall(r"uses: ([\w/-]+)@(\w+)", text)) == set(pins.items())


def test_only_three_jobs_may_write_and_each_says_what() -> None:
    writing = {
        (name, job): {k: v for k, v in told.get("permissions", {}).items() if v == "write"}
        for name in NAMES
        for job, told in jobs(name).items()
    }
    assert {key: found for key, found in writing.items() if found} == {
        ("drift.yml", "report"): {"issues": "write"},
        ("pages.yml", "publish"): {"pages": "write", "id-token": "write"},
        ("pages.yml", "notebooks"): {"contents": "write"},
    }
    assert all(workflow(name)["permissions"] in ({}, {"contents": "read"}) for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_no_job_runs_without_an_end_or_keeps_the_token(name: str) -> None:
    for job in jobs(name).values():
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            if "checkout@" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False
            assert "${{" not in step.get("run", "")


def test_the_releases_are_those_of_the_project() -> None:
    command = [sys.executable, ".ci/releases.py"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    told = dict(line.split("=", 1) for line in said.splitlines())
    assert json.loads(told.pop("releases")) == SETTINGS["releases"]
    assert told == {"current": SETTINGS["current"]}
    for file, job in (("drift.yml", "release"), ("pages.yml", "build")):
        matrix = jobs(file)[job]["strategy"]["matrix"]
        assert matrix == {"release": "${{ fromJSON(needs.releases.outputs.releases) }}"}
    assert SETTINGS["current"] not in "".join((FOLDER / name).read_text() for name in NAMES)


def test_each_release_is_published_in_a_folder_and_the_root_leads_to_the_current(
    tmp_path: Path,
) -> None:
    for release in SETTINGS["releases"]:
        (tmp_path / f"site-{release}").mkdir()
        for name in ("404.html", "sitemap.xml"):
            (tmp_path / f"site-{release}" / name).write_text(release)
    command = [sys.executable, ".ci/releases.py", "--assemble", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True)
    at_root = {"index.html", "404.html", "sitemap.xml"}
    assert {path.name for path in tmp_path.iterdir()} == {*SETTINGS["releases"], *at_root}
    assert (tmp_path / "404.html").read_text() == SETTINGS["current"]
    assert f'url={SETTINGS["current"]}/index.html"' in (tmp_path / "index.html").read_text()


def test_the_notebooks_of_each_release_are_one_commit_of_a_branch(tmp_path: Path) -> None:
    for release, name in (("2.8.0", "module/a.ipynb"), ("2.15.0", "module/a.ipynb")):
        for path in (name, "_downloads/1/lab.ipynb", "module/a.html"):
            file = tmp_path / f"sites/site-{release}" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(release)
    remote = tmp_path / "remote"
    subprocess.run(["git", "init", "--quiet", "--bare", str(remote)], check=True)
    command = ["bash", ".ci/publish-notebooks", str(tmp_path / "sites")]
    env = os.environ | {"REMOTE": str(remote)}
    for _again in range(2):
        subprocess.run(command, cwd=ROOT, env=env, check=True)

    def git(*args: str) -> list[str]:
        told = ["git", "-C", str(remote), *args]
        return subprocess.run(told, capture_output=True, text=True, check=True).stdout.split()

    found = git("ls-tree", "-r", "--name-only", "notebooks")
    assert found == ["2.15.0/module/a.ipynb", "2.8.0/module/a.ipynb"]
    assert git("rev-list", "--count", "notebooks") == ["1"]


def test_drift_comes_by_schedule_and_a_nightly_blocks_nothing() -> None:
    assert set(workflow("drift.yml")[True]) == {"schedule", "workflow_dispatch"}  # "on"
    told = jobs("drift.yml")
    assert told["nightly"]["continue-on-error"] is True
    assert told["release"]["strategy"]["fail-fast"] is False
    (report,) = [s["run"] for s in told["report"]["steps"] if "drift_report" in s.get("run", "")]
    assert "--expect nightly --optional nightly" in report


def test_a_coming_default_without_a_result_is_no_agreement(tmp_path: Path) -> None:
    (step,) = [s for s in jobs("drift.yml")["report"]["steps"] if s.get("id") == "report"]
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > told\n')
    python.chmod(0o755)
    env = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "RELEASES": '["2.8.0", "2.15.0"]',
        "CURRENT": "2.15.0",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    subprocess.run(["bash", "-ec", step["run"]], cwd=tmp_path, env=env, check=True)
    told = (tmp_path / "told").read_text().replace("=", "\n").split("\n")
    expected = [after for before, after in pairwise(told) if before == "--expect"]
    assert expected == ["2.8.0", "2.15.0", "2.15.0-next", "nightly"]
    assert set(step["env"]) == {"PYTHONPATH", "RELEASES", "CURRENT"}
    assert jobs("drift.yml")["releases"]["outputs"].keys() == {"releases", "current"}


def test_a_gpu_is_reached_by_hand_by_maintainers_from_main_alone() -> None:
    assert set(workflow("gpu.yml")[True]) == {"workflow_dispatch"}
    record = jobs("gpu.yml")["record"]
    assert record["needs"] == "maintainer"
    assert record["if"] == "${{ github.ref == 'refs/heads/main' }}"
    assert record["environment"] == "gpu"
    others = [job for name in NAMES for job in jobs(name).values() if job != record]
    assert all(job["runs-on"] == "ubuntu-24.04" for job in others)


@pytest.mark.parametrize(
    ("role", "status"), [("admin", 0), ("maintain", 0), ("write", 1), ("none", 1)]
)
def test_who_does_not_maintain_is_refused(tmp_path: Path, role: str, status: int) -> None:
    (step,) = jobs("gpu.yml")["maintainer"]["steps"]
    gh = tmp_path / "gh"
    gh.write_text(f"#!/bin/sh\necho {role}\n")
    gh.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "ACTOR": "x", "REPOSITORY": "x/y"}
    done = subprocess.run(["bash", "-e", "-c", step["run"]], env=env, check=False)
    assert done.returncode == status


def test_nights_open_one_issue_update_it_and_close_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    gh = tmp_path / "gh"
    gh.write_text(GH.format(log=log))
    gh.chmod(0o755)
    summary = tmp_path / "summary.md"
    env = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    env |= {"GITHUB_SERVER_URL": "https://x.example", "GITHUB_REPOSITORY": "x/y"}
    for night, (status, text) in enumerate(NIGHTS):
        summary.write_text(f"torch 2.16.0.dev{night} " + text * 70000)
        command = ["bash", ".ci/drift-issue", status, str(summary)]
        subprocess.run(command, cwd=ROOT, env=env | {"GITHUB_RUN_ID": str(night)}, check=True)
        if status != "0":
            told = (tmp_path / "log.open").read_text()
            assert told.endswith(f"\n\nRun: https://x.example/x/y/actions/runs/{night}\n")
            assert len(told) < 65536
    asked = [line.split()[1] for line in log.read_text().splitlines() if line[:5] == "issue"]
    acts = [act for act in asked if act not in {"list", "view"}]
    assert acts == ["create", "edit", "edit", "comment", "edit", "close"]


def test_read_the_docs_builds_one_release_into_its_folder(tmp_path: Path) -> None:
    told = yaml.safe_load((ROOT / ".readthedocs.yaml").read_text())
    html = tmp_path / "results/torch-x/html"
    html.mkdir(parents=True)
    (html / "index.html").touch()
    nox = tmp_path / "nox"
    nox.write_text("#!/bin/sh\ntest \"$*\" = '-s docs'\n")
    nox.chmod(0o755)
    env = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "READTHEDOCS_OUTPUT": str(tmp_path / "_readthedocs"),
        "READTHEDOCS_CANONICAL_URL": "https://x.example/en/latest/",
    }
    for command in told["build"]["jobs"]["build"]["html"]:
        subprocess.run(["sh", "-ec", command], cwd=tmp_path, env=env, check=True)
    assert (tmp_path / "_readthedocs/html/index.html").exists()
