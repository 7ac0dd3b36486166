import json
import re
from pathlib import Path

import pytest

from tests.sphinxext.conftest import ROOT, Site, make_site

INDEX = "# Index\n\n```{toctree}\npage\nother\nlab/index\nreference/symptoms\n```\n"
SYMPTOMS = """# Symptoms

```{symptom-matcher}
```

```{symptom-list}
```

```{symptom-rate}
```

```{toctree}
symptoms/group
```
"""
GROUP = """# Group

(symptom-one)=
## No such thing

`NoSuchThing: "<b>"`
: Take another.
"""


@pytest.fixture(scope="module")
def matched(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site with one entry, built with two readers and without a warning."""
    site = make_site(tmp_path_factory.mktemp("matcher"))
    site.page("index", [(0, INDEX)], source=INDEX)
    site.page("reference/symptoms", [(0, SYMPTOMS)], source=SYMPTOMS)
    site.page("reference/symptoms/group", [(0, GROUP)], source=GROUP)
    miss = {"source": "a/b#7", "entry": "symptom-one", "instead": []}
    counts = {"n_reports": 9, "n_found": 8, "n_first": 5, "n_entries": 1}
    found = {**counts, "n_blind": 4, "n_blind_found": 3, "misses": [miss]}
    site.write("docs/reference/symptoms-found.json", json.dumps(found))
    done = site.build("-j2")
    assert (done.returncode, done.stderr) == (0, "")
    return site


def test_the_data_is_one_script_for_every_page(matched: Site) -> None:
    script = (matched.root / "out/_static/symptom-data.js").read_text(encoding="utf-8")
    start, end = "globalThis.symptomEntries = ", ";\n"
    assert json.loads(script.removeprefix(start).removesuffix(end)) == [
        {
            "id": "symptom-one",
            "page": "reference/symptoms/group",
            "title": "No such thing",
            "texts": ['NoSuchThing: "<b>"'],
            "words": "Take another.",
        }
    ]


def test_the_list_links_each_entry_and_keeps_the_address_of_its_heading(matched: Site) -> None:
    html = matched.html("reference/symptoms")
    assert 'href="symptoms/group.html#symptom-one"' in html
    assert 'id="entry-symptom-one"' in html
    assert 'id="no-such-thing"' in html


def test_the_form_has_its_place_from_the_start_where_scripts_run(matched: Site) -> None:
    html = matched.html("reference/symptoms")
    assert "<noscript><style>form.cip-matcher { display: none }</style></noscript>" in html
    assert '<form class="cip-matcher" id="symptom-matcher">' in html
    assert '<label for="symptom-text">' in html
    assert 'aria-live="polite"' in html


def loaded(html: str) -> list[str]:
    """The names of the scripts that a page loads from the start, in their order."""
    return re.findall(r'<script[^>]* src="[^"]*?([\w-]+\.js)[?"]', html)


def test_the_page_loads_the_data_before_the_script_and_others_neither(matched: Site) -> None:
    names = [n for n in loaded(matched.html("reference/symptoms")) if n.startswith("symptom")]
    assert names == ["symptom-data.js", "symptoms.js"]
    for name in ("index", "other", "reference/symptoms/group", "search"):
        assert not [n for n in loaded(matched.html(name)) if n.startswith("symptom")]
        assert "find.js" in loaded(matched.html(name))


def test_every_page_has_the_field_with_a_name(matched: Site) -> None:
    for name in ("index", "lab/question", "reference/symptoms/group"):
        (form,) = re.findall(r"<form[^>]*role=\"search\".*?</form>", matched.html(name), re.DOTALL)
        assert 'aria-label="Search, or paste an error or a log"' in form
        assert re.search(r'action="[./]*search\.html"', form)


def test_the_search_page_has_a_heading_and_a_field_of_its_own(matched: Site) -> None:
    html = matched.html("search")
    assert "<h1>Search</h1>" in html
    assert re.search(
        r'<label for="cip-q">.*?<input id="cip-q" type="search" name="q"', html, re.DOTALL
    )


def test_the_rate_and_the_misses_are_those_of_the_file(matched: Site) -> None:
    html = re.sub(r"<[^>]+>", "", matched.html("reference/symptoms"))
    assert "9 outputs from public reports" in html
    assert "8 find their entry among the first 3 of 1, and 5 find it first" in html
    assert "4 of them were collected once ranking and symptoms stood" in html
    assert "3 were found" in html
    assert "a/b#7 should find No such thing" in html


@pytest.mark.parametrize("name", ["symptoms.js", "find.js"])
def test_a_script_asks_no_server(name: str) -> None:
    script = Path(ROOT, "docs/_static", name).read_text(encoding="utf-8")
    assert not re.search(r"fetch\(|XMLHttp|import\(|sendBeacon|WebSocket|https?://", script)
