"""Runs with the defaults to come and under Inductor: told, kept, and no drift by themselves."""

import json
import shutil

import pytest

from compile_in_practice.drift_formats import commands, junit, markdown, terminal
from compile_in_practice.drift_report import merge, read
from compile_in_practice.environment import read_environment
from compile_in_practice.project import load_project
from compile_in_practice.variant import read_variant
from tests.drift.conftest import drift
from tests.run.conftest import TORCH, Site, fence

FLAG = "torch._dynamo.config.recompile_limit"
CLAIM = "limits.limited.n_frames"
COMPILED = """\
import torch
import torch._inductor.codecache
from torch._dynamo.testing import CompileCounter

torch._dynamo.reset()
cnt = CompileCounter()
kernels = 0
own = torch._inductor.codecache.PyCodeCache.load_by_key_path

def load(*args, **options):
    global kernels
    kernels += 1
    return own(*args, **options)

torch._inductor.codecache.PyCodeCache.load_by_key_path = load
out = torch.compile(lambda x: x.sin() + 1, backend={backend})(torch.ones(3))
torch.testing.assert_close(out, torch.ones(3).sin() + 1)
"""
OUT_OF_BOUNDS = """\
import torch

torch._dynamo.reset()
look_up = torch.compile(lambda table, i: table.sin()[i], backend="eager")
try:
    look_up(torch.ones(4), torch.tensor([9]))
except IndexError as error:
    caught = error
assert "out of bounds" in str(caught)
"""


def announce(site: Site, setting: str = FLAG, value: str = "5") -> None:
    path = site.root / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(f'{text}\n[tool.compile_in_practice.announced]\n"{setting}" = {value}\n')


def test_a_coming_default_tells_what_it_will_change(copy: Site) -> None:
    announce(copy)
    status, result, _ = drift(copy, "--torch", TORCH, "--variant", "next")
    assert (status, len(result["missing"])) == (1, 11)  # no ledger of such runs yet
    status, result, said = drift(copy, "--torch", TORCH, "--variant", "next", "--accept")
    assert (status, result["label"], result["changed"]) == (0, f"{TORCH}-next", [])
    assert f"values changed, new or gone in docs/ledger/next/{TORCH}.json: 11\n" in said
    assert [(u["claim"], u["old"], u["new"]) for u in result["under"]] == [(CLAIM, 8, 5)]
    assert read(copy.root / "out.json") == result
    report = merge([result])
    assert report["status"] == 0
    row = f"{CLAIM} docs/limits.md:7 {TORCH}-next 8 -> 5"
    assert row in " ".join(terminal(report).split())  # the columns are as wide as the label
    assert f"| {CLAIM} | docs/limits.md:7 |  | {TORCH}-next | 8 -> 5 |" in markdown(report)
    assert next(commands(report)).startswith("::notice file=docs/limits.md,line=7,")
    assert "<failure" not in junit(report)


def test_a_plain_run_does_not_meet_the_results_of_a_variant(copy: Site) -> None:
    announce(copy)
    project = load_project(copy.root)
    folders = {
        read_environment(project, variant=read_variant(project, name)).folder
        for name in ("", "next", "inductor")
    }
    assert len(folders) == 3
    drift(copy, "--torch", TORCH, "--variant", "next", "--accept")
    status, result, _ = drift(copy, "--torch", TORCH)
    assert (status, result["changed"], result["under"]) == (0, [], [])


def test_a_fence_that_fails_under_a_coming_default_is_known_or_drift(copy: Site) -> None:
    page = (copy.docs / "limits.md").read_text(encoding="utf-8")
    copy.write("docs/limits.md", page.replace("1 < len(frames) < 12", "len(frames) == 8"))
    copy.command("ledger", "--torch", TORCH)
    announce(copy)
    status, result, _ = drift(copy, "--torch", TORCH, "--variant", "next", "--accept")
    assert (status, result["failed"]) == (0, [])
    told = [(u["claim"], u["new"]) for u in result["under"]]
    assert told == [(CLAIM, 5), ("limits.limited", "AssertionError")]
    path = copy.docs / f"ledger/next/{TORCH}.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"fails": "AssertionError"', '"fails": "KeyError"'))
    status, result, _ = drift(copy, "--torch", TORCH, "--variant", "next")
    assert (status, [f["what"] for f in result["failed"]]) == (1, ["KeyError -> AssertionError"])


def test_a_lab_that_fails_under_a_coming_default_gets_no_ledger(copy: Site) -> None:
    announce(copy)
    lab = copy.root / "gallery/lab/steady.py"
    text = lab.read_text(encoding="utf-8")
    lab.write_text(text.replace("return", "import torch\n\n    torch.gone()\n    return"))
    status, _, said = drift(copy, "--torch", TORCH, "--variant", "next", "--accept")
    assert status == 1
    assert f"no ledger of torch {TORCH} was written; failures: 1\n" in said
    assert not (copy.docs / "ledger/next").exists()


