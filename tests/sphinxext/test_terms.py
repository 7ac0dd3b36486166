"""Terms of the glossary, defined where a page first uses them."""

import re

import pytest

from tests.sphinxext.conftest import Site, make_site

INDEX = "# Index\n\n```{toctree}\npage\nother\nlab/index\nmodule/page\nreference/glossary\n```\n"
GLOSSARY = """\
# Glossary

:::{glossary}
graph
  Operators that were captured.

graph break
  A place where capture & tracing end unmistakably.

bucket
  A length to pad to.
:::

:::{glossary}
ledger
  A file of this site.
:::
"""
PAGE = """\
# A page on a graph break

[A graph break](../other.md), `graph break`, and the ledger.

| graph break |
| --- |
| graph break |

Graph breaks end a graph, a graph break ends no paragraph, and a bucket is DDP's.
"""


@pytest.fixture(scope="module")
def defined(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = make_site(tmp_path_factory.mktemp("site"))
    site.page("index", [(0, INDEX)], source=INDEX)
    site.page("reference/glossary", [(0, GLOSSARY)], source=GLOSSARY)
    site.page("module/page", [(0, PAGE)], source=PAGE)
    done = site.build()
    assert (done.returncode, done.stderr) == (0, "")
    return site


def links(site: Site) -> list[tuple[str, str]]:
    return re.findall(
        r'<a href="([^"]*#term-[^"]*)" aria-describedby="[^"]*">([^<]*)</a>',
        site.html("module/page"),
    )


def test_the_first_use_in_prose_is_linked_and_the_longest_term_wins(defined: Site) -> None:
    glossary = "../reference/glossary.html#term-graph"
    assert links(defined) == [(f"{glossary}-break", "Graph breaks"), (glossary, "graph")]


def test_a_definition_is_text_of_the_page_that_the_link_names(defined: Site) -> None:
    tip = (
        'aria-describedby="definition-term-graph-break">Graph breaks</a>'
        '<span class="cip-definition" role="tooltip" id="definition-term-graph-break">'
        "A place where capture &amp; tracing end unmistakably.</span>"
    )
    assert tip in defined.html("module/page")


def test_search_finds_a_definition_in_the_glossary_alone(defined: Site) -> None:
    index = (defined.root / "out" / "searchindex.js").read_text(encoding="utf-8")
    found = re.search(r'"unmistak\w*": ?(\[[^\]]*\]|\d+)', index)
    assert found is not None
    assert found[1].isdigit()  # one page


def test_another_definition_reaches_the_pages_that_show_it(defined: Site) -> None:
    changed = GLOSSARY.replace("that were captured", "of a frame")
    defined.page("reference/glossary", [(0, changed)], source=changed)
    done = defined.build()
    assert (done.returncode, done.stderr) == (0, "")
    assert "Operators of a frame." in defined.html("module/page")
