import json
from collections.abc import Callable

import pytest

from compile_in_practice.failure import Failure
from compile_in_practice.project import load_project
from compile_in_practice.reading import read_page
from compile_in_practice.report import Report
from tests.run.conftest import TORCH, Site, fence

OLDER, OLDEST = "2.7.1", "2.6.0"
INDUCTOR = "reaches Inductor, which needs a C++ toolchain to run"
NOT_BROUGHT = "a reader has torch alone: import what torch brings, or nothing"
UNIMPORTED = "this fence does not import it"
FLOAT = "a float (state a predicate over it)"
EXPECTED = [
    ("a-leak-reader.md:25", "AssertionError"),
    ("answer.md:3", "an answer that does not come from the run"),
    ("answer.md:7", "an answer that does not come from the run"),
    ("answer.md:8", "'nobody.n': NameError: name 'nobody' is not defined"),
    ("asserts-nothing.md:3", "fence dead_branch asserted nothing"),
    ("asserts-nothing.md:11", "fence uncalled asserted nothing"),
    ("asserts-nothing.md:19", "fence hollow_helper asserted nothing"),
    ("broken-again.md:31", "AssertionError: the sum"),
    ("broken.md:31", "AssertionError: the sum"),
    ("broken.md:41", "AssertionError"),
    ("children.md:3", "left processes running, which were killed"),
    ("children.md:13", "left processes running, which were killed"),
    ("duplicate.md:10", "the name 'same' is taken by line 3"),
    ("exit-one.md:3", "fence one ended its process with status 1"),
    ("exit-sys.md:10", "SystemExit: 0"),
    ("exit-zero.md:3", "fence zero ended its process with status 0"),
    ("expected-error-missing.md:12", "AssertionError: int('3') did not raise"),
    ("expected-error-other.md:8", "IndexError: list index out of range"),
    ("false-verdict.md:12", "verdict 'nothing' is false: counted.n == 0 (counted.n = 3)"),
    ("hang.md:10", "fence forever was stopped at its time limit"),
    ("imports.md:7", "ModuleNotFoundError: No module named 'numpy'"),
    ("imports.md:16", "ModuleNotFoundError: No module named 'packaging'"),
    (
        "imports.md:27",
        f"AttributeError: a plain file has not loaded torch._dynamo.testing: {UNIMPORTED}",
    ),
    ("imports.md:35", "ModuleNotFoundError: No module named 'compile_in_practice'"),
    ("inductor.md:10", f"fence default_backend {INDUCTOR}"),
    ("inductor.md:20", f"fence mode {INDUCTOR}"),
    ("inductor.md:35", f"fence hidden {INDUCTOR}"),
    ("inductor.md:55", f"fence in_place {INDUCTOR}"),
    ("kernel.md:1", "names the kernel 'missing-kernel', which is not there"),
    (
        "latin.md:1",
        "not UTF-8: 'utf-8' codec can't decode byte 0xef in position 11: invalid continuation byte",
    ),
    ("logs.md:3", "fence quiet did not log 'Recompiling function' (in this order)"),
    ("memory.md:9", "RuntimeError: [enforce fail at alloc_cpu.cpp"),
    ("nested.md:4", "a code cell inside another element is never run"),
    ("nested.md:14", "a code cell inside another element is never run"),
    (
        "options.md:5",
        "invalid YAML in the options: expected the node content, but found '<stream end>'",
    ),
    ("options.md:10", "unknown option 'tags'"),
    ("options.md:18", "a fence needs a name in snake case, not ''"),
    ("options.md:22", "a value's name must be an identifier, not 'if'"),
    ("options.md:30", "continues 'nothing', which is no earlier fence"),
    ("other-name.md:3", "a term under another name: 'graph split'"),
    ("output.md:9", "fence flood was stopped: it wrote too much output"),
    ("segfault.md:10", "fence crash died of SIGSEGV"),
    ("stops.md:16", "AssertionError"),
    ("stops.md:19", "did not run: the fence that it continues failed"),
    ("syntax.md:8", "SyntaxError: invalid syntax"),
    ("threads.md:3", "left threads running: Thread-1 (sleep)"),
    ("typed-number.md:3", "a typed number: '3'"),
    ("typed-verdict.md:3", "a typed verdict: 'is slower'"),
    ("undefined-value.md:6", "value n: NameError: name 'm' is not defined"),
    (
        "undefined-value.md:6",
        f"value x: TypeError: a value must be int, bool, str, list or dict, not {FLOAT}",
    ),
    ("unknown-name.md:3", "'nobody.n_graphs': NameError: name 'nobody' is not defined"),
    ("unknown-name.md:5", "a value in a heading changes its anchor with every result"),
]


