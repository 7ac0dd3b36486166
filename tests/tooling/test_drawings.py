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


def page_of(drawing: Path) -> str:
    """The one page that shows a drawing."""
    pages = [page.read_text(encoding="utf-8") for page in sorted(MODULE.glob("*.md"))]
    [shown] = [page for page in pages if f"{{figure}} {drawing.name}\n" in page]
    return shown


def labels(drawing: Path) -> list[tuple[str, bool]]:
    """Each text of a drawing, and whether it is set as code."""
    found = []

    def walk(node: ET.Element, font: str) -> None:
        font = node.get("font-family", font)
        if node.tag == f"{SVG}text":
            found.append((node.text or "", "monospace" in font))
        for child in node:
            walk(child, font)

    walk(ET.parse(drawing).getroot(), "")
    return found


def test_the_drawings_are_there() -> None:
    assert len(DRAWINGS) == 6


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.stem)
def test_a_drawing_says_in_words_what_it_finds(drawing: Path) -> None:
    [alternative] = re.findall(
        FIGURE.format(re.escape(drawing.name)), page_of(drawing), re.MULTILINE
    )
    assert len(alternative.split()) >= 20


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.stem)
def test_a_drawing_names_only_what_its_page_shows(drawing: Path) -> None:
    page = page_of(drawing).replace(f"{{figure}} {drawing.name}", "")
    page = re.sub(r"^:alt: .*$", "", page, flags=re.MULTILINE)
    for label, is_code in labels(drawing):
        for word in re.findall(r"\w+", label):
            if is_code or word.isdigit():
                assert word in page, label


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.stem)
def test_a_drawing_has_a_size_is_small_and_reads_on_a_phone(drawing: Path) -> None:
    root = ET.parse(drawing).getroot()
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    sizes = [float(node.get("font-size", "99")) for node in root.iter()]
    assert min(sizes) * min(1, 358 / float(root.get("width", ""))) >= SMALLEST
    assert drawing.stat().st_size < 10_000
    assert "currentColor" in drawing.read_text(encoding="utf-8")
