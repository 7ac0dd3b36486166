"""Numbers, verdicts and terms in prose, as `lint` and each build find them."""

from pathlib import Path

import pytest

from compile_in_practice import lint
from compile_in_practice.glossary import read_terms
from compile_in_practice.project import load_project
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


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        (":::{dropdown} It takes 5 seconds\nText.\n:::", "a typed number: '5'"),
        ("It compiles $17$ frames.", "a typed number: '17'"),
        ('It compiles "3" frames.', "a typed number: '3'"),
        ("It compiles `3` frames.", "a typed number: '`3` frames'"),
        ("It compiles &#51; frames.", "a typed number: '&#51;'"),
        ("It takes ½ of it.", "a typed number: '½'"),
        ("It halves the time.", "a typed number: 'halves'"),
        ("A tenfold gain.", "a typed number: 'tenfold'"),
        ("An order of magnitude less.", "a typed number: 'order of magnitude'"),
        ("It compiles a dozen frames.", "a typed number: 'a dozen frames'"),
        ("It takes a third of the time.", "a typed number: 'a third of'"),
        ("It is twice the memory.", "a typed number: 'twice the'"),
        ("The 3rd call compiles.", "a typed number: '3'"),
        ("It runs Python 3 times.", "a typed number: '3'"),
        ("Compiled code outperforms eager.", "a typed verdict: 'outperforms'"),
        ("Compiling speeds up the step.", "a typed verdict: 'speeds up'"),
    ],
)
def test_a_number_or_a_verdict_in_disguise_is_told(
    words: Site, capsys: pytest.CaptureFixture[str], sentence: str, found: str
) -> None:
    words.page("page", f"{sentence}\n")
    assert told(capsys) == [f"docs/page.md:3: {found}"]


def test_a_number_word_may_also_go(words: Site, capsys: pytest.CaptureFixture[str]) -> None:
    words.page("page", "It halves the time.\n")
    lint.main()
    assert "or say it without a number\n" in capsys.readouterr().out


def test_names_versions_and_quotations_with_digits_are_no_numbers(
    words: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    words.page(
        "page",
        "GPT-2 on an H200, Python 3.11, CUDA 12, $n = 2k$, “2 graphs” and “size 3” say it.\n",
        ":::{figure} graph-2.svg\n:alt: A size of 3\n:::\n",
    )
    assert told(capsys) == []


def test_a_digit_in_the_prose_of_a_script_is_told(words: Site) -> None:
    script = '"""A lab of 3 frames, on GPT-2.\n\n:value:`lab.a.n` of them.\n"""\n'
    cells = "\nN = 4  # of 5\n# %%\n# It compiles 6 frames.\n\nx = 7\n# eight, 8\n"
    words.write("gallery/lab/a.py", script + cells)
    failures = lint.wrong_scripts(load_project(words.root))
    assert [(f.where, f.what) for f in failures] == [
        ("gallery/lab/a.py:1", "a typed number: '3'"),
        ("gallery/lab/a.py:8", "a typed number: '6'"),
    ]


def test_each_term_of_the_site_means_something_and_has_one_name() -> None:
    terms = read_terms(ROOT / "docs")
    names = [name.lower() for term in terms for name in (term.name, *term.others)]
    assert len(terms) >= 70
    assert len(set(names)) == len(names)
    assert [term.name for term in terms if not term.meaning.endswith(".")] == []
