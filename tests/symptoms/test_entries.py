import json
import re
from pathlib import Path

import pytest

from compile_in_practice import symptoms

ROOT = Path(__file__).parents[2]
ENTRY = """# A page

(symptom-one)=
## A \\_heading\\_ with `code`

`` A `quoted` text `` `another`
: What it *means*, on [a page](other.md): {value}`first.n` calls.
  What to write instead.

```{code-cell} python
---
name: first
log: [logged words]
---
x = 1
```

(symptom-two)=
## Another

`text`
: Its meaning.

```{code-cell} python
---
name: second
record: inductor
---
x = 1
```
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A documents folder with one page of entries, two ledgers and a record."""
    docs = tmp_path / "docs"
    page = docs / symptoms.PAGES / "a-page.md"
    page.parent.mkdir(parents=True)
    page.write_text(ENTRY)
    (docs / "ledger").mkdir()
    for release, said in (("2.8.0", "old words"), ("2.15.0", "new words")):
        values = f'{{"template": "{said}", "gb": "no id", "n": 3}}'
        ledger = f'{{"fences": {{"a_page.first": {{"source": "", "values": {values}}}}}}}'
        (docs / "ledger" / f"{release}.json").write_text(ledger)
    recorded = {"page": "reference/symptoms/a-page", "name": "second"}
    fences = {"sha": {**recorded, "values": {"template": "recorded words"}}}
    record = tmp_path / "gallery" / "records" / "inductor-fences--torch-2.8.0.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"fences": fences}))
    return docs


def test_an_entry_has_its_texts_from_the_page_the_ledgers_and_the_records(docs: Path) -> None:
    one, two = symptoms.read(docs)
    assert (one.id, one.page, one.title) == (
        "symptom-one",
        "reference/symptoms/a-page",
        "A _heading_ with code",
    )
    assert one.texts == ("A `quoted` text", "another", "new words", "old words", "logged words")
    assert two.texts == ("text", "recorded words")


def test_an_entry_has_its_meaning_without_markup(docs: Path) -> None:
    words = symptoms.read(docs)[0].words
    assert words == "What it means, on a page. What to write instead."


def test_code_in_a_meaning_keeps_its_stars_and_its_backslashes() -> None:
    prose = r"Write *out of place*: [`y = y * 2`](a.md), `a**b` and `\d`; \_this\_ is prose."
    words = "Write out of place: y = y * 2, a**b and \\d; _this_ is prose."
    assert symptoms.plain(prose) == words


def test_data_are_a_script_whatever_they_hold() -> None:
    entry = symptoms.Entry(id="a", page="p", title="</script>\u2028", texts=('"',), words="")
    script = symptoms.as_script([entry])
    assert script.startswith("globalThis.symptomEntries = [{")
    assert script.isascii()


def test_each_entry_rests_on_a_fence_a_value_or_a_test_that_its_unit_names() -> None:
    for path in (ROOT / "docs" / symptoms.PAGES).glob("*.md"):
        text = path.read_text(encoding="utf-8")
        starts = list(symptoms.SECTION.finditer(text))
        ends = [match.start() for match in starts[1:]] + [len(text)]
        for match, end in zip(starts, ends, strict=True):
            unit = text[match.start() : end]
            rests = symptoms.FENCE.search(unit) or re.search(
                r"\{(?:value|verdict)\}`|Tests?: `", unit
            )
            assert rests, match.group(1)


def test_there_are_forty_entries_each_with_a_text_and_a_label_of_its_own() -> None:
    entries = symptoms.read(ROOT / "docs")
    labels = [entry.id for entry in entries]
    pages = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "docs" / symptoms.PAGES).glob("*.md")
    )
    assert len(entries) >= 40
    assert len(set(labels)) == len(labels)
    assert labels == [*dict.fromkeys(labels)]
    assert sorted(labels) == sorted(re.findall(r"^\((symptom-[\w-]+)\)=$", pages, re.MULTILINE))
    assert all(entry.texts and entry.words for entry in entries)
