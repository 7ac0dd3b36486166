"""What runs again after an edit, and the documentation builds of others that lied."""

import json
from pathlib import Path

import pytest

from compile_in_practice.report import Report
from tests.run.conftest import Site, fence

LINES = "A line of prose above the fence.\n" * 20


def counting(name: str, number: int = 2, **options: object) -> str:
    """Return a fence that says in the project's own folder that it ran."""
    code = f"""
import os
from pathlib import Path

root = next(p for p in Path.cwd().parents if (p / "pyproject.toml").exists())
with (root / "ran.txt").open("a") as ran:
    ran.write("{name}\\n")
number = {number}
assert number == {number}
"""
    return fence(name, code, **options)


def build(site: Site) -> tuple[list[str], Report]:
    """Build, and return the fences that were executed."""
    ran = site.root / "ran.txt"
    ran.unlink(missing_ok=True)
    report = site.build(fresh=True, width=1)
    return (ran.read_text(encoding="utf-8").split() if ran.exists() else []), report


@pytest.fixture
def three(site: Site) -> Site:
    """Two pages; on the first a chain of two fences and one that stands alone."""
    site.page(
        "one",
        counting("first", values="{n: number}"),
        counting("second", continues="first"),
        counting("alone"),
    )
    site.page("two", counting("other"))
    ran, report = build(site)
    assert (sorted(ran), report.failures) == (["alone", "first", "other", "second"], [])
    assert (report.n_pages, report.n_fences, report.n_reused) == (2, 4, 0)
    return site


def edit(site: Site, page: str, old: str, new: str) -> None:
    path = site.docs / f"{page}.md"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_rebuild_with_nothing_changed_runs_nothing(three: Site) -> None:
    ran, report = build(three)
    assert (ran, report.failures) == ([], [])
    assert (report.n_fences, report.n_reused, report.n_held) == (4, 4, 4)


def test_an_edit_of_prose_runs_nothing(three: Site) -> None:
    edit(three, "two", "# two", "# Two\n\nAnother sentence.")
    assert build(three)[0] == []


def test_after_an_edit_of_one_fence_only_that_fence_runs(three: Site) -> None:
    edit(three, "two", "assert number == 2", "assert number < 3")
    ran, report = build(three)
    assert (ran, report.n_reused) == (["other"], 3)


@pytest.mark.parametrize("edited", ["first", "second"])
def test_after_an_edit_within_a_chain_the_whole_chain_runs(three: Site, edited: str) -> None:
    edit(three, "one", f'ran.write("{edited}\\n")', f'ran.write("{edited} " "\\n")')
    assert build(three)[0] == ["first", "second"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("values: {n: number}", "values: {n: number + 1}"),
        ("values: {n: number}", "values: {n: number}\ntime_limit: 50"),
        ("values: {n: number}", "values: {n: number}\nenv: {ONE: 1}"),
        ("name: first\n", "name: first\nsetup: none\n"),
    ],
)
def test_an_edit_of_an_option_runs_the_fence_again(three: Site, old: str, new: str) -> None:
    edit(three, "one", old, new)
    ran, report = build(three)
    assert (ran, report.failures) == (["first", "second"], [])


def test_a_new_value_is_shown_at_once(three: Site) -> None:
    edit(three, "two", "# two", "# two\n\nThere are {value}`one.first.n` of them.")
    edit(three, "one", "values: {n: number}", "values: {n: number * 7}")
    _, report = build(three)
    page = (report.results / "pages" / "two.ipynb").read_text(encoding="utf-8")
    assert "There are 14 of them." in page


def test_a_page_of_another_name_runs_anew(three: Site) -> None:
    (three.docs / "two.md").rename(three.docs / "three.md")
    assert build(three)[0] == ["other"]


