"""Which release a page was built on, and the same page on the others.

Published, each release has a folder of its own; the canonical page is the current one's.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.config import Config

URL_VARIABLE = "COMPILE_IN_PRACTICE_URL"
READ_THE_DOCS = "READTHEDOCS_CANONICAL_URL"  # it publishes one release, at this address


def point_to_current(app: Sphinx, config: Config) -> None:
    """Give each page a canonical link to the current release, where a site is published."""
    if url := os.environ.get(URL_VARIABLE):
        config.html_baseurl = f"{url.rstrip('/')}/{summary(app)['current']}/"
    elif url := os.environ.get(READ_THE_DOCS):
        config.html_baseurl = f"{url.rstrip('/')}/"


def link_releases(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    _doctree: nodes.document | None,
) -> None:
    """Tell the template the release, and where the page is on every release."""
    told = summary(app)
    context["cip_torch"] = told["torch"]
    context["cip_current"] = told["current"]
    up = "../" * (pagename.count("/") + 1)
    published = told["releases"] if os.environ.get(URL_VARIABLE) else []
    context["cip_releases"] = [(one, f"{up}{one}/{pagename}.html") for one in published]


def summary(app: Sphinx) -> dict[str, Any]:
    """Return what the run says of itself."""
    results: Path = app.cip_results  # type: ignore[attr-defined]
    told: dict[str, Any] = json.loads((results / "summary.json").read_text(encoding="utf-8"))
    return told
