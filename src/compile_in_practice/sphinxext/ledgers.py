"""The tables of a ledger on a phone: each cell names its column, and names break at a joint.

`docs/_static/site.css` makes each row a card there, whose heading is out of sight.
"""

from __future__ import annotations

import re
from html import escape, unescape
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

LEDGER = "cip-ledger"
TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL)
ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
HEAD = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
JOINT = re.compile(r"(?<=\w)([._/])(?=[^\W\d])")  # of a name or a path, not of a number
TEXT = re.compile(r">[^<]+<")


def fit_phones(
    _app: Sphinx,
    _pagename: str,
    _template: str,
    context: dict[str, Any],
    _doctree: nodes.document | None,
) -> None:
    """Prepare the tables of a page that has a ledger."""
    if LEDGER in context.get("body", ""):
        context["body"] = TABLE.sub(lambda table: fitted(table[0]), context["body"])


def fitted(table: str) -> str:
    """Return a table of HTML with the columns named in its cells, and where words may break.

    >>> print(fitted("<table><tr><th>Here</th></tr><tr><td>a.is_b 2.8.0</td></tr></table>"))
    <table><tr><th>Here</th></tr><tr><td data-column="Here">a.<wbr>is_<wbr>b 2.8.0</td></tr></table>
    """
    names = [escape(unescape(TAG.sub("", head)).strip()) for head in HEAD.findall(table)]

    def named(row: re.Match[str]) -> str:
        columns = chain(names, repeat(""))
        return re.sub("<td>", lambda _: f'<td data-column="{next(columns)}">', row[0])

    return TEXT.sub(lambda text: JOINT.sub(r"\1<wbr>", text[0]), ROW.sub(named, table))
