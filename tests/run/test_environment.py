"""What a result depends on: the wrong torch, the wrong Python, two at once, a full disk."""

import errno
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import compile_in_practice
from compile_in_practice import cli, environment
from compile_in_practice.environment import read_environment
from compile_in_practice.failure import BuildError
from compile_in_practice.project import load_project
from tests.run.conftest import FRESH, TORCH, Site, fence

OK = fence("ok", 'print("ok")\nassert 1 + 1 == 2')
OF_TORCH = ("torch", "functorch")  # torch, torchgen, torch-2.15.0.dist-info, ...
HERE = Path(sysconfig.get_paths()["purelib"])
REAL = HERE / f"torch-{metadata.version('torch')}.dist-info"


class Venv:
    """A virtual environment with all that is installed here but torch."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.python = str(folder / "bin" / "python")
        self.installed = Path(sysconfig.get_paths(vars={"base": str(folder)})["purelib"])
        for entry in HERE.iterdir():
            if not entry.name.startswith(OF_TORCH):
                (self.installed / entry.name).symlink_to(entry)

    def install(self, version: str, source: str | None) -> None:
        """Install a torch that says it is `version`; the real one where `source` is None."""
        for entry in self.installed.glob("torch*"):
            shutil.rmtree(entry) if not entry.is_symlink() else entry.unlink()
        info = self.installed / f"torch-{version}.dist-info"
        info.mkdir()
        text = (REAL / "METADATA").read_text(encoding="utf-8")
        text = text.replace(f"\nVersion: {metadata.version('torch')}\n", f"\nVersion: {version}\n")
        (info / "METADATA").write_text(text, encoding="utf-8")
        shutil.copy(REAL / "RECORD", info)
        if source is not None:
            (self.installed / "torch").mkdir()
            (self.installed / "torch" / "__init__.py").write_text(source, encoding="utf-8")
        else:
            for name in ("torch", "torchgen", "functorch"):
                (self.installed / name).symlink_to(HERE / name)


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Venv:
    return Venv(tmp_path_factory.mktemp("venv"))


def test_without_torch_nothing_runs_and_the_message_says_what_to_install(
    site: Site, venv: Venv
) -> None:
    site.page("ok", OK)
    done = site.command("run", python=venv.python)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "build: torch is not installed",
        f"    -> uv pip install torch=={TORCH}",
    ]


def test_another_release_than_asked_for_is_refused(site: Site) -> None:
    site.page("ok", OK)
    done = site.command("run", "--torch", "2.0.0")
    assert done.returncode == 2
    assert f"torch {TORCH} is installed, 2.0.0 was asked for" in done.stderr


def test_a_torch_that_cannot_be_imported_is_named_with_its_reason(site: Site, venv: Venv) -> None:
    reason = "libtorch_cpu.so: cannot open shared object file"
    venv.install(TORCH, f"raise ImportError({reason!r})\n")
    site.page("ok", OK)
    done = site.command("run", python=venv.python)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"build: torch cannot be imported: ImportError: {reason}",
        "    -> install torch again",
    ]


def test_a_torch_that_is_not_what_its_metadata_says_is_refused(site: Site, venv: Venv) -> None:
    venv.install("2.99.0", None)
    site.page("ok", OK)
    done = site.command("run", python=venv.python)
    assert done.returncode == 2
    assert f"torch says that it is {TORCH}" in done.stderr
    assert "its metadata says 2.99.0" in done.stderr
    assert [*site.root.glob("results/*/fences/*")] == []


@pytest.mark.parametrize("how", ["variable", "flag"])
def test_optimized_python_is_refused(site: Site, how: str) -> None:
    site.page("ok", OK)
    root = ("--root", str(site.root))
    flags = ["-O"] if how == "flag" else []
    variables = {"PYTHONOPTIMIZE": "1"} if how == "variable" else {}
    done = subprocess.run(
        [sys.executable, *flags, "-m", "compile_in_practice", *root, "run"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "optimized Python removes every assertion" in done.stderr


def test_two_environments_build_one_checkout_at_the_same_time(site: Site) -> None:
    site.page("ok", OK)
    builds = [site.start("run", **{FRESH: fresh}) for fresh in ("", "1")]
    said = [build.communicate()[0] for build in builds]
    assert [build.returncode for build in builds] == [0, 0]
    for text in said:
        assert "1 pages, 1 fences (0 unchanged), 1 assertions held" in text
    folders = {text.partition("results: ")[2].strip() for text in said}
    assert len(folders) == 2
    for folder in folders:
        assert [path.name for path in Path(folder, "pages").iterdir()] == ["ok.ipynb"]


def test_two_builds_of_one_environment_run_each_fence_once(site: Site) -> None:
    site.page("ok", OK)
    builds = [site.start("run", **{FRESH: "1"}) for _ in range(2)]
    said = sorted(build.communicate()[0] for build in builds)
    assert [build.returncode for build in builds] == [0, 0]
    assert "1 fences (0 unchanged)" in said[0]
    assert "1 fences (1 unchanged)" in said[1]


def test_a_users_own_torch_settings_do_not_reach_a_fence(site: Site) -> None:
    code = """
    import os
    import warnings

    seen = sorted(name for name in os.environ if name.startswith(("TORCH_", "PYTORCH")))
    filters = warnings.filters[0][0]
    assert seen == ["TORCH_SYMBOLIZE_MODE"]  # the project's own
    """
    code = "\n".join(line.removeprefix("    ") for line in code.splitlines())
    site.page("ok", fence("ok", code, values="{seen: seen, filters: filters}"))
    mine = {"TORCH_LOGS": "+dynamo", "PYTORCH_TEST": "1", "PYTHONWARNINGS": "error"}
    done = site.command("run", **{FRESH: "1", **mine})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("fresh", ["", "1"], ids=["forked", "fresh"])
def test_a_fence_imports_torch_itself_and_no_file_of_another_folder(site: Site, fresh: str) -> None:
    site.write("elsewhere/torch/__init__.py", '__version__ = "2.0.0"\n')
    site.write("elsewhere/helper.py", "N = 1\n")
    code = f"""
