"""What other sites see: cards and descriptions, a sitemap, a page for lost addresses.

A page's full address is known only where the site is published (`releases.URL_VARIABLE`).
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compile_in_practice.sphinxext.llms import claim_of
from compile_in_practice.sphinxext.releases import summary
from compile_in_practice.store import write_text

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

LOST = "404"
CARD = {
    "og:image": "_static/card.png",
    "og:image:width": "1200",
    "og:image:height": "630",
    "og:image:alt": "torch.compile in Practice: many operators become one graph.",
}
RELATIVE = re.compile(r'\b(href|src|action|data-content_root)="(?!https?:|data:|#)([^"]*)"')
SITEMAP = """\
<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{urls}
</urlset>
"""


def describe(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Add the tags that a search engine or a chat shows a link by."""
    if pagename == LOST:
        context["pageurl"] = None
        context["metatags"] = '<meta name="robots" content="noindex">'
    if doctree is None:
        return
    text = claim_of(app, pagename).replace("`", "")
    title = app.env.titles[pagename].astext()
    shown = {"og:type": "article", "og:site_name": app.config.html_title, "og:title": title}
    shown |= {"og:description": text} if text else {}
    if base := app.config.html_baseurl:
        shown |= {"og:url": context["pageurl"], **CARD, "og:image": base + CARD["og:image"]}
    tags = [f'<meta property="{key}" content="{escape(value)}">' for key, value in shown.items()]
    tags += [f'<meta name="description" content="{escape(text)}">'] if text else []
    tags += ['<meta name="twitter:card" content="summary_large_image">'] if base else []
    context["metatags"] = "\n    ".join([context.get("metatags", ""), *tags])


def write_sitemap(app: Sphinx, exception: Exception | None) -> None:
    """List every page of the release that search engines shall find."""
    told, base = summary(app), app.config.html_baseurl
    sitemap = Path(app.outdir, "sitemap.xml")
    if exception or not base or told["torch"] != told["current"]:
        sitemap.unlink(missing_ok=True)
        return
    urls = [f"<url><loc>{escape(base + page)}.html</loc></url>" for page in _pages(app)]
    write_text(sitemap, SITEMAP.format(urls="\n".join(urls)))


def make_absolute(app: Sphinx, exception: Exception | None) -> None:
    """Let the page for lost addresses work at any depth.

    A server answers with it for any address, and a relative link would start from there.
    Where the site's own address is not known, the server's root stands for it.
    """
    base, page = app.config.html_baseurl or "/", Path(app.outdir, f"{LOST}.html")
    if exception or not page.exists():
        return

    def absolute(match: re.Match[str]) -> str:
        return f'{match[1]}="{base}{match[2].removeprefix("./")}"'

    html = page.read_text(encoding="utf-8")
    page.write_text(RELATIVE.sub(absolute, html), encoding="utf-8")


def _pages(app: Sphinx) -> list[str]:
    return sorted(app.env.all_docs)
