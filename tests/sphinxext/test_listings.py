"""Long listings of the GPU pages are closed."""

from types import SimpleNamespace

import pytest
from docutils import nodes, utils

from compile_in_practice.sphinxext.listings import N_LINES, FoldListings


@pytest.mark.parametrize(("page", "n_closed"), [("gpu/decode", 1), ("lab/length_sweep", 0)])
def test_a_long_listing_of_a_gpu_page_is_closed(page: str, n_closed: int) -> None:
    document = utils.new_document("page")
    for n_lines, language in ((N_LINES, "Python"), (N_LINES + 1, "Python"), (90, "none")):
        text = "\n".join("x" * n_lines)
        document += nodes.literal_block(text, text, language=language)
    document.settings.env = SimpleNamespace(docname=page)
    FoldListings(document).run()
    parts = [node.astext() for node in document.findall(nodes.raw)]
    opening = f'<details class="cip-listing"><summary>Code, {N_LINES + 1} lines</summary>'
    assert parts == [opening, "</details>"] * n_closed
    if n_closed:
        kinds = [type(node).__name__ for node in document.children]
        assert kinds == ["literal_block", "raw", "literal_block", "raw", "literal_block"]
