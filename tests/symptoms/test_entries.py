import builtins
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from compile_in_practice import symptoms
from compile_in_practice.page import page_name

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


def units() -> Iterator[tuple[Path, re.Match[str], str]]:
    """Yield each unit of the pages: its file, its head, and what stands below that."""
    for path in sorted((ROOT / "docs" / symptoms.PAGES).glob("*.md")):
        text = path.read_text(encoding="utf-8")
        starts = list(symptoms.SECTION.finditer(text))
        ends = [match.start() for match in starts[1:]] + [len(text)]
        for match, end in zip(starts, ends, strict=True):
            yield path, match, text[match.end() : end]


def test_each_entry_rests_on_a_fence_a_value_or_a_test_that_its_unit_names() -> None:
    for _, match, unit in units():
        rests = symptoms.FENCE.search(unit) or re.search(
            r"\{(?:value|verdict)\}`|Tests?: `", match[0] + unit
        )
        assert rests, match[1]


def words(text: str) -> set[str]:
    """The words of a text as the matcher has them, without those of Python's own errors."""
    found = (word.lower() for word in re.findall(r"[A-Za-z_][A-Za-z0-9_]+", text))
    return {word for word in found if not re.search(r"\d", word) or word.startswith("gb")} - BUILTIN


BUILTIN = {name.lower() for name in dir(builtins)}
UNSEEN = {  # by their first fifty letters
    # what another release or device prints, or what stands behind the end of a template
    "AssertionError: If capturable=True, params and sta",
    "BackendCompilerFailed: backend='inductor' raised: ",
    "CUDAGraph supports dynamic shapes by recording a n",
    "Dynamo tracing is disabled",
    "FX to torch.jit.trace a dynamo-optimized function",
    "Operator does not support running with fake tensor",
    "You can suppress this exception and fall back to e",
    "___check_type_id(L['self']._modules['mixer'], 1576",
    "is at version 1; expected version 0 instead",
    "len(L['past']) == 2",
    "must match the size of tensor",
    "same reduction dim",
    # what a reader would write
    "_use_grad",
    "float argument recompiles at its second value",
    "kv cache without a CUDA graph",
    "loss diverges with reduce-overhead",
    "past_key_values",
}


def test_a_text_of_a_term_has_the_words_of_what_was_seen() -> None:
    """Seen: in the unit's fences, their values and its reports, or in fences that it links."""
    docs = ROOT / "docs"
    seen: dict[str, list[str]] = {}
    for name, values in symptoms._measured(docs):
        seen.setdefault(name, []).extend(f"{key} {value}" for key, value in values.items())
    for report in symptoms.reports(ROOT):
        seen.setdefault(report["entry"], []).append(report["text"])
    unseen = set()
    for path, match, unit in units():
        fences = symptoms.FENCE.findall(unit)
        page = page_name(path.stem)
        names = re.findall(r"^name: (\w+)$", "\n".join(fences), re.MULTILINE)
        told = [text for name in names for text in seen.get(f"{page}.{name}", ())]
        if not any(text.startswith(symptoms.SAID) for text in told):
            continue  # a behaviour: its texts are what a reader would write
        for link in re.findall(r"\]\(([^)#]+\.md)", match[0] + unit):
            fences += symptoms.FENCE.findall((path.parent / link).read_text(encoding="utf-8"))
        known = words("\n".join([*fences, *told, *seen.get(match[1], ())]))
        texts = [code[1] for code in symptoms.CODE.findall(match[3])]
        unseen |= {text[:50] for text in texts if not words(text) <= known}
    assert unseen == UNSEEN


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
