"""Links between the files of a built site."""

import json
from pathlib import Path

import pytest

from compile_in_practice import links
from compile_in_practice.failure import BuildError

OTHER = '<h1 id="other">Other</h1><p id="a%20b">Text.</p>'


@pytest.fixture
def html(tmp_path: Path) -> Path:
    write(tmp_path, "module/other.html", OTHER)
    write(tmp_path, "module/page.ipynb", "{}")
    return tmp_path


def write(html: Path, name: str, text: str) -> None:
    (html / name).parent.mkdir(exist_ok=True)
    (html / name).write_text(text, encoding="utf-8")


def found(html: Path, body: str) -> list[str]:
    write(html, "module/page.html", f'<main id="top">\n{body}</main>')
    return [str(failure).partition("\n")[0] for failure in links.check(html)]


@pytest.mark.parametrize(
    "address",
    ["#top", "#", "other.html#other", "../module/other.html?q=1#other", "page.ipynb",
     "https://example.org/gone", "mailto:a@example.org", "//example.org/gone"],
)  # fmt: skip
def test_a_link_that_leads_somewhere_is_no_failure(html: Path, address: str) -> None:
    assert found(html, f'<a href="{address}">there</a>') == []


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("gone.html", "no file has the address gone.html"),
        ("page.zip", "no file has the address page.zip"),
        ("../../beside/index.html", "no file has the address ../../beside/index.html"),
        ("other.html#gone", "no anchor has the address other.html#gone"),
        ("#gone", "no anchor has the address #gone"),
    ],
)
def test_a_link_that_leads_nowhere_fails_with_its_line(html: Path, address: str, what: str) -> None:
    assert found(html, f'<a href="{address}">there</a>') == [f"module/page.html:2: {what}"]


def test_what_a_folder_does_not_have_is_left_out_and_lines_stay(html: Path) -> None:
    online = '<!-- online -->\n<a href="../../2.8.0/page.html">2.8.0</a>\n<!-- /online -->'
    assert found(html, online) == []
    (gone,) = found(html, f'{online}<a href="gone.html">there</a>')
    assert gone.startswith("module/page.html:4: ")


def test_what_other_programs_made_is_not_read_but_must_be_there(html: Path) -> None:
    write(html, "tlparse/index.html", '<a href="gone.html">there</a>')
    assert found(html, '<a href="../tlparse/index.html">a report</a>') == []
    assert len(found(html, '<a href="../tlparse/gone.html">a report</a>')) == 1


def outside(folder: Path, *rows: tuple[str, str]) -> tuple[list[str], int]:
    """What is told of links with these statuses, as Sphinx writes them."""
    row = {"filename": "module/page.md", "lineno": 7, "uri": "https://example.org/"}
    lines = [json.dumps({**row, "status": status, "info": info}) for status, info in rows]
    (folder / "output.json").write_text("\n".join(lines) + "\n", encoding="utf-8")
    failures, n_asked = links.outside(folder / "output.json")
    return [str(failure).partition("\n")[0] for failure in failures], n_asked


def test_an_outside_link_that_leads_nowhere_fails_with_its_line(tmp_path: Path) -> None:
    rows = [("working", ""), ("redirected", "there"), ("local", ""), ("broken", "404 Not Found")]
    assert outside(tmp_path, *rows) == (
        ["docs/module/page.md:7: https://example.org/: 404 Not Found"],
        3,
    )


def test_without_a_network_no_link_is_called_broken(tmp_path: Path) -> None:
    lost = ("broken", "Max retries exceeded (Caused by NameResolutionError(...))")
    with pytest.raises(BuildError, match="no network: none of 2 links was asked for"):
        outside(tmp_path, lost, lost, ("local", ""))
    assert len(outside(tmp_path, lost, ("working", ""))[0]) == 1
