"""The Sphinx extension: it renders what `compile_in_practice.run` has run.

No fence is executed here, and torch is never imported.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from compile_in_practice.sphinxext import (
    addresses,
    answers,
    assets,
    below,
    cells,
    drawings,
    galleries,
    ledgers,
    listings,
    llms,
    locations,
    markdown,
    markers,
    matcher,
    path,
    redirects,
    releases,
    staging,
    takeaway,
    terms,
    titles,
    tracing,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the parts; the first one starts the run if there is none yet."""
    app.connect("config-inited", staging.stage, priority=1)
    app.connect("config-inited", locations.point_to_docs, priority=2)
    app.connect("config-inited", locations.forget_unfinished, priority=2)
    app.connect("config-inited", galleries.redraw_changed, priority=3)
    app.connect("config-inited", releases.point_to_current, priority=4)
    app.connect("config-inited", matcher.write_data, priority=4)
    app.connect("env-get-outdated", path.read_again)
    app.connect("env-get-outdated", terms.read_again)
    app.connect("builder-inited", staging.keep_notebooks_out_of_the_tree)
    below.register(app)
    app.add_transform(cells.MarkCells)
    app.add_transform(answers.FoldFences)
    app.add_transform(path.CountMinutes)
    app.add_post_transform(cells.CopyWithChain)
    app.add_post_transform(path.ShowPath)
    app.add_post_transform(terms.DefineTerms)
    app.add_post_transform(drawings.InlineDrawings)
    app.add_post_transform(listings.FoldListings)
    app.add_node(
        answers.answer,
        html=(answers.open_answer, answers.close_answer),
        text=(answers.pass_answer, answers.pass_answer),
    )
    app.add_node(terms.definition_tip, html=(terms.open_term, terms.close_term))
    app.add_directive("answer", answers.Answer)
    app.add_directive("learning-path", path.LearningPath)
    app.add_node(markers.marker, html=(markers.visit, None))
    app.add_role(markers.ROLE, markers.read_marker)
    app.add_post_transform(markers.Placed)
    app.add_directive("symptom-matcher", matcher.SymptomMatcher)
    app.add_directive("symptom-list", matcher.SymptomList)
    app.add_directive("symptom-rate", matcher.SymptomRate)
    app.add_directive("tlparse-report", tracing.TlparseReport)
    app.connect("html-page-context", matcher.add_script)
    app.connect("html-page-context", markdown.write_page)
    app.connect("html-page-context", takeaway.link_downloads)
    app.connect("html-page-context", releases.link_releases)
    app.connect("html-page-context", addresses.describe)
    app.connect("html-page-context", redirects.lead_on)
    app.connect("html-page-context", ledgers.fit_phones)
    app.connect("html-page-context", assets.size_pictures, priority=900)
    app.connect("html-page-context", assets.drop_unused, priority=910)
    app.connect("build-finished", llms.write_guide)
    app.connect("build-finished", takeaway.copy_downloads)
    app.connect("build-finished", titles.write_data)
    app.connect("build-finished", addresses.write_sitemap)
    app.connect("build-finished", addresses.make_absolute)
    app.connect("build-finished", redirects.write_gone)
    app.connect("build-finished", tracing.copy_report)
    app.connect("build-finished", takeaway.pack, priority=900)
    app.connect("build-finished", locations.forget_after_warnings)
    return {
        "env_version": own_version(),
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }


def own_version() -> int:
    """Return a number for this code: where it is another, Sphinx reads every page anew."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return zlib.crc32(b"".join(file.read_bytes() for file in files))
