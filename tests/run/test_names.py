"""A name that stands for nothing is reported, and a failing fence is reported once."""

from tests.run.conftest import Site, fence


def test_sentences_about_a_failing_fence_add_no_failure(site: Site) -> None:
    site.write("docs/one.md", fence("broken", "assert False", values={"n": "1"}))
    site.write("docs/two.md", "It is {value}`one.broken.n`.\n\nIt is {value}`one.never.n`.\n")
    report = site.build()
    assert [(f.where, f.what.partition(":")[0]) for f in report.failures] == [
        ("docs/one.md:6", "AssertionError"),
        ("docs/two.md:3", "'one.never.n'"),
    ]
