"""Each drawing stands on a page, says what it finds, and names what the page shows."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

MODULE = Path(__file__).parents[2] / "docs" / "module"
DRAWINGS = sorted(MODULE.glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
SMALLEST = 11  # CSS pixels on a screen of 390, whose column is 358 wide
FIGURE = r"^:::\{{figure\}} {}\n:alt: (.+)$"
SMALL = {"a", "an", "for", "here", "in", "is", "its", "of", "on", "the", "to", "where", "with"}
UNSAID = {  # what a drawing adds to the sentences of its alternative text
    "The same", "One side", "recorded for one length", "another length", "recorded later",
    "first layer", "middle layer", "last layer", "order",
    "true", "false",
    "next entry, or a recompile",
    "decompose, fuse, write kernels", "run on each call", "no", "yes",
}  # fmt: skip


def page_of(drawing: Path) -> str:
    """The one page that shows a drawing."""
    pages = [page.read_text(encoding="utf-8") for page in sorted(MODULE.glob("*.md"))]
    [shown] = [page for page in pages if f"{{figure}} {drawing.name}\n" in page]
    return shown


def fences_beside(drawing: Path) -> str:
    """The fences of the section that shows a drawing."""
    sections = re.split(r"^##? ", page_of(drawing), flags=re.MULTILINE)
    [shown] = [section for section in sections if f"{{figure}} {drawing.name}\n" in section]
    return "\n".join(re.findall(r"^```\{code-cell\}.*?^```$", shown, re.MULTILINE | re.DOTALL))


def alternative(drawing: Path) -> str:
    """What a drawing says to those who do not see it."""
    pattern = FIGURE.format(re.escape(drawing.name))
    [found] = re.findall(pattern, page_of(drawing), re.MULTILINE)
    return str(found)


def labels(drawing: Path) -> list[tuple[str, bool]]:
    """Each text of a drawing, and whether it is set as code; a name on two lines is one."""
    found: list[tuple[str, bool]] = []

    def walk(node: ET.Element, font: str) -> None:
        font = node.get("font-family", font)
        if node.tag == f"{SVG}text":
            begun = found.pop()[0] if found and re.search(r"[^_]_$", found[-1][0]) else ""
            found.append((begun + (node.text or ""), "monospace" in font))
        for child in node:
            walk(child, font)

    walk(ET.parse(drawing).getroot(), "")
    return found


def words(text: str) -> set[str]:
    """The words of a text that carry its meaning, without the endings of a plural."""
    found = re.findall(r"[\w']+", text.lower())
    return {re.sub(r"e?s$", "", word) for word in found if word not in SMALL}


def test_the_drawings_are_there() -> None:
    assert len(DRAWINGS) == 6


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.stem)
def test_a_drawing_says_in_words_what_it_finds(drawing: Path) -> None:
    assert len(alternative(drawing).split()) >= 20


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.stem)
def test_code_of_a_drawing_stands_whole_in_a_fence_beside_it(drawing: Path) -> None:
    fences = fences_beside(drawing)
    for label, is_code in labels(drawing):
        numbers = re.findall(r"\b\d+\b", label)
        assert set(numbers) <= set(re.findall(r"\b\d+\b", fences)), label
        # A loop over numbers has a name for each.
        pattern = re.sub(r"\b(\d+)\b", r"(?:\1|[a-z])", re.escape(label))
        assert not is_code or re.search(rf"(?<!\w){pattern}(?!\w)", fences), label


def test_a_drawing_says_in_its_labels_what_its_alternative_text_says() -> None:
    unsaid = set()
    for drawing in DRAWINGS:
        sentences = [words(sentence) for sentence in alternative(drawing).split(". ")]
        for label, is_code in labels(drawing):
            if not is_code and not any(words(label) <= sentence for sentence in sentences):
                unsaid.add(label)
    assert unsaid == UNSAID


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.stem)
def test_a_drawing_has_a_size_is_small_and_reads_on_a_phone(drawing: Path) -> None:
    root = ET.parse(drawing).getroot()
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    sizes = [float(node.get("font-size", "99")) for node in root.iter()]
    assert min(sizes) * min(1, 358 / float(root.get("width", ""))) >= SMALLEST
    assert drawing.stat().st_size < 10_000
    assert "currentColor" in drawing.read_text(encoding="utf-8")
