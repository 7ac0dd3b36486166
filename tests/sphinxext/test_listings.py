"""Code of the GPU scripts is closed."""

from types import SimpleNamespace

import pytest
from docutils import nodes, utils

from compile_in_practice.sphinxext.listings import FoldListings


@pytest.mark.parametrize(("page", "n_closed"), [("gpu/decode", 2), ("lab/length_sweep", 0)])
def test_a_cell_of_a_gpu_script_is_closed_and_code_in_its_prose_is_not(
    page: str, n_closed: int
) -> None:
    document = utils.new_document("page")
    for n_lines, language in ((2, "Python"), (90, "Python"), (2, "python"), (90, "none")):
        text = "\n".join("x" * n_lines)
        document += nodes.literal_block(text, text, language=language)
    document.settings.env = SimpleNamespace(docname=page)
    FoldListings(document).run()
    parts = [node.astext() for node in document.findall(nodes.raw)]
    opening = '<details class="cip-listing"><summary>Code, {} lines</summary>'
    assert parts == [part for n in (2, 90)[:n_closed] for part in (opening.format(n), "</details>")]
    if n_closed:
        kinds = [type(node).__name__ for node in document.children]
        assert kinds == ["raw", "literal_block", "raw"] * 2 + ["literal_block"] * 2