def test_what_a_variant_lacks_of_its_ledger_is_told_there(copy: Site) -> None:
    page = (copy.docs / "limits.md").read_text(encoding="utf-8")
    copy.write("docs/limits.md", page.replace("1 < len(frames) < 12", "len(frames) == 8"))
    copy.command("ledger", "--torch", TORCH)
    announce(copy)
    drift(copy, "--torch", TORCH, "--variant", "next", "--accept")
    path = copy.docs / f"ledger/next/{TORCH}.json"
    text = path.read_text(encoding="utf-8").replace('"n_known"', '"n_other"')
    path.write_text(text.replace('"n_frames": 5', '"n_frames": 5, "n_lost": 6'))
    page = (copy.docs / "steady.md").read_text(encoding="utf-8")
    copy.write("docs/steady.md", page.replace("n = 1 + 1", "n = 3 - 1"))
    status, result, _ = drift(copy, "--torch", TORCH, "--variant", "next")
    assert (status, result["failed"]) == (1, [])
    where, what = f"docs/ledger/next/{TORCH}.json:1", "api.asked.n_other is on no page"
    assert result["stale"] == [{"where": where, "what": what}]
    missing = {row["claim"] for row in result["missing"]}
    assert missing == {"the code of steady.plain", "api.asked.n_known"}
    assert [row["claim"] for row in result["lost"]] == ["limits.limited.n_lost"]


def test_one_row_holds_what_a_release_and_a_coming_default_change(copy: Site) -> None:
    announce(copy)
    _, plain, _ = drift(copy, "--torch", TORCH)
    _, other, _ = drift(copy, "--torch", TORCH, "--variant", "next", "--accept")
    changed = {**other["under"][0], "old": 7, "new": 8}
    report = merge([{**plain, "changed": [changed]}, other])
    (row,) = report["rows"]
    assert (row["kind"], row["change"], row["under"]) == ("changed", "7 -> 8", {"next": "8 -> 5"})
    assert report["status"] == 1


def test_a_release_without_the_setting_could_not_run(copy: Site) -> None:
    announce(copy, "torch._dynamo.config.of_tomorrow")
    status, result, said = drift(copy, "--torch", TORCH, "--variant", "next", "--brief")
    assert (status, result["variant"]) == (2, "next")
    lacks = f"torch {TORCH} has no torch._dynamo.config.of_tomorrow"
    assert said == f"{TORCH}-next: could not run: build: {lacks}\n"


def test_without_an_announced_default_there_is_no_such_run(copy: Site) -> None:
    status, result, _ = drift(copy, "--torch", TORCH, "--variant", "next")
    assert status == 2
    assert "no coming default is announced" in result["error"]


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_inductor_compiles_what_a_backend_leaves_as_it_is(copy: Site) -> None:
    values = "{kernels: kernels, n: cnt.frame_count}"
    backends = {"counted": "cnt", "named": '"eager"', "traced": '"aot_eager"'}
    fences = [
        fence(name, COMPILED.format(backend=backend), values=values)
        for name, backend in backends.items()
    ]
    kept = COMPILED.format(backend="lambda gm, inputs: lambda *args: gm(*args)")
    beside = COMPILED.format(backend='"eager"')
    copy.page(
        "compiled",
        *fences,
        fence("built", kept, values=values),
        fence("beside", beside, values=values, compares="backends"),
        fence("place", OUT_OF_BOUNDS, values="{n: len(caught.args)}"),
    )
    for path in copy.docs.glob("[!c]*.md"):
        path.unlink()
    shutil.rmtree(copy.root / "gallery")
    done = copy.command("ledger", "--torch", TORCH)
    assert done.returncode == 0, done.stdout
    _, result, _ = drift(copy, "--torch", TORCH, "--variant", "inductor", "--accept")
    told = {u["claim"]: (u["old"], u["new"]) for u in result["under"]}
    _, fails = told.pop("compiled.place")
    assert fails == "RuntimeError: kernel, index out of bounds: 0 <= tmp7 < 4L"  # no path
    assert told == {f"compiled.{name}.kernels": (0, 1) for name in backends}
    held = json.loads((copy.docs / f"ledger/inductor/{TORCH}.json").read_text(encoding="utf-8"))
    assert held["fences"]["compiled.counted"]["values"] == {"kernels": 1, "n": 1}
    assert held["fences"]["compiled.beside"]["values"] == {}  # its backends would be one


pytestmark = pytest.mark.usefixtures("known")
