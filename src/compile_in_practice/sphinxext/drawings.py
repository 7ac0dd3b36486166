"""SVG drawings put into the page, so that they take the theme's colours."""

from __future__ import annotations

import html
import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from compile_in_practice.sphinxext.markdown import figure


class InlineDrawings(SphinxPostTransform):
    """Replaces an image of a page's own SVG file by the drawing itself.

    A drawing uses `currentColor` and the theme's CSS variables; as an `<img>`
    it would know neither. The alternative text becomes its label.
    """

    default_priority = 8  # before Sphinx collects images to copy
    formats = ("html",)

    def run(self, **_kwargs: object) -> None:
        """Inline each SVG that uses the page's colour."""
        for image in list(self.document.findall(nodes.image)):
            path = Path(self.env.srcdir, image["uri"])
            if path.suffix == ".svg" and path.is_file():
                data = path.read_bytes()  # a lab whose figure went has a PNG of that name
                if b"currentColor" in data:
                    image.replace_self(_raw(data.decode(), image.get("alt", "")))


def _raw(drawing: str, alt: str) -> nodes.raw:
    """The drawing as HTML with `alt` as its label."""
    label = f'<svg role="img" aria-label="{html.escape(alt)}" class="cip-drawing"'
    start = drawing.index("<svg")
    body = re.sub(r"^<svg", label, drawing[start:])
    box = f'<div class="cip-figure">{body}</div>'
    return nodes.raw("", box, format="html", markdown=figure(alt))
