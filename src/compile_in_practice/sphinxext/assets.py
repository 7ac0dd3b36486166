"""Each page loads the stylesheets and scripts that it uses, and no others.

Extensions add theirs to every page; `compile_in_practice.budget` says what that weighs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import imagesize  # type: ignore[import-untyped]  # what Sphinx measures with

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

CODE = 'class="highlight'
USED_BY = {  # the start of a file's name, and what stands on a page that uses it
    "_static/sphinx-design": "sd-",
    "_static/design-tabs": "sd-tab",
    "_static/sg_gallery": "sphx-glr-",
    "_static/sg-tags": "sphx-glr-tag",
    "_static/mystnb": 'class="cell',
    "_static/copybutton": CODE,
    "_static/clipboard": CODE,
    "_static/break-even": 'id="break-even"',
    "_static/filter": "cip-filter",
}
PICTURE = re.compile(r'<img (?![^>]*\bwidth=)[^>]*?src="([^"]+)"')


def drop_unused(
    _app: Sphinx,
    _pagename: str,
    _template: str,
    context: dict[str, Any],
    _doctree: nodes.document | None,
) -> None:
    """Take out of the context what no part of this page's body uses."""
    body = context.get("body", "")
    for kind in ("css_files", "script_files"):
        context[kind] = [one for one in context[kind] if _is_used(str(one.filename), body)]


def _is_used(filename: str, body: str) -> bool:
    return all(mark in body for start, mark in USED_BY.items() if filename.startswith(start))


def size_pictures(
    app: Sphinx,
    _pagename: str,
    _template: str,
    context: dict[str, Any],
    _doctree: nodes.document | None,
) -> None:
    """Give each picture its width and height, so that nothing moves when it arrives."""
    if "<img " in context.get("body", ""):
        files = {path.name: path for path in app.srcdir.rglob("*.[sp][vn]g")}

        def sized(match: re.Match[str]) -> str:
            path = files.get(Path(match[1]).name)
            width, height = imagesize.get(path) if path else (-1, -1)
            size = f'width="{round(width)}" height="{round(height)}" '
            return match[0].replace("<img ", f"<img {size}", 1) if width > 0 else match[0]

        context["body"] = PICTURE.sub(sized, context["body"])
