"""Check the prose of every page: `python -m compile_in_practice.lint`, without torch.

It finds numbers and verdicts without a source, and terms under another name. A build
finds the same.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from compile_in_practice.failure import BuildError, in_order
from compile_in_practice.glossary import other_names, read_terms
from compile_in_practice.project import load_project
from compile_in_practice.prose import typed_digits, typed_numbers, typed_verdicts
from compile_in_practice.reading import page_paths, read_page

if TYPE_CHECKING:
    from compile_in_practice.failure import Failure
    from compile_in_practice.glossary import Term
    from compile_in_practice.page import Page
    from compile_in_practice.project import Project


def wrong_prose(page: Page, file: str, terms: list[Term]) -> list[Failure]:
    """Return what is wrong with the words of a page, `file` as failures show it."""
    return [
        *typed_numbers(page, file),
        *typed_verdicts(page, file),
        *other_names(page, file, terms),
    ]


def wrong_scripts(project: Project) -> list[Failure]:
    """Return what is wrong with the words of the gallery's scripts."""
    return [
        failure
        for path in sorted((project.root / "gallery").glob("*/*.py"))
        for failure in typed_digits(path.read_text(encoding="utf-8"), project.shown(path))
    ]


def main() -> int:
    """Print what is wrong with line and remedy; return 1 if anything is."""
    try:
        project = load_project(Path.cwd())
    except BuildError as error:
        print(error, file=sys.stderr)
        return 2
    terms = read_terms(project.docs)
    pages = [(project.shown(path), *read_page(project, path)) for path in page_paths(project)]
    failures = [failure for _, _, wrong in pages for failure in wrong]
    failures += [found for file, page, _ in pages for found in wrong_prose(page, file, terms)]
    failures += wrong_scripts(project)
    print("\n".join(map(str, in_order(failures))))
    print(f"{len(pages)} pages, {len(terms)} terms, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
