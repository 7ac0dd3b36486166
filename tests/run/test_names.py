"""A name that stands for nothing is reported, and a failing fence is reported once."""

from tests.run.conftest import Site, fence


def test_sentences_about_a_failing_fence_add_no_failure(site: Site) -> None:
    site.write("docs/one.md", fence("broken", "n = 1\nassert n == 2", values={"n": "n"}))
    site.write("docs/two.md", "It is {value}`one.broken.n`.\n\nIt is {value}`one.never.n`.\n")
    report = site.build()
    assert [(f.where, f.what.partition(":")[0]) for f in report.failures] == [
        ("docs/one.md:7", "AssertionError"),
        ("docs/two.md:3", "'one.never.n'"),
    ]


LAB = """\"\"\"A lab.\"\"\"


def experiment(backend="eager"):
    assert {}
    return {{"n": 2}}
"""


def test_sentences_about_a_failing_lab_add_no_failure(site: Site) -> None:
    sentence = "\n\n# %%\n# It is :value:`lab.broken.n`.\n"
    site.write("gallery/lab/broken.py", LAB.format("False") + sentence)
    site.write("gallery/lab/held.py", LAB.format("True"))
    site.page("page", "It is {value}`lab.broken.n`.\n\nIt is {value}`lab.held.m`.\n")
    assert [(f.where, f.what.partition(":")[0]) for f in site.build().failures] == [
        ("docs/page.md:5", "'lab.held.m'"),
        ("gallery/lab/broken.py:5", "AssertionError"),
    ]
