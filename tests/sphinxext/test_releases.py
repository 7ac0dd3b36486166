"""The release of a page, and its way to the others where a site is published."""

import re

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
