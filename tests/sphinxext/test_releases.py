"""The release of a page, and its way to the others where a site is published."""

import re

from compile_in_practice.history import Place, behaviour, changes
from tests.sphinxext.conftest import Site

URL = "https://example.org/practice"
SWITCHER = r'<li><a href="([^"]+)"( aria-current="true")?>([\d.]+)</a></li>'


def test_a_build_of_the_current_release_says_nothing_of_others(built: Site) -> None:
    page = built.html("page")
    assert "cip-releases" not in page
    assert "cip-built-with" not in page
    assert 'rel="canonical"' not in page


def test_a_published_page_links_itself_on_each_release(site: Site) -> None:
    site.torch = "2.8.0"
    site.summary()
    done = site.build(COMPILE_IN_PRACTICE_URL=URL)
    assert (done.returncode, done.stderr) == (0, "")
    page = site.html("page")
    assert re.findall(SWITCHER, page) == [
        ("../2.8.0/page.html", ' aria-current="true"', "2.8.0"),
        ("../2.15.0/page.html", "", "2.15.0"),
    ]
    assert '<a href="../../2.8.0/lab/index.html"' in site.html("lab/index")
    assert f'<link rel="canonical" href="{URL}/2.15.0/page.html"' in page
    notice = re.search(r'<p class="cip-built-with".*?</p>', page, re.DOTALL)
    assert notice is not None
    assert "built with PyTorch 2.8.0; the current release is 2.15.0" in notice[0]
    assert '<a href="../2.15.0/page.html">Read it there.</a>' in notice[0]


def test_tables_of_the_ledgers_lead_to_the_sections_that_measure(site: Site) -> None:
    ledgers = {
        torch: {
            "page.f": {"source": "s", "values": {"n": n, "text": "a|b `c`"}},
            "lab.question": {"source": "s", "values": {"model.n": n}},
        }
        for torch, n in (("2.8.0", 1), ("2.15.0", 2))
    }
    places = {"page.f": Place(page="page", title="A page", anchor="a-page")}
    tables = [*changes(ledgers, places), *behaviour(ledgers, places, {}, "2.15.0")]
    site.page("other", [(0, "\n".join(["# Other\n", *tables]))], source="# Other\n")
    done = site.build()
    assert (done.returncode, done.stderr) == (0, "")
    page = site.html("other")
    assert page.count('href="page.html#a-page"') == 3
    assert page.count('href="lab/question.html"') >= 2
    assert re.search(r'<div class="[^"]*cip-filter', page)
    assert "a|b `c`" in re.sub(r"<[^>]+>", "", page)
