"""Numbers, verdicts and terms in prose, as `lint` and each build find them."""

from pathlib import Path

import pytest

from compile_in_practice import lint
from compile_in_practice.glossary import read_terms
from tests.run.conftest import Site

ROOT = Path(__file__).parents[2]
GLOSSARY = """# Glossary

:::{glossary}
CUDA graph
  A recording.
  Elsewhere: cudagraph.

cudagraph tree
  The recordings of a function.

entry
  Compiled code with its guards.
  Elsewhere: cache entry.
:::
"""


@pytest.fixture
def words(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A project with a glossary, as the working folder."""
    site.write("docs/reference/glossary.md", GLOSSARY)
    monkeypatch.chdir(site.root)
    return site


def told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what lint says, place and fault."""
    status = lint.main()
    *lines, last = capsys.readouterr().out.splitlines()
    assert last.endswith(f" {sum(line.startswith('docs/') for line in lines)} failures")
    assert status == (last.endswith(" 0 failures") is False)
    return [line for line in lines if line.startswith("docs/")]


def test_a_term_under_another_name_is_told_with_its_line(
    words: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    words.page("page", "Cudagraphs replay.\n", "Two-word: cache\tentries, cache-entry.\n")
    assert told(capsys) == [
        "docs/page.md:3: a term under another name: 'cudagraph'",
        "docs/page.md:5: a term under another name: 'cache entry'",
    ]


def test_quotations_code_labels_and_longer_terms_are_no_other_name(
    words: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    words.page(
        "page", "(cudagraph-x)=\n## `cudagraph`\n\nA cudagraph tree, “cache entry” says it.\n"
    )
    words.write("docs/reference/symptoms/page.md", "# A\n\n## skipping cudagraphs due to\n")
    assert told(capsys) == []


def test_verdicts_outside_headings_and_roles_are_told(
    words: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    words.page("page", "## Is it slower?\n\nIt beats eager; {verdict}`is slower <1 == 1>`.\n")
    assert told(capsys) == ["docs/page.md:5: a typed verdict: 'beats'"]


def test_each_term_of_the_site_means_something_and_has_one_name() -> None:
    terms = read_terms(ROOT / "docs")
    names = [name.lower() for term in terms for name in (term.name, *term.others)]
    assert len(terms) >= 70
    assert len(set(names)) == len(names)
    assert [term.name for term in terms if not term.meaning.endswith(".")] == []
