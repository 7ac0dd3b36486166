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
    found = {"n_reports": 9, "n_found": 8, "n_first": 5, "n_entries": 1, "misses": [miss]}
    site.write("docs/reference/symptoms-found.json", json.dumps(found))
    done = site.build("-j2")
    assert (done.returncode, done.stderr) == (0, "")
    return site


def data(html: str) -> list[dict[str, object]]:
    found = re.search(r'id="symptom-data">(.*?)</script>', html, re.DOTALL)
    assert found
    entries: list[dict[str, object]] = json.loads(found[1])
    return entries


def test_the_data_stands_in_the_page(matched: Site) -> None:
    assert data(matched.html("reference/symptoms")) == [
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


def test_the_form_is_hidden_until_the_script_shows_it(matched: Site) -> None:
    html = matched.html("reference/symptoms")
    assert re.search(r'<form class="cip-matcher" id="symptom-matcher" hidden>', html)
    assert '<label for="symptom-text">' in html
    assert 'aria-live="polite"' in html


def test_the_script_is_loaded_there_and_on_no_other_page(matched: Site) -> None:
    assert "_static/symptoms.js" in matched.html("reference/symptoms")
    for name in ("index", "other", "reference/symptoms/group"):
        assert "symptoms.js" not in matched.html(name)


def test_the_rate_and_the_misses_are_those_of_the_file(matched: Site) -> None:
    html = re.sub(r"<[^>]+>", "", matched.html("reference/symptoms"))
    assert "9 outputs from public reports" in html
    assert "8 find their entry among the first 3 of 1, and 5 find it first" in html
    assert "a/b#7 should find No such thing" in html


def test_the_page_asks_no_server() -> None:
    script = Path(ROOT, "docs/_static/symptoms.js").read_text(encoding="utf-8")
    assert not re.search(r"fetch\(|XMLHttp|import\(|sendBeacon|WebSocket|\.src\b", script)