def ledger(site: Site, release: str, **sources: str) -> None:
    fences = {
        f"broken.{name}": {"source": source, "values": {}} for name, source in sources.items()
    }
    text = json.dumps({"schema": 1, "torch": release, "fences": fences})
    site.write(f"docs/ledger/{release}.json", text)


@pytest.fixture(scope="module")
def failing(new_site: Callable[[str], Site]) -> Site:
    site = new_site("failures")
    page, _ = read_page(load_project(site.root), site.docs / "broken.md")
    first, second = (fence.digest for fence in page.fences)
    ledger(site, OLDER, first=first, second="of another text")
    ledger(site, OLDEST, first=first, second=second)
    return site


@pytest.fixture(scope="module")
def first_run(failing: Site) -> tuple[int, list[str]]:
    done = failing.command("run")
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


@pytest.fixture(scope="module")
def report(failing: Site, first_run: tuple[int, list[str]]) -> Report:
    """The report of the build that is repeated unchanged."""
    assert first_run
    return failing.build()


def at(report: Report, where: str) -> Failure:
    found = [failure for failure in report.failures if failure.where == f"docs/{where}"]
    assert len(found) == 1
    return found[0]


def test_one_run_reports_every_fault_of_every_page_and_nothing_else(report: Report) -> None:
    found = [(f.where.removeprefix("docs/"), f.what) for f in report.failures]
    cut = [  # how much memory was asked for, and where in torch, differs by release
        (where, what.partition(":1")[0] if "alloc_cpu" in what else what) for where, what in found
    ]
    assert cut == EXPECTED


def test_the_command_fails_and_fails_again_when_repeated_unchanged(
    first_run: tuple[int, list[str]], report: Report, failing: Site
) -> None:
    code, lines = first_run
    again = failing.command("run")
    assert (code, again.returncode) == (1, 1)
    same = [line for line in report.lines()[:-1] for line in line.splitlines()]
    assert lines[: len(same)] == same
    assert again.stdout.splitlines()[: len(same)] == same


def test_the_run_counts_what_ran(first_run: tuple[int, list[str]], report: Report) -> None:
    counts = f"torch {TORCH}: 38 pages, 11 fences ({{}} unchanged), 12 assertions held"
    assert counts.format(0) in first_run[1][-2]
    assert counts.format(11) in report.lines()[-1]


def test_a_failed_assertion_shows_its_line_and_what_it_compared(report: Report) -> None:
    failure = at(report, "broken.md:31")
    assert failure.details[:2] == ("assert measured == 4, 'the sum'", "measured = 3")
    assert at(report, "broken.md:41").details[:2] == (
        "assert len(values) == 3",
        "len(values) = 2",
    )


def test_a_failure_names_the_newest_release_where_this_very_fence_held(
    report: Report,
) -> None:
    held = f"torch {TORCH}; this very fence last held on torch"
    assert at(report, "broken.md:31").details[-1] == f"{held} {OLDER}"
    assert at(report, "broken.md:41").details[-1] == f"{held} {OLDEST}"
    assert at(report, "broken-again.md:31").details[-1] == f"torch {TORCH}"