def test_two_fences_of_one_source_both_run(site: Site) -> None:
    code = counting("same")
    site.page("twins", code.replace("name: same", "name: a"), code.replace("name: same", "name: b"))
    ran, report = build(site)
    assert (ran, report.n_fences) == (["same", "same"], 2)
    ran, report = build(site)
    assert (ran, report.n_fences, report.n_reused) == ([], 2, 2)


def test_a_failed_fence_is_not_remembered(site: Site) -> None:
    site.page("fails", counting("fails").replace("assert number == 2", "assert number == 3"))
    for _ in range(2):
        ran, report = build(site)
        assert ran == ["fails"]
        assert [failure.where for failure in report.failures] == ["docs/fails.md:14"]


def test_a_fence_that_was_mended_passes(site: Site) -> None:
    site.page("fails", counting("fails").replace("assert number == 2", "assert number == 3"))
    assert build(site)[1].failures
    edit(site, "fails", "assert number == 3", "assert number == 2")
    assert build(site)[1].failures == []


# --- labs -------------------------------------------------------------------------

LAB = '''\
"""A question."""

from pathlib import Path


def experiment():
    import sys

    sys.path.insert(0, str(Path(__file__).parents[2] / "packages"))
    from helper import answer

    return {"answer": answer(), "share": 0.5}


# %%
# The answer is :value:`lab.asks.answer`.
'''


@pytest.fixture
def lab(site: Site) -> Site:
    site.write("gallery/lab/asks.py", LAB)
    return site


def helper(site: Site, answer: int) -> None:
    site.write(
        "packages/helper.py", "from inner import ANSWER\n\n\ndef answer():\n    return ANSWER\n"
    )
    site.write("packages/inner.py", f"ANSWER = {answer}\n")


def answered(report: Report) -> tuple[int, str]:
    """Return the lab's answer as data and as its script shows it."""
    data = json.loads((report.results / "labs" / "asks.json").read_text(encoding="utf-8"))
    script = (report.results / "gallery" / "lab" / "asks.py").read_text(encoding="utf-8")
    return data["answer"], script.splitlines()[-1]


def test_a_lab_that_fails_for_a_missing_package_runs_again_once_it_is_there(lab: Site) -> None:
    for _ in range(2):
        report = lab.build(fresh=True)
        found = [(f.where, f.what) for f in report.failures if "lab.asks" not in f.what]
        assert found == [
            ("gallery/lab/asks.py:10", "ModuleNotFoundError: No module named 'helper'")
        ]
        assert report.n_labs == 0
    helper(lab, 3)
    report = lab.build(fresh=True)
    assert (report.failures, report.n_labs) == ([], 1)
    assert answered(report) == (3, "# The answer is 3.")


def test_an_edited_helper_of_a_lab_gives_the_new_value(lab: Site) -> None:
    helper(lab, 3)
    assert answered(lab.build(fresh=True))[0] == 3
    helper(lab, 4)
    assert answered(lab.build(fresh=True)) == (4, "# The answer is 4.")


def test_a_lab_is_not_run_again_for_its_prose(lab: Site) -> None:
    helper(lab, 3)
    report = lab.build(fresh=True)
    (kept,) = (report.results / "experiments").iterdir()
    kept.write_text(kept.read_text(encoding="utf-8").replace('"answer": 3', '"answer": 5'))
    lab.write("gallery/lab/asks.py", LAB.replace("The answer is", "It is"))
    assert answered(lab.build(fresh=True)) == (5, "# It is 5.")


def test_only_exact_data_of_a_lab_are_named_values(lab: Site) -> None:
    helper(lab, 3)
    report = lab.build(fresh=True)
    assert [(m.name, m.where, m.values) for m in report.measured] == [
        ("lab.asks", "gallery/lab/asks.py:1", {"answer": 3})
    ]


