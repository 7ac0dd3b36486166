"""Addresses that stay."""

from pathlib import Path

import pytest

from compile_in_practice import anchors, cli
from compile_in_practice.failure import Failure
from compile_in_practice.report import Report

ROOT = Path(__file__).parents[2]
PAGE = """<nav><li id="toc"></li></nav><article id="furo-main-content">
<section id="a-page"><h1 id="no">A page</h1><span id="label"></span><span id="id3"></span>
<section id="unit"></section><dl><dt id="term-x"></dt></dl></section>
</article><section id="footer"></section>"""
BUILT = {"module/page", *(f"module/page#{n}" for n in ("a-page", "label", "term-x", "unit"))}


@pytest.fixture
def html(tmp_path: Path) -> Path:
    for name in ("module/page", "search"):
        (tmp_path / "html" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "html" / f"{name}.html").write_text(PAGE, encoding="utf-8")
    return tmp_path / "html"


def promise(root: Path, *lines: str) -> None:
    (root / anchors.LIST).parent.mkdir(parents=True, exist_ok=True)
    (root / anchors.LIST).write_text("\n".join(lines) + "\n", encoding="utf-8")


def vanished(html: Path) -> list[str]:
    return [str(failure).partition("\n")[0] for failure in anchors.check(html, html.parent)[0]]


def test_headings_labels_and_terms_are_addresses(html: Path) -> None:
    assert anchors.built(html) == BUILT


def test_an_anchor_that_vanished_fails_with_its_line(html: Path) -> None:
    promise(html.parent, "module/page", "module/page#gone", "module/page#unit", "module/old")
    assert vanished(html) == [
        "docs/reference/anchors.list:2: nothing has the address module/page#gone any more",
        "docs/reference/anchors.list:4: nothing has the address module/old any more",
    ]


def test_an_anchor_that_moved_must_lead_somewhere(html: Path) -> None:
    promise(html.parent, "module/old -> module/page#unit", "module/old#x -> module/page#gone")
    assert vanished(html) == [
        "docs/reference/anchors.list:2: nothing has the address module/page#gone any more"
    ]


def test_what_is_new_is_told_and_one_command_adds_it(html: Path) -> None:
    promise(html.parent, "module/old -> module/page", "module/page#unit")
    (new,) = anchors.check(html, html.parent)[1]
    assert new.what == "4 addresses are not in it yet, module/page among them"
    assert anchors.add_new(html, html.parent) == sorted(BUILT - {"module/page#unit"})
    assert anchors.check(html, html.parent) == ([], [])
    lines = (html.parent / anchors.LIST).read_text(encoding="utf-8").splitlines()
    assert lines == sorted([*BUILT, "module/old -> module/page"])


@pytest.mark.parametrize(("failed", "status"), [(True, 0), (False, 1), (False, 0)])
def test_only_a_site_that_was_built_now_adds_its_addresses(
    html: Path, monkeypatch: pytest.MonkeyPatch, *, failed: bool, status: int
) -> None:
    root = html.parent
    (root / "docs").mkdir()
    (root / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    failures = [Failure(where="docs/page.md:1", what="broken")] if failed else []
    report = Report(results=root, torch="2.15.0", failures=failures)
    monkeypatch.setattr(cli, "build", lambda *_, **__: report)
    monkeypatch.setattr(cli, "_sphinx", lambda *_: status)
    monkeypatch.setattr(cli.tlparse, "write_report", lambda *_: None)
    cli.main(["--root", str(root), "docs", "--new-addresses"])
    added = {promise.address for promise in anchors.read(root / anchors.LIST)}
    assert added == (set() if failed or status else BUILT)


def test_every_page_of_the_site_has_its_promise() -> None:
    promised = {promise.address for promise in anchors.read(ROOT / anchors.LIST)}
    pages = {
        path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
    }
    assert pages - promised == set()
