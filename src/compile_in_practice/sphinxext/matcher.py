"""Symptoms: the matcher and its data, the plain list, and how well it finds.

All of it comes from the entries at build time; nothing is asked of a server. Every page
has the matcher behind its search field (`docs/_static/find.js`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from compile_in_practice import symptoms
from compile_in_practice.store import write_text

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

DATA = "symptom-data.js"
FORM = """
<noscript><style>form.cip-matcher { display: none }</style></noscript>
<form class="cip-matcher" id="symptom-matcher">
<label for="symptom-text">What you see: an error, a log, or your own words</label>
<textarea id="symptom-text" rows="7" spellcheck="false" autocapitalize="off"
 aria-describedby="symptom-help"></textarea>
<p id="symptom-help">Paths, numbers and quoted names do not matter; many lines are fine.
 It stays on this page.</p>
<button type="submit">Find</button>
<div aria-live="polite"><p id="symptom-status"></p><ol id="symptom-results"></ol></div>
</form>
"""


class SymptomMatcher(SphinxDirective):
    """The form."""

    def run(self) -> list[nodes.Node]:
        """Return it as HTML; it holds its place from the start, but where no script runs."""
        self.env.metadata[self.env.docname]["symptom_matcher"] = "yes"
        return [nodes.raw("", FORM, format="html")]


class SymptomList(SphinxDirective):
    """Every entry by page, which is what a reader without the script has."""

    def run(self) -> list[nodes.Node]:
        """Return a heading's line and a list of links for each page."""
        by_page: dict[str, list[symptoms.Entry]] = {}
        for entry in _entries(self):
            by_page.setdefault(entry.page, []).append(entry)
        shown: list[nodes.Node] = []
        for page, entries in sorted(by_page.items(), key=self._place):
            link = addnodes.pending_xref(
                "", refdomain="std", reftype="doc", reftarget=f"/{page}", refexplicit=False
            )
            link += nodes.inline("", page)
            shown.append(nodes.paragraph("", "", link, classes=["cip-symptom-group"]))
            items = [_item(entry) for entry in entries]
            shown.append(nodes.bullet_list("", *items, classes=["cip-symptoms"]))
        return shown

    def _place(self, group: tuple[str, list[symptoms.Entry]]) -> int:
        """Where this page names the group: the list follows its table of contents."""
        here = Path(self.env.app.confdir, f"{self.env.docname}.md")
        return here.read_text(encoding="utf-8").find(group[0].rpartition("/")[2])


class SymptomRate(SphinxDirective):
    """How many public reports find their entry, and the ones that do not."""

    counted: ClassVar = (
        "n_found", "n_reports", "n_first", "n_entries", "n_blind", "n_blind_found",
    )  # fmt: skip

    def run(self) -> list[nodes.Node]:
        """Return the sentence and the misses, from the file that the tests verify."""
        path = Path(self.env.app.confdir, symptoms.FOUND)
        self.env.note_dependency(str(path))
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        text = (
            "Of {n_reports} outputs from public reports, {n_found} find their entry among the"
            f" first {symptoms.AMONG} of {{n_entries}}, and {{n_first}} find it first."
            " {n_blind} of them were collected once ranking and symptoms stood: before"
            " anything was changed for these, {n_blind_found} were found."
        ).format(**{key: found[key] for key in self.counted})
        titles = {entry.id: entry.title for entry in _entries(self)}
        misses = [_miss(miss, titles) for miss in found["misses"]]
        after = "These do not:" if misses else "None is missed."
        sentence = nodes.paragraph("", f"{text} {after}")
        return [sentence, nodes.bullet_list("", *misses)] if misses else [sentence]


def _entries(directive: SphinxDirective) -> list[symptoms.Entry]:
    """The entries, with their files noted: the page is read again when one changes."""
    docs = Path(directive.env.app.confdir)
    files = [*docs.glob(f"{symptoms.PAGES}/*.md"), *docs.glob("ledger/*.json")]
    for path in (*files, *docs.parent.glob(symptoms.RECORDS)):
        directive.env.note_dependency(str(path))
    return symptoms.read(docs)


def _reference(entry: str, title: str) -> addnodes.pending_xref:
    link = addnodes.pending_xref(
        "", refdomain="std", reftype="ref", reftarget=entry, refexplicit=True, refwarn=True
    )
    link += nodes.inline("", title)
    return link


def _item(entry: symptoms.Entry) -> nodes.list_item:
    """A link to the entry and its first text; its ids keep older addresses alive."""
    old = nodes.make_id(entry.title)
    line = nodes.paragraph("", "", _reference(entry.id, entry.title), nodes.Text(" "))
    line += nodes.literal("", entry.texts[0])
    return nodes.list_item("", line, ids=[f"entry-{entry.id}", old])


def _miss(miss: dict[str, Any], titles: dict[str, str]) -> nodes.list_item:
    source: str = miss["source"]
    repository, _, number = source.partition("#")
    line = nodes.paragraph()
    line += nodes.reference(
        "", source, refuri=f"https://github.com/{repository}/issues/{number}", internal=False
    )
    line += nodes.Text(" should find ")
    line += _reference(miss["entry"], titles[miss["entry"]])
    return nodes.list_item("", line)


def write_data(app: Sphinx, config: Config) -> None:
    """Write the entries where pages load them on use."""
    folder: Path = app.cip_results / "static"  # type: ignore[attr-defined]
    write_text(folder / DATA, symptoms.as_script(symptoms.read(Path(app.confdir))))
    config.html_static_path.append(str(folder))


def add_script(
    app: Sphinx,
    pagename: str,
    _template: str,
    _context: dict[str, Any],
    _doctree: nodes.document | None,
) -> None:
    """Load data and script at once on the page that has the matcher, and on no other."""
    if app.env.metadata[pagename].get("symptom_matcher"):
        for name in (DATA, "symptoms.js"):
            app.add_js_file(name, loading_method="defer")
