import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ROOT / ".ci/requirements"
MATRIX = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["compile_in_practice"]
RELEASES = MATRIX["releases"]
NAMES = ["site", "lint", "nox", "browser", *(f"torch-{release}" for release in RELEASES)]


def pins(name: str) -> dict[str, str]:
    """Package → pinned version; a second pin of a package is an error."""
    text = (LOCKS / f"{name}.txt").read_text()
    found = re.findall(r"(?m)^([a-z0-9._-]+)==([^ \\]+)", text)
    assert len(dict(found)) == len(found), f"{name}: a package is pinned twice"
    return dict(found)


def test_releases_ascend_from_reference_to_current() -> None:
    numbers = [tuple(map(int, release.split("."))) for release in RELEASES]
    assert numbers == sorted(set(numbers))
    assert (MATRIX["reference"], MATRIX["current"]) == (RELEASES[0], RELEASES[-1])


@pytest.mark.parametrize("file", ["noxfile.py", ".ci/run", ".github/workflows/ci.yml"])
def test_tooling_names_no_release(file: str) -> None:
    text = (ROOT / file).read_text()
    assert [release for release in RELEASES if release in text] == []


def test_each_lock_has_its_use() -> None:
    files = {lock.stem for lock in LOCKS.iterdir()}
    assert files == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_lock_holds_names_versions_and_hashes_only(name: str) -> None:
    text = (LOCKS / f"{name}.txt").read_text().replace("\\\n    ", "")
    line = re.compile(
        r"[a-z0-9._-]+(\[[a-z,]+\])?==[0-9a-z.]+"
        r"( ; [^#/]+?)?( --hash=sha256:[0-9a-f]{64})+"
    )
    assert text.splitlines(), name
    assert [row for row in text.splitlines() if not line.fullmatch(row)] == []


@pytest.mark.parametrize("release", RELEASES)
def test_torch_lock_pins_its_release_and_agrees_with_site(release: str) -> None:
    torch, site = pins(f"torch-{release}"), pins("site")
    assert torch["torch"] == release
    assert "torch" not in site
    shared = torch.keys() & site.keys()
    assert {"jinja2", "typing-extensions"} <= shared
    assert [name for name in shared if torch[name] != site[name]] == []


@pytest.mark.parametrize("name", ["browser", "lint", "nox"])
def test_lock_agrees_with_site(name: str) -> None:
    own, site = pins(name), pins("site")
    assert [one for one in own.keys() & site.keys() if own[one] != site[one]] == []


def test_every_python_gets_the_same_sphinx() -> None:
    text = (LOCKS / "site.txt").read_text()
    assert re.findall(r"(?m)^sphinx==.*$", text) == ["sphinx==9.0.4 \\"]