import sys
sys.path.insert(0, {str(site.root / "elsewhere")!r})
try:
    import helper
except ModuleNotFoundError:
    helper = None
import torch
assert helper is None and torch.__version__ != "2.0.0"
"""
    site.page("ok", fence("ok", code))
    done = site.command("run", **{FRESH: fresh, "PYTHONPATH": _with(site.root / "elsewhere")})
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def _with(folder: Path) -> str:
    return os.pathsep.join([str(folder), str(Path(compile_in_practice.__file__).parents[1])])


def main(site: Site, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the command line in this process, where its file system can be broken."""
    monkeypatch.setenv(FRESH, "1")
    return cli.main(["--root", str(site.root), "run"])


def test_a_results_folder_that_is_a_file_ends_the_build(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site.page("ok", OK)
    site.write("results", "in the way")
    assert main(site, monkeypatch) == 2
    assert "build: cannot write" in capsys.readouterr().err


@pytest.mark.parametrize(
    "function", [(tempfile, "mkstemp"), (Path, "mkdir")], ids=["a file", "a folder"]
)
def test_a_full_disk_ends_the_build_and_says_what_to_do(
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    function: tuple[Any, str],
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    site.page("ok", OK)
    monkeypatch.setattr(*function, full)
    assert main(site, monkeypatch) == 2
    message = capsys.readouterr().err
    assert message.startswith("build: cannot write ")
    assert "No space left on device" in message
    assert "free some space" in message


def test_a_page_that_cannot_be_read_is_not_taken_for_a_full_disk(site: Site) -> None:
    site.page("ok", OK)
    (site.docs / "folder.md").mkdir()
    report = site.build(fresh=True)
    assert [(f.where, f.what) for f in report.failures] == [
        ("docs/folder.md:1", "cannot be read: Is a directory")
    ]


@pytest.fixture
def folder(site: Site, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(FRESH, "")
    return read_environment(load_project(site.root)).folder


def here(site: Site) -> str:
    return read_environment(load_project(site.root)).folder


def test_a_results_folder_names_torch_and_python(folder: str) -> None:
    major, minor = sys.version_info[:2]
    assert folder.startswith(f"torch-{TORCH}-py{major}.{minor}-")


@pytest.mark.parametrize(
    "changed",
    [
        (environment.platform, "python_version", lambda: "3.11.99"),
        (environment.platform, "machine", lambda: "riscv64"),
        (environment.sys, "prefix", "/elsewhere"),
        (environment, "SETTINGS", {"OMP_NUM_THREADS": "2"}),
        (environment, "_git_revision", lambda _: "another"),
    ],
    ids=["Python", "platform", "prefix", "settings", "torch"],
)
def test_another_environment_never_sees_these_results(
    site: Site, folder: str, monkeypatch: pytest.MonkeyPatch, changed: tuple[Any, str, Any]
) -> None:
    monkeypatch.setattr(*changed)
    assert here(site) != folder


def test_a_fresh_interpreter_for_each_fence_is_another_environment(
    site: Site, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FRESH, "1")
    assert here(site) != folder


def test_a_package_that_torch_brings_along_is_part_of_the_environment(
    site: Site, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought = environment._brought_along()
    assert {"torch", "sympy", "networkx"} <= set(brought)
    assert not {"numpy", "packaging"} & set(brought)
    monkeypatch.setattr(environment, "_brought_along", lambda: {**brought, "sympy": "0"})
    assert here(site) != folder


def test_outside_a_project_the_command_says_where_to_run_it(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="run this inside the project"):
        load_project(tmp_path)


def test_an_unknown_setting_is_refused(site: Site) -> None:
    text = (site.root / "pyproject.toml").read_text(encoding="utf-8")
    site.write("pyproject.toml", text + "limit = 3\n")
    with pytest.raises(BuildError, match="unexpected keyword argument 'limit'"):
        load_project(site.root)
