"""A fence gives the same values from a warm parent's fork and from a fresh interpreter."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compile_in_practice.environment import SETTINGS, read_environment
from compile_in_practice.project import load_project
from compile_in_practice.report import Report
from compile_in_practice.runner import _warm_modules, _worker
from tests.run.conftest import TORCH, Site

FENCES = [
    "compiled_once",
    "backward",
    "random",
    "logged_from_the_start",
    "logged_graphs",
    "traced_from_the_start",
    "logged_when_asked",
    "first_of_chain",
    "last_of_chain",
]


@pytest.fixture(scope="module")
def probes(new_site: Callable[[str], Site]) -> Site:
    return new_site("probes")


@pytest.fixture(scope="module")
def forked(probes: Site) -> Report:
    return probes.build()


@pytest.fixture(scope="module")
def fresh(probes: Site) -> Report:
    return probes.build(fresh=True)


def results(report: Report) -> dict[str, dict[str, Any]]:
    found = {}
    for path in (report.results / "fences").iterdir():
        found |= json.loads(path.read_text(encoding="utf-8"))["fences"]
    return found


def test_every_probe_ran_in_both_modes(forked: Report, fresh: Report) -> None:
    assert (forked.failures, fresh.failures) == ([], [])
    assert forked.results != fresh.results
    for report in (forked, fresh):
        assert (report.n_fences, report.n_reused) == (len(FENCES), 0)
        assert sorted(results(report)) == sorted(FENCES)


@pytest.mark.parametrize("name", FENCES)
@pytest.mark.parametrize("kind", ["values", "stdout", "stderr", "n_held", "xray"])
def test_a_fork_and_a_fresh_interpreter_give_the_same(
    forked: Report, fresh: Report, name: str, kind: str
) -> None:
    assert results(forked)[name][kind] == results(fresh)[name][kind]


def test_the_pages_of_both_modes_are_the_same(forked: Report, fresh: Report) -> None:
    def page(report: Report) -> str:
        return (report.results / "pages" / "probes.ipynb").read_text(encoding="utf-8")

    assert page(forked) == page(fresh)


def test_a_log_carries_no_time_no_process_no_folder_and_no_frame_of_the_runner(
    forked: Report,
) -> None:
    lines = results(forked)["logged_from_the_start"]["values"]["lines"]
    assert lines
    text = "\n".join(lines)
    assert "torch/_dynamo/" in text
    assert "user code at fence.py:5" in text
    assert 'File "fence.py", line 10, in <module>' in text
    others = ("site-packages", "scratch", "worker", "runpy", "V1")
    assert [part for part in others if part in text] == []


@pytest.fixture(scope="module")
def parent(probes: Site, forked: Report) -> dict[str, Any]:
    """What the warm parent says of itself once it is warm."""
    results = forked.results
    environment = read_environment(load_project(probes.root))
    order = {
        "mode": "fork",
        "allowed": environment.allowed,
        "width": 1,
        "jobs": [],
        "modules": _warm_modules(environment, results),
    }
    with _worker(results, order, SETTINGS) as events:
        (event,) = events
    return event


def test_the_warm_parent_has_one_thread(parent: dict[str, Any]) -> None:
    assert parent == {"torch": parent["torch"], "threads": 1}
    assert parent["torch"].partition("+")[0] == TORCH


def test_the_warm_parent_never_compiled(forked: Report) -> None:
    values = results(forked)["compiled_once"]["values"]
    assert (values["before"], values["threads"]) == ({}, 1)


def test_what_a_first_compile_imports_is_asked_once(probes: Site, forked: Report) -> None:
    path = Path(forked.results, "warm.json")
    modules = json.loads(path.read_text(encoding="utf-8"))
    assert "torch._functorch.aot_autograd" in modules
    assert not [name for name in modules if not name.startswith("torch.")]
    path.write_text('["torch"]\n', encoding="utf-8")
    assert _warm_modules(read_environment(load_project(probes.root)), forked.results) == ["torch"]
