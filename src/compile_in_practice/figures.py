"""Figures of the gallery: ink and hatches, labels beside what they name, no colour.

In the dark theme the style sheet inverts the lightness of a figure, so each is drawn in
greys on a background that is left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from compile_in_practice.replay import flat, pyplot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from compile_in_practice.record import Record

INK, WITHIN = "0.2", "0.75"
STYLES = ("s--", "o-", "^-.", "x:", "D-")
MARKERS = {"s": "■", "o": "●", "^": "▲", "x": "\N{MULTIPLICATION SIGN}", "D": "◆"}
GAP = 0.085  # of the axes' height, between the names of two lines


def bars(
    records: Iterable[Record],
    *,
    unit: str,
    whole: tuple[str, str] = ("median_ms", "call"),
    part: tuple[str, str] | None = ("kernel_ms", "kernels"),
    only: str | tuple[str, ...] = "",
    shorten: str = "",
    form: str = "{:.2f}",
) -> None:
    """Draw a bar for each row, its number at the end; a hatched part of it inside.

    Args:
        records: whose rows are drawn, one figure each.
        unit: of the axis.
        whole: field and word of the bar.
        part: field and word of the hatched part, if any.
        only: beginning (or beginnings) of the names of the rows that are drawn.
        shorten: what is left out of the names.
        form: of the numbers.

    """
    for record in records:
        rows = [r for r in flat(record) if whole[0] in r and r["name"].startswith(only)]
        names = [r["name"].removeprefix(shorten).replace("_", " ") for r in rows]
        figure, axes = pyplot().subplots(figsize=(7, 0.7 + 0.34 * len(rows)))
        values = [r[whole[0]] for r in rows]
        drawn = axes.barh(names, values, color="none", edgecolor=INK, label=whole[1])
        axes.bar_label(drawn, [form.format(value) for value in values], padding=3)
        if part and any(part[0] in r for r in rows):
            inner = [min(r.get(part[0], 0.0), r[whole[0]]) for r in rows]
            ink = {"color": WITHIN, "hatch": "///", "edgecolor": INK}
            axes.barh(names, inner, **ink, label=f"{part[1]}, hatched")
            axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
        axes.set_xlabel(unit)
        axes.margins(x=0.12)
        axes.invert_yaxis()
        figure.tight_layout()


def lines(
    curves: Mapping[str, tuple[list[float], list[float]]],
    *,
    x: str,
    y: str,
    log_x: bool = False,
    log_y: bool = False,
) -> None:
    """Draw a line for each name, each with a marker of its own and its name at its end."""
    figure, axes = pyplot().subplots(figsize=(7, 3.4))
    for (places, values), style in zip(curves.values(), STYLES, strict=False):
        axes.plot(places, values, style, color=INK)
    if log_x:
        axes.set_xscale("log", base=2)
    if log_y:
        axes.set_yscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    _name_ends(axes, curves, log_y=log_y)
    figure.tight_layout()


def _name_ends(
    axes: Any, curves: Mapping[str, tuple[list[float], list[float]]], *, log_y: bool
) -> None:
    """Write each name at the right edge, as high as its line ends and clear of the others."""
    low, high = (math.log10(v) if log_y else v for v in axes.get_ylim())
    ends = {}
    for name, (places, values) in curves.items():
        height = math.log10(values[-1]) if log_y else values[-1]
        ends[name] = ((height - low) / (high - low), places[-1], values[-1])
    order = sorted(zip(ends, STYLES, strict=False), key=lambda pair: ends[pair[0]][0])
    heights: list[float] = []
    for name, _ in order:
        heights.append(max(ends[name][0], heights[-1] + GAP if heights else -math.inf))
    excess = max(0.0, max(heights) - 1)
    for (name, style), height in zip(order, heights, strict=True):
        axes.annotate(
            f"{MARKERS[style[0]]} {name.replace('_', ' ')}",
            xy=ends[name][1:],
            xytext=(1.02, height - excess),
            textcoords="axes fraction",
            va="center",
            arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.6},
        )