def test_a_broken_lab_does_not_hide_the_others(lab: Site) -> None:
    helper(lab, 3)
    lab.write("gallery/lab/broken.py", '"""Q."""\n\n\ndef experiment():\n    assert 1 == 2, "no"\n')
    lab.write("gallery/lab/odd.py", '"""Q."""\n\n\ndef experiment():\n    return {"x": object()}\n')
    report = lab.build(fresh=True)
    assert [(f.where, f.what) for f in report.failures] == [
        ("gallery/lab/broken.py:5", "AssertionError: no"),
        ("gallery/lab/odd.py:1", "TypeError: Object of type object is not JSON serializable"),
    ]
    assert (report.n_labs, answered(report)[0]) == (1, 3)


def test_a_lab_that_has_no_experiment_is_a_failure_of_that_lab(lab: Site) -> None:
    helper(lab, 3)
    lab.write("gallery/lab/empty.py", '"""Q."""\n')
    lab.write("gallery/lab/typo.py", '"""Q."""\n\ndef experiment(:\n')
    report = lab.build(fresh=True)
    assert [(f.where, f.what.partition(";")[0]) for f in report.failures] == [
        ("gallery/lab/empty.py:1", "no function named `experiment` at the top level"),
        ("gallery/lab/typo.py:3", "invalid syntax"),
    ]
    assert (report.n_labs, answered(report)[0]) == (1, 3)


def test_two_labs_of_one_experiment_both_run(lab: Site) -> None:
    helper(lab, 3)
    lab.write("gallery/lab/twin.py", LAB)
    for _ in range(2):
        report = lab.build(fresh=True)
        assert (report.failures, report.n_labs) == ([], 2)
        assert [measured.name for measured in report.measured] == ["lab.asks", "lab.twin"]


# --- the documentation builds of others that lied ----------------------------------


def test_of_three_cells_the_one_after_the_failed_one_is_reported_as_not_run(site: Site) -> None:
    site.page(
        "three",
        fence("one", "x = 1\nassert x == 1"),
        fence("two", "assert x == 2", continues="one"),
        fence("three", "assert x == 1", continues="two"),
    )
    report = site.build(fresh=True)
    assert [(f.where, f.what) for f in report.failures] == [
        ("docs/three.md:16", "AssertionError"),
        ("docs/three.md:19", "did not run: the fence that it continues failed"),
    ]
    assert report.n_fences == 0


def test_a_page_that_names_a_missing_kernel_fails_and_is_not_empty(site: Site) -> None:
    cell = fence("k", 'print("ran")\nassert 1 + 1 == 2')
    site.write("docs/kernel.md", f"---\nkernelspec:\n  name: missing\n---\n\n# K\n\n{cell}")
    report = site.build(fresh=True)
    assert [(f.where, f.what) for f in report.failures] == [
        ("docs/kernel.md:1", "names the kernel 'missing', which is not there")
    ]
    page = json.loads((report.results / "pages" / "kernel.ipynb").read_text(encoding="utf-8"))
    assert page["metadata"]["kernelspec"]["name"] == "python3"
    assert page["cells"][1]["outputs"][0]["text"] == ["ran\n"]


def test_the_same_failing_lines_on_two_pages_have_each_their_own_page_and_line(
    site: Site,
) -> None:
    cell = fence("first", "measured = 3\nassert measured == 4")
    site.page("here", LINES, cell)
    site.page("there", "One line.\n", LINES, cell)
    report = site.build(fresh=True)
    lines = {}
    for name in ("here", "there"):
        text = (site.docs / f"{name}.md").read_text(encoding="utf-8").splitlines()
        lines[name] = text.index("assert measured == 4") + 1
    assert lines["there"] == lines["here"] + 2
    assert [f.where for f in report.failures] == [
        f"docs/here.md:{lines['here']}",
        f"docs/there.md:{lines['there']}",
    ]


def test_a_result_of_another_torch_is_never_shown(
    three: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build(three)[1].results
    monkeypatch.setattr("compile_in_practice.environment._git_revision", lambda _: "another")
    ran, report = build(three)
    assert len(ran) == 4
    assert report.results != first
    assert not Path(report.results, "ran.txt").exists()
