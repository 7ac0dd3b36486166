"""What other sites see of this one: cards, a sitemap, the page for lost addresses."""

import re

import pytest

from compile_in_practice import budget, links
from tests.sphinxext.conftest import Site, make_site

URL = "https://example.org/project"
BASE = f"{URL}/2.15.0/"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = make_site(tmp_path_factory.mktemp("published"))
    done = site.build("-j2", COMPILE_IN_PRACTICE_URL=URL)
    assert (done.returncode, done.stderr) == (0, "")
    return site


def tags(html: str) -> dict[str, str]:
    return dict(re.findall(r'<meta (?:property|name)="([\w:]+)" content="([^"]*)">', html))


def test_a_page_tells_its_title_and_its_claim(built: Site) -> None:
    told = tags(built.html("page"))
    assert told["og:title"] == "A page"
    assert told["description"] == told["og:description"] == "Prose, then another page."


def test_without_an_address_nothing_claims_one(built: Site) -> None:
    assert not {"og:url", "og:image", "twitter:card"} & set(tags(built.html("page")))
    assert "canonical" not in built.html("page")
    assert not (built.root / "out/sitemap.xml").exists()


def linked_from_lost(site: Site) -> set[str]:
    """What the page for lost addresses names that is this site's own."""
    linked = re.findall(r'(?:href|src|action|data-content_root)="([^"#]+)"', site.html("404"))
    outside = ("data:", "https://github.com/pradyunsg", "https://pradyunsg", "https://www.sphinx")
    return {one for one in linked if not one.startswith(outside)}


def test_the_page_for_lost_addresses_works_at_any_depth(built: Site, published: Site) -> None:
    for site, base in ((built, "/"), (published, BASE)):
        linked = linked_from_lost(site)
        assert {f"{base}index.html", f"{base}search.html", base} <= linked
        assert [one for one in linked if not one.startswith(base)] == []
    assert links.check(built.root / "out") == []
    assert '<meta name="robots" content="noindex">' in published.html("404")


def test_read_the_docs_says_where_it_publishes(site: Site) -> None:
    site.build(READTHEDOCS_CANONICAL_URL="https://example.org/en/stable/")
    assert "https://example.org/en/stable/index.html" in linked_from_lost(site)


def test_with_an_address_a_card_comes_with_the_link(published: Site) -> None:
    told = tags(published.html("lab/question"))
    assert told["og:url"] == f"{BASE}lab/question.html"
    assert told["og:image"] == f"{BASE}_static/card.png"
    card = (published.root / "out/_static/card.png").read_bytes()
    size = tuple(int.from_bytes(card[place : place + 4]) for place in (16, 20))
    assert size == (int(told["og:image:width"]), int(told["og:image:height"]))


def test_the_sitemap_lists_each_page_of_the_current_release(published: Site) -> None:
    found = re.findall(r"<loc>(.*?)</loc>", (published.root / "out/sitemap.xml").read_text())
    assert found == [
        f"{BASE}{name}.html" for name in ("index", "lab/index", "lab/question", "other", "page")
    ]


def test_an_old_release_is_in_no_sitemap(site: Site) -> None:
    site.torch = "2.8.0"
    site.summary()
    site.build(COMPILE_IN_PRACTICE_URL=URL)
    assert not (site.root / "out/sitemap.xml").exists()


def test_a_published_site_is_within_the_budget(published: Site) -> None:
    assert budget.check(published.root / "out") == []


def test_every_page_has_the_icon(built: Site) -> None:
    assert re.search(r'rel="shortcut icon" href="_static/favicon.svg', built.html("page"))
    assert (built.root / "out/_static/favicon.svg").is_file()
