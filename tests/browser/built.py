"""The site that `nox -s docs` built, if it is of the pages as they stand."""

import json
from pathlib import Path

from compile_in_practice.links import files
from compile_in_practice.project import load_project
from compile_in_practice.reading import page_paths
from compile_in_practice.store import file_digest


def find(root: Path, release: str) -> tuple[Path | None, str]:
    """The folder of the newest build of a release, and what is wrong with it."""
    folders = (root / "results").glob(f"torch-{release}-*/html/index.html")
    builds = sorted(folders, key=lambda index: index.stat().st_mtime, reverse=True)
    told = [differs(root, index.parent) for index in builds]
    for index, difference in zip(builds, told, strict=True):
        if not difference:
            return index.parent, ""
    what = f"its newest build is older: {told[0]}" if told else "it is not built"
    return None, f"torch {release}: {what}\n    -> nox -s docs -- {release}"


def differs(root: Path, html: Path) -> str:
    """A page or a file that is not as it was when the site was built."""
    project = load_project(root)
    summary = json.loads((html.parent / "summary.json").read_text(encoding="utf-8"))
    pages = {
        path.relative_to(project.docs).with_suffix("").as_posix(): path
        for path in page_paths(project)
    }
    if added := sorted(pages.keys() ^ summary.get("pages", {}).keys()):
        return added[0]
    if summary["n_failures"]:
        return "the last run failed"
    static = [path for path in (project.docs / "_static").iterdir() if path.is_file()]
    copies = [(path, html / "_static" / path.name) for path in static]
    changed = [
        *(p for name, p in pages.items() if file_digest(p) != summary["pages"][name]),
        *(path for path, copy in copies if file_digest(path) != file_digest(copy)),
    ]
    return changed[0].relative_to(root).as_posix() if changed else ""


def addresses(html: Path) -> list[str]:
    """Each page, relative to the site's folder."""
    return [path.relative_to(html).as_posix() for path in files(html)]
