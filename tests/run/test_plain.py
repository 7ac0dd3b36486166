"""A fence as a plain file in another Python: the check on everything else."""

import sys
from collections.abc import Callable

import pytest

from compile_in_practice.failure import BuildError, Failure
from compile_in_practice.plain import Warm, check_python, run_plain
from compile_in_practice.project import load_project
from compile_in_practice.reading import page_paths, read_page
from tests.run.conftest import TORCH, Site, fence

Plain = Callable[[Site], tuple[int, list[Failure]]]
FORKS = pytest.mark.skipif(sys.platform != "linux", reason="needs a platform that forks")


@pytest.fixture(params=[None, *(pytest.param(one, marks=FORKS) for one in ("torch", "all"))])
def plain(request: pytest.FixtureRequest) -> Plain:
    """Build, then run each fence as a plain file; this Python stands in for the reader's."""

    def run(site: Site) -> tuple[int, list[Failure]]:
        report = site.build(fresh=not request.param)
        assert report.failures == []
        project = load_project(site.root)
        pages = [read_page(project, path)[0] for path in page_paths(project)]
        return run_plain(
            project, pages, report.results, sys.executable, width=2, warm=request.param
        )

    return run


def test_fences_and_chains_give_the_same_as_plain_files(site: Site, plain: Plain) -> None:
    site.page(
        "same",
        fence("one", 'n = 3\nassert n == 3\nprint("n", n)', values="{n: n, name: __name__}"),
        fence("two", 'assert n + 1 == 4\nprint("é")', continues="one", values="{m: n + 1}"),
        fence(
            "logs",
            'import os, sys\nprint("said", os.environ["SAY"], file=sys.stderr)',
            env="{SAY: hello}",
            log="[said hello]",
            values="{n: log.count('hello')}",
        ),
    )
    assert plain(site) == (3, [])


def test_another_value_or_output_is_a_failure_with_page_and_line(site: Site, plain: Plain) -> None:
    set_here_alone = (
        'import os\n\nn = int(os.environ.get("PYTHONHASHSEED", "1"))\nassert n in {0, 1}'
    )
    site.page(
        "differs",
        fence("value", set_here_alone, values="{n: n}"),
        fence("printed", set_here_alone + "\nprint(n)"),
    )
    n_ran, failures = plain(site)
    assert n_ran == 2
    assert [(failure.where, failure.what) for failure in failures] == [
        ("docs/differs.md:3", "differs.value.n: 0, as a plain file 1"),
        ("docs/differs.md:14", "fence printed prints something else"),
    ]
    assert failures[1].details == ("on the page: '0\\n'", "as a plain file: '1\\n'")


def test_each_fence_of_a_chain_is_compared_and_true_is_not_one(site: Site, plain: Plain) -> None:
    site.page(
        "chain",
        fence(
            "first",
            'import os\n\nn = os.environ.get("PYTHONHASHSEED", True) and 1\nassert n\n'
            'm = 1 if "PYTHONHASHSEED" in os.environ else True',
            values="{n: n, m: m}",
        ),
        fence("last", "m = n = 2\nassert n == 2", continues="first", values="{n: n, m: m}"),
    )
    _, failures = plain(site)
    assert [(failure.where, failure.what) for failure in failures] == [
        ("docs/chain.md:3", "chain.first.m: 1, as a plain file True"),
    ]


def test_a_line_of_a_chain_keeps_its_number(site: Site, plain: Plain) -> None:
    line = "import sys\n\nn = sys._getframe().f_lineno\nassert n"
    site.page(
        "lines",
        fence("one", line, values="{n: n}"),
        fence("two", line, continues="one", values="{n: n}"),
    )
    assert plain(site) == (2, [])


def test_a_fence_that_fails_as_a_plain_file_is_a_failure(site: Site, plain: Plain) -> None:
    code = 'import os\n\nassert os.environ["PYTHONHASHSEED"] == "0"'
    site.page("fails", fence("fails", code))
    _, (failure,) = plain(site)
    assert (failure.where, failure.what) == ("docs/fails.md:3", "fence fails fails as a plain file")
    assert failure.details[-1] == "KeyError: 'PYTHONHASHSEED'"


def test_a_file_that_takes_too_long_or_crashes_stops_no_other(site: Site, plain: Plain) -> None:
    slow_here = 'import os, time\n\nassert 1 + 1 == 2\nif "PYTHONHASHSEED" not in os.environ:\n    '
    site.page(
        "ends",
        fence("crashes", slow_here + "os.kill(os.getpid(), 11)"),
        fence("sleeps", slow_here + "time.sleep(60)", time_limit=1),
        *(fence(f"after_{n}", "n = 3\nassert n == 3") for n in range(3)),
    )
    n_ran, failures = plain(site)
    assert (n_ran, [failure.what for failure in failures]) == (
        5,
        ["fence crashes fails as a plain file", "fence sleeps fails as a plain file"],
    )


def test_no_file_meets_what_another_left(site: Site, plain: Plain) -> None:
    leaves = "import torch\n\nassert not hasattr(torch, 'left')\ntorch.left = n = 1"
    site.page("left", *(fence(f"leaves_{n}", leaves, values="{n: n}") for n in range(4)))
    assert plain(site) == (4, [])


@FORKS
def test_what_is_warm_is_there_before_a_file_imports_it(site: Site) -> None:
    code = (
        "import sys, torch\n\nn = 'torch._dynamo.testing' in sys.modules\nassert n in {False, True}"
    )
    path = site.page("there", fence("there", code, values="{n: n}"))
    report = site.build()
    assert report.failures == []
    project = load_project(site.root)

    def told(warm: Warm) -> list[str]:
        pages = [read_page(project, path)[0]]
        _, failures = run_plain(project, pages, report.results, sys.executable, width=1, warm=warm)
        return [failure.what for failure in failures]

    absent = ["there.there.n: True, as a plain file False"]
    assert (told(None), told("torch"), told("all")) == (absent, absent, [])


def test_a_fence_without_a_result_is_a_failure(site: Site) -> None:
    path = site.page("new", fence("new", "assert 1 + 1 == 2"))
    project = load_project(site.root)
    n_ran, failures = run_plain(
        project, [read_page(project, path)[0]], site.root / "results", sys.executable, width=1
    )
    assert (n_ran, [failure.what for failure in failures]) == (
        1,
        ["the run has no result for this fence"],
    )


def test_nothing_is_warm_where_the_run_did_not_fork(site: Site) -> None:
    site.page("fresh", fence("fresh", "assert 1 + 1 == 2"))
    report = site.build(fresh=True)
    project = load_project(site.root)
    with pytest.raises(BuildError, match="did not fork"):
        run_plain(project, [], report.results, sys.executable, width=1, warm="all")


def test_a_python_that_has_numpy_proves_nothing() -> None:
    with pytest.raises(BuildError, match=f"is no Python with torch {TORCH} alone: {TORCH} True"):
        check_python(sys.executable, TORCH)
