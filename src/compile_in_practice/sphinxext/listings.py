"""Code of the GPU scripts, closed, so that the result stands before the code."""

from __future__ import annotations

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

FOLDER = "gpu/"
SCRIPT = "Python"  # as the gallery writes it; code in the prose says `python`


class FoldListings(SphinxPostTransform):
    """Closes each cell of a GPU experiment's script behind a line that says how long it is."""

    default_priority = 4  # before sphinx-gallery puts linked code in their place
    formats = ("html",)

    def run(self, **_kwargs: object) -> None:
        """Put the listing between the tags of an element that opens without a script."""
        if not self.env.docname.startswith(FOLDER):
            return
        for listing in list(self.document.findall(nodes.literal_block)):
            if listing.get("language") == SCRIPT:
                n_lines = listing.astext().count("\n") + 1
                opening = f'<details class="cip-listing"><summary>Code, {n_lines} lines</summary>'
                listing.parent.insert(listing.parent.index(listing), _html(opening))
                listing.parent.insert(listing.parent.index(listing) + 1, _html("</details>"))


def _html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")
