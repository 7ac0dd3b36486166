"""A page links a term where it first uses it."""

import re
from pathlib import Path

from tests.sphinxext.conftest import Site

INDEX = "# Index\n\n```{toctree}\npage\nother\nlab/index\nreference/glossary\n```\n"
GLOSSARY = """# Glossary

:::{glossary}
graph
  The *operators* of a frame.

graph break
  Where a graph ends.
  Elsewhere: graph split.

mode
  A bundle of settings.
:::
"""
PAGE = """# Graphs and modes

See `graph` and [a graph](other.md), a subgraph and a mode.
Graph breaks end graphs; a graph break ends a graph.

```python
graph = 1
```
"""


def build(site: Site, glossary: str = GLOSSARY) -> list[str]:
    """Return the links of the page to terms, as HTML."""
    site.page("index", [(0, INDEX)], source=INDEX)
    site.page("reference/glossary", [(0, glossary)], source=glossary)
    site.page("page", [(0, PAGE)], source=PAGE)
    done = site.build()
    assert (done.returncode, done.stderr) == (0, "")
    return re.findall(r'<a class="cip-term[^>]*>[^<]*</a>', site.html("page"))


def test_the_first_use_in_prose_is_a_link_with_the_meaning(site: Site) -> None:
    breaks, graphs = build(site)
    assert breaks.endswith(">Graph breaks</a>")
    assert graphs.endswith(">graphs</a>")
    assert 'href="reference/glossary.html#term-graph-break"' in breaks
    assert 'title="Where a graph ends."' in breaks
    assert "cip-term" not in site.html("reference/glossary")


def test_another_meaning_makes_every_page_again(site: Site) -> None:
    build(site)
    before = Path(site.root, "out/other.html").stat().st_mtime_ns
    breaks, _ = build(site, GLOSSARY.replace("Where a graph ends.", "A place."))
    assert 'title="A place."' in breaks
    assert Path(site.root, "out/other.html").stat().st_mtime_ns > before
