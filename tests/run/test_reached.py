"""What a fence that fails still tells: the values that it would have given."""

from tests.run.conftest import Site, fence

COUNTED = """
import torch
from torch._dynamo.testing import CompileCounter

cnt = CompileCounter()
f = torch.compile(lambda x: x + 1, backend=cnt)
f(torch.ones(2))
assert cnt.frame_count == {n}
f(torch.ones(2, 2))
"""


def test_a_failed_build_tells_the_values_that_were_reached(site: Site) -> None:
    site.page(
        "page",
        fence("first", "n = 1\nassert n", values="{n: n}"),
        fence("counted", COUNTED.format(n=7), continues="first", values="{n: cnt.frame_count}"),
        fence("later", "m = 1\nassert m", continues="counted", values="{m: m}"),
        fence("fine", "k = 1\nassert k", values="{k: k}"),
    )
    report = site.build()
    assert [failure.where for failure in report.failures] == ["docs/page.md:24", "docs/page.md:28"]
    assert {item.name: item.values for item in report.measured} == {"page.fine": {"k": 1}}
    assert {item.name: item.values for item in report.reached} == {
        "page.first": {"n": 1},
        "page.counted": {"n": 2},
        "page.later": {},
    }


def test_a_log_counts_unless_the_fence_stopped(site: Site) -> None:
    logs = "import sys\nprint('one', file=sys.stderr)\n"
    values = """{n: log.count("one")}"""
    site.page(
        "page",
        fence("failed", f"{logs}assert 0", values=values),
        fence("stopped", f"{logs}None.removed", values=values),
    )
    report = site.build()
    assert {item.name: item.values for item in report.reached} == {
        "page.failed": {"n": 1},
        "page.stopped": {},
    }
