"""The one closed control under a fence: its X-ray, its values by release, its log.

It is a `<details>` of plain HTML: no script opens it, and no word of it is searched.
"""

from __future__ import annotations

import json
import re
from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from packaging.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

LONGEST = 80
FEW = 2  # releases that are named though they agree


class below(nodes.General, nodes.Element):  # noqa: N801  (docutils names nodes so)
    """The control; `html` holds all of it, so that no text of it reaches the search."""


def register(app: Sphinx) -> None:
    """Tell Sphinx how the control is written, and that only a page has one."""
    none = (_skip, None)
    app.add_node(below, html=(_write, _end), latex=none, text=none, man=none, texinfo=none)


def _write(translator: Any, node: below) -> None:
    translator.body.append(node["html"])


def _end(_translator: Any, _node: below) -> None:
    """Nothing is left to write."""


def _skip(_translator: Any, _node: below) -> None:
    raise nodes.SkipNode


def add(cell: nodes.container, told: dict[str, Any]) -> None:
    """Put the control under a cell, and leave of a long log the lines that it names."""
    if "log" in told:
        _shorten(cell, told["named"])
    parts = dict(_parts(told))
    if parts:
        summary = escape("; ".join(parts))
        html = f'<details class="cip-below"><summary>{summary}</summary>{"".join(parts.values())}'
        cell += below(html=f"{html}</details>")


def _shorten(cell: nodes.container, named: list[str]) -> None:
    for output in list(cell.findall(nodes.literal_block)):
        if "stderr" in output.parent["classes"] + output["classes"]:
            if named:
                text = "\n".join(named) + "\n"
                output.rawsource = text
                output.children = [nodes.Text(text)]
            else:
                output.parent.remove(output)


def _parts(told: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what the summary says of each part, and the part."""
    if "xray" in told:
        seen = told["xray"]
        counts = [
            _count(seen["n_graphs"], "graph"),
            _count(seen["n_breaks"], "graph break"),
            _count(seen["n_recompiles"], "recompile"),
        ]
        yield f"X-ray: {', '.join(filter(None, counts)) or 'no graph'}", _xray(seen)
    if "values" in told:
        yield "values by release", _values(told["values"])
    if "log" in told:
        n_lines = told["log"].count("\n")
        yield f"log: {n_lines} lines", _title("Log") + _box(told["log"].rstrip(), "Log")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""


def _xray(seen: dict[str, Any]) -> str:
    left_out = _count(seen["n_left_out"], "more compile")
    tail = f'<p class="cip-more">{left_out}, not shown</p>' if left_out else ""
    return "".join(_compile(one) for one in seen["compiles"]) + tail


def _compile(one: dict[str, Any]) -> str:
    """One compile of one frame: where, why again, its graph, breaks and guards."""
    name = one["function"] or "graph"
    at = f" at {_spot(one['spot'])}" if one["spot"] else ""
    identity = f" <code>[{escape(one['id'])}]</code>" if one["id"] else ""
    html = [f'<p class="cip-compile"><strong>{escape(name)}</strong>{identity}{at}</p>']
    html += [
        f"<p>Recompiled, a guard failed: <code>{escape(reason)}</code></p>"
        for reason in one["recompiles"]
    ]
    if one["failure"]:
        html.append(f"<p>Not compiled: {_prose(one['failure'])}</p>")
    if one["graph"]:
        cut = f"\n# {_count(one['n_cut'], 'more line')}" if one["n_cut"] else ""
        html.append(_box(one["graph"] + cut, f"Graph of {name}"))
    html += [_break(found) for found in one["breaks"]]
    if one["guards"]:
        html.append(f"<p>{_count(one['n_guards'], 'guard')}:</p>")
        html.append(_box("\n".join(one["guards"]), f"Guards of {name}"))
    return "".join(html)


def _break(found: dict[str, Any]) -> str:
    at = f" at {_spot(found['spot'])}" if found["spot"] else ""
    inside = f", in <code>{escape(found['inside'])}</code>" if found["inside"] else ""
    identifier = f" ({found['identifier']})" if found["identifier"] else ""
    reason = _prose(found["reason"].rstrip(".:"))
    why = f": {_prose(found['explanation'])}" if found["explanation"] else ""
    return f'<p class="cip-break">Graph break{at}{inside}. {reason}{identifier}{why}</p>'


def _prose(text: str) -> str:
    """What torch says, its code marked as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _spot(spot: dict[str, Any]) -> str:
    fence = f" of <code>{escape(spot['fence'])}</code>" if spot["fence"] else ""
    code = f", <code>{escape(spot['code'])}</code>" if spot["code"] else ""
    return f"line {spot['line']}{fence}{code}"


def _values(values: dict[str, dict[str, Any]]) -> str:
    """A row for each value: what it is, on which releases."""
    rows = []
    for name, by_release in values.items():
        releases: dict[str, list[str]] = {}
        for release in sorted(by_release, key=Version):  # a notebook sorts as text
            releases.setdefault(_shown(by_release[release]), []).append(release)
        n_measured = len(by_release)
        same = f"all {n_measured} releases" if len(releases) == 1 and n_measured > FEW else ""
        told = [
            f"<code>{escape(value)}</code> on {same or ', '.join(found)}"
            for value, found in releases.items()
        ]
        rows.append(f"<tr><th><code>{escape(name)}</code></th><td>{'; '.join(told)}</td></tr>")
    return f"{_title('Values by release')}<table>{''.join(rows)}</table>"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _title(text: str) -> str:
    return f'<p class="cip-title"><strong>{text}</strong></p>'


def _box(text: str, label: str) -> str:
    """Text that scrolls, also by keyboard."""
    name = escape(label, quote=True)
    return f'<pre tabindex="0" role="group" aria-label="{name}">{escape(text)}</pre>'
