"""Old addresses lead to new ones, as `docs/reference/anchors.list` says."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util.osutil import relative_uri

from compile_in_practice import anchors
from compile_in_practice.store import write_text

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

# An anchor never reaches a server: only the page itself can lead on from one.
LEAD = """<script>
((moved) => {{ const to = moved[location.hash]; if (to) location.replace(to); }})({})
</script>"""
GONE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="robots" content="noindex">
<title>This page moved</title>
{script}
<meta http-equiv="refresh" content="0; url={target}">
</head>
<body><p>This page moved: <a href="{target}">{target}</a></p></body>
</html>
"""


def lead_on(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Let a page lead on from the anchors that left it."""
    if doctree is not None and (moved := _moved(app).get(pagename)):
        context["body"] += _script(moved)


def write_gone(app: Sphinx, exception: Exception | None) -> None:
    """Put a page that leads on in the place of each one that moved."""
    if exception or app.builder.format != "html":
        return
    for page, moved in _moved(app).items():
        if page not in app.env.all_docs:
            target = escape(moved.get("", next(iter(moved.values()))))
            text = GONE.format(script=_script(moved), target=target)
            write_text(Path(app.outdir, f"{page}.html"), text)


def _moved(app: Sphinx) -> dict[str, dict[str, str]]:
    """Return for each page its fragments (`#old`, or nothing) with where they went."""
    found: dict[str, dict[str, str]] = {}
    for promise in anchors.read(Path(app.confdir).parent / anchors.LIST):
        if promise.moved_to:
            page, mark, name = promise.address.partition("#")
            to_page, to_mark, to_name = promise.moved_to.partition("#")
            target = relative_uri(f"{page}.html", f"{to_page}.html")
            found.setdefault(page, {})[mark + name] = target + to_mark + to_name
    return found


def _script(moved: dict[str, str]) -> str:
    return LEAD.format(json.dumps(moved).replace("<", "\\u003c"))
