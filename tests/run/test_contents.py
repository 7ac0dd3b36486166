"""A page that no table of contents names is told before anything is rendered."""

import pytest

from compile_in_practice.contents import unlisted
from compile_in_practice.project import load_project
from compile_in_practice.reading import page_paths, read_page
from tests.run.conftest import Site, fence


def told(site: Site) -> list[tuple[str, str]]:
    project = load_project(site.root)
    pages = [read_page(project, path)[0] for path in page_paths(project)]
    return [(failure.where, failure.remedy) for failure in unlisted(project, pages)]


def test_each_folder_has_the_table_that_shall_name_its_pages(site: Site) -> None:
    site.page("index", "```{toctree}\nmodule/index\n```\n")
    for name in ("module/index", "module/a", "top", "messages", "messages/b"):
        site.page(name, "Text.\n")
    assert told(site) == [
        ("docs/messages/b.md:1", "name it in docs/messages.md"),
        ("docs/messages.md:1", "name it in docs/index.md"),
        ("docs/module/a.md:1", "name it in docs/module/index.md"),
        ("docs/top.md:1", "name it in docs/index.md"),
    ]


@pytest.mark.parametrize(
    "table",
    [
        "```{toctree}\n:hidden:\n\nb\npart/page\n```\n",
        ":::{toctree}\nA title <part/page>\n:::\n",
        "````{grid}\n```{toctree}\n/part/page\n```\n````\n",
        "```{toctree}\n:glob:\n\npart/p*\n```\n",
        "```{learning-path}\nb: part/page\npart/page: b\n```\n",
        "```{learning-path}\npart/page\n```\n",
    ],
)
def test_a_table_names_a_page_in_any_form_that_sphinx_reads(site: Site, table: str) -> None:
    site.page("part/page", "Text.\n")
    site.page("index", table)
    assert told(site) == []


@pytest.mark.parametrize(
    "table",
    [
        "Text.\n\npart/page\n",
        "```{toctree}\nother\n```\n\npart/page\n",
        "````text\n```{toctree}\npart/page\n```\n````\n",
        "```{learning-path}\nother: part/page\n```\n",
    ],
)
def test_what_only_looks_like_an_entry_names_no_page(site: Site, table: str) -> None:
    site.page("part/page", "Text.\n")
    site.page("index", table)
    assert told(site) == [("docs/part/page.md:1", "name it in docs/index.md")]


def test_a_page_that_stands_alone_on_purpose_is_left_alone(site: Site) -> None:
    site.page("index", "Text.\n")
    site.write("docs/alone.md", "---\norphan: true\n---\n\n# Alone\n\nText.\n")
    assert told(site) == []


def test_a_build_fails_on_it_and_runs_the_page_all_the_same(site: Site) -> None:
    site.page("index", "Text.\n")
    site.page("page", fence("one", "assert 1 + 1 == 2"))
    report = site.build()
    assert [(f.where, f.what) for f in report.failures] == [
        ("docs/page.md:1", "no table of contents names this page")
    ]
    assert report.n_fences == 1
