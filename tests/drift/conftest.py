"""A mini project with its ledger, and torch with other behaviour on purpose."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import compile_in_practice
from tests.run.conftest import SETTINGS, TORCH, Site

SOURCE = str(Path(compile_in_practice.__file__).parents[1])
# Python imports this at its start, before torch: a module's source is read edited.
EDITING = """
import json
import os
from importlib.machinery import SourceFileLoader

EDITS = json.loads(os.environ["EDITS"])
read = SourceFileLoader.get_code


def get_code(self, name):
    if name not in EDITS:
        return read(self, name)
    old, new = EDITS[name]
    source = self.get_data(self.path).decode()
    if old not in source:
        raise ImportError(f"{name} has no {old!r} to change")
    return compile(source.replace(old, new, 1), self.path, "exec")


SourceFileLoader.get_code = get_code
"""


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The mini project of `drift`, with the ledger of this release and its results."""
    site = Site(tmp_path_factory.mktemp("drift"), "drift")
    site.write("pyproject.toml", SETTINGS)
    done = site.command("ledger", "--torch", TORCH)
    assert (done.returncode, done.stderr) == (0, "")
    yield site
    site.end()


@pytest.fixture
def copy(known: Site, tmp_path: Path) -> Iterator[Site]:
    """A copy of it whose results are reused."""
    site = Site(tmp_path / "copy")
    shutil.copytree(known.root, site.root, dirs_exist_ok=True)
    yield site
    site.end()


def edit_ledger(site: Site, old: str, new: str, torch: str = TORCH) -> None:
    """Change the text of this release's ledger, and whose it is."""
    path = site.docs / "ledger" / f"{TORCH}.json"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.unlink()
    text = text.replace(old, new, 1).replace(f'"{TORCH}"', f'"{torch}"')
    site.write(f"docs/ledger/{torch}.json", text)


def drift(
    site: Site, *options: str, edits: dict[str, list[str]] | None = None
) -> tuple[int, dict[str, Any], str]:
    """Run the command; return its status, the data that it wrote, and what it printed."""
    out = site.root / "out.json"
    variables = {}
    if edits is not None:
        shutil.rmtree(site.root / "results")  # another torch, though of the same release
        site.write("edited/sitecustomize.py", EDITING)
        path = os.pathsep.join([str(site.root / "edited"), SOURCE])
        variables = {"EDITS": json.dumps(edits), "PYTHONPATH": path}
    done = site.command("drift", "--out", str(out), *options, **variables)
    assert done.stderr == ""
    return done.returncode, json.loads(out.read_text(encoding="utf-8")), done.stdout
