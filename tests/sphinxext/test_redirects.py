"""Old addresses lead to new ones."""

import re

from tests.sphinxext.conftest import Site

MOVED = """\
other#left -> page#a-page
page
gone -> other
gone#part -> page#a-page
deep/down#part -> page#a-page
"""


def refresh(html: str) -> list[str]:
    return re.findall(r'http-equiv="refresh" content="0; url=([^"]*)"', html)


def test_a_page_leads_on_from_an_anchor_that_left_it(site: Site) -> None:
    site.write("docs/reference/anchors.list", MOVED)
    done = site.build()
    assert (done.returncode, done.stderr) == (0, "")
    assert '({"#left": "page.html#a-page"})\n</script>' in site.html("other")
    assert "location.replace" not in site.html("page")


def test_a_page_that_moved_leads_to_its_new_address(site: Site) -> None:
    site.write("docs/reference/anchors.list", MOVED)
    site.build()
    site.build()  # and is not taken for a page whose source is gone
    assert refresh(site.html("gone")) == ["other.html"]
    assert '"#part": "page.html#a-page"' in site.html("gone")
    assert refresh(site.html("deep/down")) == ["../page.html#a-page"]
