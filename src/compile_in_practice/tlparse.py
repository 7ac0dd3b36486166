"""The report that tlparse makes of one fence, cleaned so that the site can show it.

As tlparse writes it, a report has this machine's paths, times, scripts that raise, a link
to a file that it did not write, and light boxes. The trace is made by the fence as a plain
file, as a reader would make it.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compile_in_practice.environment import process_environment
from compile_in_practice.normalize import normalize
from compile_in_practice.reading import read_page
from compile_in_practice.store import read_json, write_json, write_text

if TYPE_CHECKING:
    from compile_in_practice.project import Project

PAGE, FENCE = "module/graph-breaks", "logged"
LIMIT_S = 120.0
SHOWN = {".html", ".txt", ".json"}
ABOUT_THE_RUN = {"chromium_events.json", "compile_directory.json"}  # times and process ids
OUT = [  # scripts that raise or are not needed, light boxes, times, dead links
    re.compile(r"<script\b.*?</script>", re.DOTALL),
    re.compile(r"<style\b.*?</style>", re.DOTALL),
    re.compile(r"<h2> Chromium Events </h2>.*?(?=<p>\s*Build products below)", re.DOTALL),
    re.compile(r"<h2>Compile Time\(seconds\)</h2>.*?(?=<h2>)", re.DOTALL),
    re.compile(r"\s*onclick='[^']*'"),
    re.compile(r"<title>.*?</title>|</?(?:html|head|body)>|<(?:meta|base|!doctype)\b[^>]*>"),
]
LINK = re.compile(r"(<a href=[\"'])(?!https?:|#)")
START = "<h1>What tlparse reports</h1>\n"
PAGE_OF_TEXT = '<h1>{name}</h1>\n<pre tabindex="0">{text}</pre>\n'
FRAME = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} - tlparse</title>
<link rel="icon" href="{up}../_static/favicon.svg">
<link rel="stylesheet" href="{up}../_static/report.css">
</head>
<body>
<script>document.body.dataset.theme = localStorage.getItem("theme") || "auto";</script>
<nav aria-label="Back"><a href="{up}../{page}.html#evidence-torch-trace">Graph breaks: evidence</a>
<a href="{up}index.html">The report</a></nav>
<main>
{body}
</main>
</body>
</html>
"""


def write_report(project: Project, results: Path) -> dict[str, Any]:
    """Return what is known of the report in `results`, after making it where it is not.

    `version` is tlparse's own, `problem` says why there is no report, or is empty.
    """
    folder = results / "tlparse"
    path = project.docs / f"{PAGE}.md"
    fences = read_page(project, path)[0].fences if path.exists() else ()
    source = next((fence.source for fence in fences if fence.name == FENCE), None)
    if source is None:
        shutil.rmtree(folder, ignore_errors=True)
        return {}
    version = _version()
    parts = [source, version, Path(__file__).read_text(encoding="utf-8")]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    known: dict[str, Any] = read_json(folder / "told.json") or {}
    if known.get("key") != key:
        shutil.rmtree(folder, ignore_errors=True)
        known = {"key": key, "version": version, "problem": _make(source, folder / "report")}
        write_json(folder / "told.json", known)
    return known


def _program() -> str | None:
    """Return where tlparse is: beside this Python, or on the path."""
    beside = str(Path(sys.executable).parent)
    return shutil.which("tlparse", path=beside) or shutil.which("tlparse")


def _version() -> str:
    """Return tlparse's version, an empty text where it does not run."""
    try:
        told = _run([_program() or "tlparse", "--version"], Path())
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.stdout.split()[-1]


def _run(command: list[str], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=process_environment() | more,
        capture_output=True, text=True, check=True, timeout=LIMIT_S,
    )  # fmt: skip


def _make(source: str, target: Path) -> str:
    """Make the report of a fence's source; return why there is none, or nothing."""
    if (program := _program()) is None:
        return "tlparse is not installed"
    with tempfile.TemporaryDirectory(prefix="traced-") as name:
        scratch = Path(name)
        (scratch / "fence.py").write_text(source, encoding="utf-8")
        try:
            _run([sys.executable, "fence.py"], scratch, TORCH_TRACE="trace")
            logs = [str(path) for path in sorted((scratch / "trace").glob("*.log"))]
            _run([program, *logs, "-o", "report", "--no-browser"], scratch)
        except subprocess.TimeoutExpired:
            return f"it did not end within {LIMIT_S:.0f} s"
        except (OSError, subprocess.SubprocessError) as error:
            last = str(getattr(error, "stderr", None) or error).strip().splitlines()[-1:]
            return normalize("".join(last), str(scratch))
        clean(scratch / "report", target, scratch)
    return ""


def clean(report: Path, target: Path, scratch: Path) -> None:
    """Write what is worth showing of a report to `target`, each file as a page."""
    for path in sorted(report.rglob("*")):
        relative = path.relative_to(report)
        if path.suffix not in SHOWN or path.name in ABOUT_THE_RUN:
            continue
        text = _normal(path.read_text(encoding="utf-8"), scratch)
        up = "../" * len(relative.parent.parts)
        body = _page(text, up) if path.suffix == ".html" else _text(relative.stem, text)
        if relative.name == "index.html":
            body = START + body.replace("<details><summary>", "<details open><summary>", 1)
        title, page = html.escape(relative.stem), f"{PAGE}-evidence"
        framed = FRAME.format(title=title, up=up, page=page, body=body)
        write_text(target / relative.with_suffix(".html"), framed)


def _normal(text: str, scratch: Path) -> str:
    """Return a text as it is in any run on any machine."""
    text = re.sub(rf"[\w./-]*\b{re.escape(scratch.name)}/", "", normalize(text, str(scratch)))
    return re.sub(r"(Guard latency = )[\d.]+ us", r"\1... us", text)


def _page(text: str, up: str) -> str:
    """Return the body of a page, without what the site does not show.

    tlparse writes each link from the top of the report, and a `<base>` that says so.
    """
    for part in OUT:
        text = part.sub("", text)
    text = LINK.sub(rf"\g<1>{up}", text)
    text = re.sub(rf"({LINK.pattern}[^\"'#]+)\.(?:txt|json)(?=[\"'])", r"\1.html", text)
    return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())


def _text(name: str, text: str) -> str:
    """Return a text as the body of a page, its addresses as links."""
    linked = re.sub(r"https?://[^\s&<]+", r'<a href="\g<0>">\g<0></a>', html.escape(text.strip()))
    return PAGE_OF_TEXT.format(name=html.escape(name), text=linked)


def told(results: Path) -> dict[str, Any]:
    """Return what `write_report` has left in `results`, nothing where it never ran."""
    path = results / "tlparse" / "told.json"
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return known
