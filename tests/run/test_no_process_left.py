"""However a build ends, nothing that it started is left, and nothing half-written is read."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from compile_in_practice.store import read_json, write_json
from tests.run.conftest import Site, fence, until

DAEMONS = """
import subprocess
import sys
from pathlib import Path

wait = [sys.executable, "-c", "import time; time.sleep(600)"]
subprocess.Popen(wait)
subprocess.Popen(wait, start_new_session=True)
"""
FORKED_DAEMON = """
import os
import time

if os.fork() == 0:
    os.setsid()
    time.sleep(600)
"""
WAITS = 'Path("running").touch()\nassert Path("running").exists()\nwhile True:\n    pass\n'


@pytest.fixture
def busy(site: Site) -> Site:
    """A project with a fence that has started processes and never ends."""
    site.page("busy", fence("busy", DAEMONS + FORKED_DAEMON + WAITS))
    site.page("quick", fence("quick", "assert 1 + 1 == 2"))
    return site


def started(site: Site, **variables: str) -> subprocess.Popen[str]:
    """Return a build that has come to the fence that never ends."""
    build = site.start("run", "--width", "2", **variables)
    until(lambda: [*site.root.glob("results/*/scratch/*/running")])
    until(lambda: len(site.processes()) == 6)  # command, worker, fence, its three daemons
    return build


def ended(build: subprocess.Popen[str]) -> tuple[int, str]:
    _, stderr = build.communicate(timeout=300)
    return build.returncode, stderr


MODES = pytest.mark.parametrize("fresh", ["", "1"], ids=["forked", "fresh"])


@MODES
def test_ctrl_c_ends_the_build_and_all_that_it_started(busy: Site, fresh: str) -> None:
    build = started(busy, COMPILE_IN_PRACTICE_FRESH=fresh)
    build.send_signal(signal.SIGINT)
    assert ended(build) == (130, "interrupted; nothing is left running\n")
    assert busy.left() == {}


@MODES
def test_a_killed_command_leaves_nothing_running(busy: Site, fresh: str) -> None:
    build = started(busy, COMPILE_IN_PRACTICE_FRESH=fresh)
    build.kill()
    assert ended(build)[0] == -signal.SIGKILL
    assert busy.left() == {}


@MODES
def test_a_killed_worker_fails_the_build_and_leaves_nothing_running(busy: Site, fresh: str) -> None:
    build = started(busy, COMPILE_IN_PRACTICE_FRESH=fresh)
    (worker,) = (
        pid
        for pid, line in busy.processes().items()
        if "compile_in_practice.worker" in line and parent(pid) == build.pid
    )
    os.kill(worker, signal.SIGKILL)
    code, message = ended(build)
    assert code == 2
    assert "the worker that runs the fences died" in message
    assert busy.left() == {}


def parent(pid: int) -> int:
    status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return int(status.rpartition(")")[2].split()[1])


def test_a_time_limit_ends_all_that_its_fence_started(site: Site) -> None:
    site.page("busy", fence("busy", DAEMONS + FORKED_DAEMON + WAITS, time_limit=3))
    report = site.build(fresh=True)
    assert [f.what for f in report.failures] == ["fence busy was stopped at its time limit"]
    assert site.left() == {}


def test_a_fence_whose_process_outlives_it_fails_and_the_process_is_killed(site: Site) -> None:
    site.page("left", fence("left", DAEMONS + "\nassert Path()\n"))
    site.page("forked", fence("forked", FORKED_DAEMON + "\nassert os.getpid()\n"))
    site.page("quick", fence("quick", "assert 1 + 1 == 2"))
    report = site.build(fresh=True)
    left = "left processes running, which were killed"
    assert [(f.where, f.what) for f in report.failures] == [
        ("docs/forked.md:3", left),
        ("docs/left.md:3", left),
    ]
    assert report.n_fences == 1
    assert site.left() == {}


def test_a_build_that_succeeds_leaves_nothing_running(site: Site) -> None:
    site.page("quick", fence("quick", "assert 1 + 1 == 2"))
    assert site.command("run").returncode == 0
    assert site.left() == {}
    assert [*site.root.glob("results/*/scratch")] == []


def test_the_build_after_an_interrupted_one_starts_anew(busy: Site) -> None:
    build = started(busy, COMPILE_IN_PRACTICE_FRESH="1")
    build.kill()
    ended(build)
    busy.page("busy", fence("busy", "assert 1 + 1 == 2"))
    report = busy.build(fresh=True)
    assert report.failures == []
    assert report.n_fences == 2


@pytest.mark.parametrize("cut", [0, 1, 40, -8], ids=["empty", "brace", "early", "in a character"])
def test_a_result_that_is_cut_is_measured_again(site: Site, cut: int) -> None:
    site.page("cut", fence("cut", 'n = 40\nprint("é" * n)\nassert n == 40', values="{n: n}"))
    report = site.build(fresh=True)
    (result,) = (report.results / "fences").iterdir()
    whole = result.read_bytes()
    end = whole.index("é".encode()) + 1 if cut < 0 else cut
    result.write_bytes(whole[:end])
    again = site.build(fresh=True)
    assert (again.failures, again.n_fences, again.n_reused) == ([], 1, 0)
    assert result.read_bytes() == whole


def test_a_file_is_replaced_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"n": 1})

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_json(path, {"n": 2})
    assert read_json(path) == {"n": 1}
    assert [item.name for item in tmp_path.iterdir()] == ["result.json"]


def test_an_unchanged_file_keeps_its_time(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"n": 1})
    os.utime(path, (1, 1))
    write_json(path, {"n": 1})
    assert path.stat().st_mtime == 1
    write_json(path, {"n": 2})
    assert json.loads(path.read_text(encoding="utf-8")) == {"n": 2}