def test_a_process_that_died_shows_the_line_on_which_it_did(report: Report) -> None:
    assert at(report, "segfault.md:10").details[0] == "ctypes.string_at(0)"
    assert at(report, "hang.md:10").details[0] == "while True: n += 1"


@pytest.mark.parametrize("line", [7, 16, 35])
def test_a_module_that_torch_does_not_bring_comes_with_what_to_do(
    report: Report, line: int
) -> None:
    assert at(report, f"imports.md:{line}").remedy == NOT_BROUGHT


@pytest.mark.parametrize("line", [10, 20, 35, 55])
def test_a_fence_that_reaches_inductor_says_what_to_write(report: Report, line: int) -> None:
    assert 'pass backend="eager"' in at(report, f"inductor.md:{line}").remedy


def test_the_other_pages_are_still_run_and_written(report: Report) -> None:
    page = json.loads((report.results / "pages" / "healthy.ipynb").read_text(encoding="utf-8"))
    prose, code, evidence = page["cells"]
    assert "Two: two." in "".join(prose["source"])
    assert code["outputs"][0]["text"] == ["n 2\n"]
    assert "1 fence ran, 1 assertion held" in "".join(evidence["source"])


def test_line_ends_tabs_and_pages_without_a_fence_are_fine(report: Report) -> None:
    def cells(name: str) -> list[str]:
        path = report.results / "pages" / f"{name}.ipynb"
        page = json.loads(path.read_text(encoding="utf-8"))
        return ["".join(cell["source"]) for cell in page["cells"]]

    assert cells("crlf")[1:3] == ["n = 2\nif n:\n\tassert n == 2", "Tabs:\there, 2."]
    assert cells("no-fence") == ["# No fence\n\nText alone."]
    assert "assert False" in cells("shows-a-fence")[0]


def test_marks_of_pure_setup_are_listed(report: Report) -> None:
    listed = ["docs/asserts-nothing.md:30: imports for the reader"]
    summary = json.loads((report.results / "summary.json").read_text(encoding="utf-8"))
    assert report.setups == summary["setup"] == listed
    told, _ = report.lines()[-2:]
    assert told.startswith("setup that asserts nothing, on purpose: 1 of the fences, see results/")
    unknown = f"the ledger of torch {TORCH} does not know 11 of the fences and labs as they stand"
    assert report.notices == [f"{unknown}: nox -s ledger -- {TORCH}"]


def test_a_page_that_fails_leaves_no_file_in_the_sources(failing: Site, report: Report) -> None:
    assert report.failures
    listed = {path.suffix for path in failing.docs.rglob("*") if path.is_file()}
    assert listed == {".md", ".json"}
    assert {path.name for path in failing.root.iterdir()} == {
        "docs", "pyproject.toml", "results",
    }  # fmt: skip


def test_a_build_in_which_nothing_runs_fails(site: Site) -> None:
    site.page("alone", "Text alone.\n")
    report = site.build()
    assert [(f.where, f.what) for f in report.failures] == [
        ("docs:1", "no page has a fence that runs")
    ]


def test_a_source_that_nobody_runs_is_refused(site: Site) -> None:
    site.page("page", fence("one", "assert 1 + 1 == 2"))
    site.write("docs/part/other.rst", "Other\n=====\n")
    site.write("docs/typed.ipynb", "{}")
    report = site.build(fresh=True)
    assert [(failure.where, failure.what) for failure in report.failures] == [
        ("docs/part/other.rst:1", "no fence of this file is run"),
        ("docs/typed.ipynb:1", "no fence of this file is run"),
    ]


def test_two_pages_of_one_name_are_told_apart_or_refused(site: Site) -> None:
    cell = fence("one", "assert 1 + 1 == 2")
    site.write("docs/0/same.md", "A page without a fence, read before the others.\n")
    site.page("a/same", cell)
    site.page("b/same", cell)
    report = site.build(fresh=True)
    assert [(f.where, f.what) for f in report.failures] == [
        ("docs/b/same.md:1", "two pages are named same in expressions")
    ]
    assert report.n_fences == 2
