"""tlparse's report of one fence, made by a program that is there, fails, or is missing."""

import os
import re
from pathlib import Path

import pytest

from compile_in_practice import tlparse
from compile_in_practice.project import Project, load_project

ROOT = Path(__file__).parents[2]
FENCE = """# Graph breaks

```{code-cell} python
---
name: logged
---
import os
import pathlib

pathlib.Path(os.environ["TORCH_TRACE"]).mkdir()
pathlib.Path(os.environ["TORCH_TRACE"], "one.log").write_text(os.getcwd())
assert True
```
"""
PROGRAM = """#!/bin/sh
# Stands for tlparse: a report with all that the site does not show.
test "$1" = --version && { echo "tlparse 9.9.9"; exit; }
%s
mkdir -p report/-_0_0_0
here=$(cat "$1")
cat > report/index.html <<END
<html><head><meta charset="UTF-8"><style>p { color: white }</style></head><body>
<script>url</script><p onclick='toggle(this)'>$here/fence.py:5 in f</p>
<h2> Chromium Events </h2><a href='chromium_events.json'>x</a>
<p>Build products below:</p>
<a href='#[0/0]'>[0/0]</a> <a href="-_0_0_0/reason_1.txt">reason_1.txt</a>
</body></html>
END
cat > report/-_0_0_0/metrics_2.html <<END
<html><head><title>M</title><base href=".."></head>
<h2>Compile Time(seconds)</h2><p>0.244466</p><h2>Graph Metrics</h2>
<a href="-_0_0_0/reason_1.txt">reason_1.txt</a></html>
END
echo "a < b at $here/fence.py:7, see https://example.org/gb1.html" > report/-_0_0_0/reason_1.txt
echo "Guard latency = 87.53 us" > report/-_0_0_0/guards_3.txt
echo "[]" > report/chromium_events.json
echo "raw" > report/raw.log
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "docs/module").mkdir(parents=True)
    (tmp_path / "docs/module/graph-breaks.md").write_text(FENCE, encoding="utf-8")
    settings = 'pythons = []\nreleases = []\nreference = "2.8.0"\ncurrent = "2.8.0"\n'
    (tmp_path / "pyproject.toml").write_text(f"[tool.compile_in_practice]\n{settings}")
    return load_project(tmp_path)


def install(project: Project, monkeypatch: pytest.MonkeyPatch, more: str = "") -> None:
    """Put the program on the path, and none beside this Python."""
    program = project.root / "bin" / "tlparse"
    program.parent.mkdir(exist_ok=True)
    program.write_text(PROGRAM % more, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(tlparse.shutil, "which", lambda _name, **_path: str(program))
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def made(project: Project, name: str) -> str:
    return (project.results / "here/tlparse/report" / name).read_text(encoding="utf-8")


def report(project: Project) -> dict[str, str]:
    return tlparse.write_report(project, project.results / "here")


def test_a_report_is_cleaned(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    install(project, monkeypatch)
    told = report(project)
    assert (told["version"], told["problem"]) == ("9.9.9", "")
    files = (project.results / "here/tlparse/report").rglob("*.*")
    names = {"index.html", "metrics_2.html", "reason_1.html", "guards_3.html"}
    assert {path.name for path in files} == names
    index = made(project, "index.html")
    assert "<p>fence.py:5 in f</p>" in index
    for gone in ("url</script>", "color: white", "onclick", "Chromium", "/traced-"):
        assert gone not in index
    assert made(project, "-_0_0_0/guards_3.html").count("Guard latency = ... us") == 1
    assert "0.244466" not in made(project, "-_0_0_0/metrics_2.html")


def test_each_link_of_a_report_leads_somewhere(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(project, monkeypatch)
    report(project)
    folder = project.results / "here/tlparse/report"
    found = set()
    for path in folder.rglob("*.html"):
        for address in re.findall(r"<a href=[\"']([^\"'#]+)", path.read_text(encoding="utf-8")):
            if not address.startswith(("https:", "../module/", "../../module/")):
                assert (path.parent / address).is_file(), (path, address)
                found.add(address)
    assert found == {
        "index.html",
        "../index.html",
        "-_0_0_0/reason_1.html",
        "../-_0_0_0/reason_1.html",
    }


def test_a_text_becomes_a_page_with_links(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(project, monkeypatch)
    report(project)
    link = '<a href="https://example.org/gb1.html">https://example.org/gb1.html</a>'
    assert f"a &lt; b at fence.py:7, see {link}</pre>" in made(project, "-_0_0_0/reason_1.html")


def test_an_unchanged_fence_is_traced_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(project, monkeypatch)
    report(project)
    index = project.results / "here/tlparse/report/index.html"
    index.write_text("kept")
    report(project)
    assert index.read_text() == "kept"
    page = project.docs / "module/graph-breaks.md"
    page.write_text(FENCE.replace("assert True", "assert 1"))
    report(project)
    assert index.read_text() != "kept"


def test_a_program_that_fails_is_told_and_fails_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(project, monkeypatch, "echo 'no glibc in /opt/lib' >&2; exit 7")
    assert report(project)["problem"] == "no glibc in /opt/lib"


def test_a_program_that_is_missing_is_told(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tlparse.shutil, "which", lambda _name, **_path: None)
    monkeypatch.setenv("PATH", "")
    told = report(project)
    assert (told["version"], told["problem"]) == ("", "tlparse is not installed")


def test_a_site_without_the_fence_has_no_report(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(project, monkeypatch)
    report(project)
    (project.docs / "module/graph-breaks.md").unlink()
    assert report(project) == {}
    assert not (project.results / "here/tlparse").exists()


def test_the_real_report_names_each_break_of_the_page_s_log(tmp_path: Path) -> None:
    told = tlparse.write_report(load_project(ROOT), tmp_path)
    reasons = sorted(tmp_path.glob("tlparse/report/*/dynamo_graph_break_reason_*.html"))
    texts = [path.read_text(encoding="utf-8") for path in reasons]
    if told["version"]:
        assert [re.findall(r"fence.py:(\d+)", text)[0] for text in texts] == ["7", "8"]
        assert not any(str(tmp_path.parent) in text for text in texts)
    else:
        assert told["problem"] == "tlparse is not installed"
