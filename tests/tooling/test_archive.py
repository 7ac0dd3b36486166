"""The whole site as one file, read from a folder."""

import os
from pathlib import Path
from zipfile import ZipFile

import pytest

from compile_in_practice.archive import write_archive

PAGE = """<p>Take <a href="a.py">a.py</a>.
  <!-- online -->The site: <a href="../site.zip">site.zip</a>.<!-- /online -->
</p>"""


@pytest.fixture
def html(tmp_path: Path) -> Path:
    for name in ("module/a.html", "module/a.py", "searchindex.js", "sitemap.xml", "404.html"):
        (tmp_path / "html" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "html" / name).write_text(PAGE, encoding="utf-8")
    return tmp_path / "html"


def test_it_holds_what_a_reader_of_a_folder_needs(html: Path) -> None:
    write_archive(html, html / "site.zip")
    write_archive(html, html / "site.zip")  # and never itself
    with ZipFile(html / "site.zip") as archive:
        assert archive.namelist() == [
            "site/module/a.html",
            "site/module/a.py",
            "site/searchindex.js",
        ]


def test_what_only_a_server_has_is_left_out_of_pages(html: Path) -> None:
    write_archive(html, html / "site.zip")
    with ZipFile(html / "site.zip") as archive:
        assert archive.read("site/module/a.html").decode() == PAGE[:32] + "\n</p>"
        assert archive.read("site/module/a.py").decode() == PAGE


def test_the_same_site_is_the_same_file(html: Path) -> None:
    write_archive(html, html / "site.zip")
    first = (html / "site.zip").read_bytes()
    os.utime(html / "module/a.py", (1_000_000_000, 1_000_000_000))
    (html / "module/a.py").chmod(0o600)
    write_archive(html, html / "site.zip")
    assert (html / "site.zip").read_bytes() == first
