"""What tools read: each page as Markdown, and the guide to them."""

import re

from docutils import nodes

from compile_in_practice.sphinxext import markdown
from tests.sphinxext.conftest import DRAWING, Site, code


def read(site: Site, name: str) -> str:
    return (site.root / "out" / f"{name}.md").read_text(encoding="utf-8")


def test_a_page_is_there_as_markdown(built: Site) -> None:
    text = read(built, "page")
    assert text.startswith(
        "# A page\n\nProse, then [another page](other.md).\n\n```python\nx = 1\n"
    )
    assert "```text\nprinted\n```" in text
    assert "**Not run here**: needs a GPU" in text


def test_markdown_has_the_fence_as_it_stands_not_its_chain(built: Site) -> None:
    assert "```python\ny = x\n```" in read(built, "page")


def test_a_lab_is_there_with_its_output(built: Site) -> None:
    text = read(built, "lab/question")
    assert "```text\ngraphs: 3\n```" in text
    assert "data = replay(experiment)" in text  # and no link within the code


def test_a_drawing_is_its_finding(built: Site) -> None:
    assert "(Figure: What it finds.)\n\nA caption." in read(built, "page")
    assert DRAWING not in read(built, "page")


def test_a_fence_in_a_fence_stays_one() -> None:
    assert markdown.fenced("```\nx\n```", "") == "````python\n```\nx\n```\n````"


def test_tables_lists_and_notes_read_as_markdown(site: Site) -> None:
    shapes = (
        "# Other\n\n| a | b |\n| --- | --- |\n| `x` | 1 |\n\n- one\n  - two\n\n1. three\n\n"
        ":::{note}\nMind *this*.\n:::\n\nterm\n: What it is.\n"
    )
    site.page("other", [(0, shapes)], source=shapes)
    assert site.build().returncode == 0
    assert read(site, "other") == (
        "# Other\n\n| a | b |\n| --- | --- |\n| `x` | 1 |\n\n- one\n\n  - two\n\n1. three\n\n"
        "> **Note**\n>\n> Mind *this*.\n\n**term**\n: What it is.\n"
    )


def test_each_page_of_the_guide_is_there_once(built: Site) -> None:
    guide = (built.root / "out" / "llms.txt").read_text(encoding="utf-8")
    named = re.findall(r"^- \[.*?\]\((.*?)\)", guide, re.MULTILINE)
    assert named == ["page.md", "other.md", "lab/index.md", "lab/question.md"]
    assert all((built.root / "out" / name).is_file() for name in named)
    assert "- [A page](page.md): Prose, then another page." in guide


def test_what_a_page_hides_is_not_markdown() -> None:
    path = nodes.paragraph("", "Page 6 of 13", classes=["cip-path"])
    raw = nodes.raw("", "<b>x</b>", format="html")
    hidden = nodes.section("", path, raw, nodes.comment("", "y"))
    assert markdown.markdown(hidden) == "\n"


def test_an_edited_page_gets_its_markdown_again(site: Site) -> None:
    site.build()
    site.page("other", [(0, "# Other"), (1, code("z = 3"))], source="# Other\n\nz\n")
    site.build()
    assert "z = 3" in read(site, "other")
