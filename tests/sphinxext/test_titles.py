"""The titles that the search field offers."""

import json

from tests.sphinxext.conftest import Site

INDEX = (
    "# Index\n\n```{toctree}\npage\nother\nlab/index\nmodule/a\nmodule/b\n```\n\n## Not of a page\n"
)
PAGE = "# Page {0}\n\nText.\n\n(own-{0})=\n## `size` of {0}\n\nText.\n\n## In short\n\nText.\n"


def test_pages_and_the_sections_that_one_page_alone_has(site: Site) -> None:
    site.page("index", [(0, INDEX)], source=INDEX)
    for name in "ab":
        text = PAGE.format(name)
        site.page(f"module/{name}", [(0, text)], source=text)
    done = site.build()
    assert (done.returncode, done.stderr) == (0, "")
    script = (site.root / "out/_static/title-data.js").read_text(encoding="utf-8")
    titles = json.loads(script.removeprefix("globalThis.siteTitles = ").removesuffix(";\n"))
    assert ["Page a", "module/a.html", ""] in titles
    assert ["1. A lab", "lab/question.html", ""] in titles
    assert ["size of b", "module/b.html#own-b", "Page b"] in titles
    assert {"In short", "Not of a page"}.isdisjoint(title for title, _, _ in titles)
