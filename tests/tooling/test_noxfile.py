import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import nox
import pytest

ROOT = Path(__file__).parents[2]


class EndedError(Exception):
    """Stands for nox's own ends of a session: error and skip."""


class Session:
    """What the noxfile uses of a session; commands are kept, not run."""

    def __init__(self, folder: Path, *posargs: str, python: str | bool = False) -> None:
        self.cache_dir = folder / ".cache"
        self.posargs = posargs
        self.python = python
        self.ran: list[list[str]] = []
        self.logged = ""
        self.told: dict[str, str] = {}

    def run(self, *args: str, env: dict[str, str] | None = None, **_: object) -> None:
        self.ran.append(list(args))
        self.told = env or {}
        if "venv" in args:
            python = Path(args[-1], "bin/python")
            python.parent.mkdir(parents=True)
            python.touch()

    def create_tmp(self) -> str:
        self.cache_dir.mkdir(exist_ok=True)
        return str(self.cache_dir)

    def log(self, text: str) -> None:
        self.logged += text

    def error(self, text: str) -> None:
        raise EndedError(text)

    skip = error
    warn = log


@pytest.fixture
def noxfile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    locks = tmp_path / ".ci/requirements"
    locks.mkdir(parents=True)
    for lock in (ROOT / ".ci/requirements").iterdir():
        (locks / lock.name).write_text(lock.read_text())
    monkeypatch.delenv("UV_TORCH_BACKEND", raising=False)
    monkeypatch.setattr(nox.registry, "_REGISTRY", {})
    spec = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.HAS_UV = True
    return module


def test_release_leads_the_arguments(noxfile: ModuleType, tmp_path: Path) -> None:
    assert noxfile.split(Session(tmp_path, "2.8.0", "-k", "x")) == (
        "2.8.0",
        ["-k", "x"],
    )
    current = noxfile.MATRIX["current"]
    assert noxfile.split(Session(tmp_path)) == (current, [])
    assert noxfile.split(Session(tmp_path, "-x")) == (current, ["-x"])


def test_unknown_release_names_the_known_ones(noxfile: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(EndedError, match=r"torch 2\.7\.0 is not .*take one of.*add-a-release\.md"):
        noxfile.split(Session(tmp_path, "2.7.0"))


def test_half_a_release_is_answered_with_the_whole_one(noxfile: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(EndedError, match=r"torch 2\.9 is not .*: take 2\.9\.1;"):
        noxfile.split(Session(tmp_path, "2.9"))


def test_environment_is_installed_once_and_again_when_a_lock_changes(
    noxfile: ModuleType, tmp_path: Path
) -> None:
    session = Session(tmp_path / ".nox")
    python = noxfile.environment(session, "2.8.0")
    assert [args[1:3] for args in session.ran] == [
        ["venv", "--quiet"],
        ["pip", "install"],
        ["pip", "install"],
    ]
    assert {"--exact", "--require-hashes"} <= set(session.ran[1])
    assert session.ran[2][-3:] == ["--no-deps", "-e", "."]
    assert noxfile.environment(session, "2.8.0") == python
    assert len(session.ran) == 3
    with Path(".ci/requirements/torch-2.8.0.txt").open("a") as lock:
        lock.write("\n")
    noxfile.environment(session, "2.8.0")
    assert [args[1] for args in session.ran[3:]] == ["pip", "pip"]


def test_gpu_hands_experiments_over(noxfile: ModuleType, tmp_path: Path) -> None:
    session = Session(tmp_path / ".nox", "ceilings", "decode")
    noxfile.gpu.func(session)
    assert session.ran[-1][1:] == ["-m", "compile_in_practice.gpu", "ceilings", "decode"]


def test_plain_environment_has_torch_alone(noxfile: ModuleType, tmp_path: Path) -> None:
    session = Session(Path(".nox"), "2.8.0")
    noxfile.plain.func(session)
    plain = [args for args in session.ran if any("plain-2.8.0" in arg for arg in args)]
    lock = ".ci/requirements/torch-2.8.0.txt"
    _, install, run = plain
    assert [arg for arg in install if arg.startswith("--requirements")] == [
        f"--requirements={lock}"
    ]
    alone = str(tmp_path / f".nox/plain-2.8.0-{noxfile.find_python(session)[1]}/bin/python")
    assert run[-2:] == ["--python", alone]


def test_sessions_share_the_environment_of_a_release(noxfile: ModuleType, tmp_path: Path) -> None:
    session = Session(tmp_path / ".nox")
    for name in ("docs", "tests", "types", "bench"):
        getattr(noxfile, name).func(session)
    assert len([args for args in session.ran if "venv" in args]) == 1


def test_environment_left_half_installed_is_installed_again(
    noxfile: ModuleType, tmp_path: Path
) -> None:
    session = Session(tmp_path / ".nox")
    python = Path(noxfile.environment(session, "2.8.0"))
    (python.parents[1] / "installed.txt").unlink()
    noxfile.environment(session, "2.8.0")
    assert len(session.ran) == 5


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_first_build_says_what_it_downloads(noxfile: ModuleType, tmp_path: Path) -> None:
    session = Session(tmp_path / ".nox")
    noxfile.environment(session, "2.8.0")
    assert "about to download" in session.logged
    assert "UV_TORCH_BACKEND=cpu" in session.logged
    session.logged = ""
    noxfile.environment(session, "2.8.0")
    assert session.logged == ""


def test_other_torch_build_drops_the_hash_of_torch_alone(
    noxfile: ModuleType, tmp_path: Path
) -> None:
    noxfile.BACKEND = "cpu"
    session = Session(tmp_path / ".nox")
    noxfile.environment(session, "2.8.0")
    install = session.ran[1]
    assert "torch==2.8.0" in install
    assert "--require-hashes" not in install
    path = next(a for a in install if a.startswith("--constraints=")).split("=")[1]
    constraints = Path(path).read_text()
    assert "sympy==" in constraints
    assert "torch==" not in constraints
    lock = Path(".ci/requirements/torch-2.8.0.txt").read_text()
    torch = lock[lock.index("torch==") : lock.index("triton==")]
    assert constraints == lock.replace(torch, "")


def test_python_that_is_not_installed_is_skipped_and_named(
    noxfile: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noxfile, "uv_python", lambda _: "")
    with pytest.raises(EndedError, match=r"Python 3\.12 is not installed"):
        noxfile.find_python(Session(tmp_path, python="3.12"))


def test_python_outside_the_range_is_skipped(
    noxfile: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noxfile, "uv_python", lambda _: "/usr/bin/python")
    with pytest.raises(EndedError, match=r"not among 3\.11, 3\.12, 3\.13"):
        noxfile.find_python(Session(tmp_path, python="3.10"))


def test_no_session_may_fetch_a_python(noxfile: ModuleType) -> None:
    assert nox.options.download_python == "never"
    assert noxfile.SETTINGS["UV_PYTHON_DOWNLOADS"] == "never"


def test_ledger_wants_its_release_named(noxfile: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(EndedError, match="name the release"):
        noxfile.ledger.func(Session(tmp_path))


# --- browser ---------------------------------------------------------------------


def test_browser_tests_the_release_with_the_one_that_is_named(
    noxfile: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHROMIUM", sys.executable)
    session = Session(tmp_path / ".nox", "2.8.0", "-x")
    noxfile.browser.func(session)
    *_, install, tests = session.ran
    locks = [arg for arg in install if arg.startswith("--requirements")]
    assert [Path(lock).stem for lock in locks] == ["site", "browser"]
    assert tests[1:] == ["-m", "pytest", "--override-ini=testpaths=tests/browser", "-x"]
    assert session.told["CHROMIUM"] == sys.executable
    assert session.told["TORCH_RELEASE"] == "2.8.0"


@pytest.mark.parametrize("asked", ["", "/opt/gone/chromium"])
def test_without_a_browser_the_session_says_what_to_install(
    noxfile: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setenv("CHROMIUM", asked)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EndedError, match=r"no browser: .*chrom.*apt-get install chromium"):
        noxfile.browser.func(Session(tmp_path / ".nox"))


def test_a_full_run_of_the_tests_needs_no_browser() -> None:
    settings = nox.project.load_toml(ROOT / "pyproject.toml")["tool"]["pytest"]["ini_options"]
    assert "browser" in settings["norecursedirs"]


# --- drift ---------------------------------------------------------------------


def drift(noxfile: ModuleType, tmp_path: Path, *asked: str, status: int = 0) -> list[list[str]]:
    """Run the session with a report that gives `status`; return the project's commands."""
    session = Session(tmp_path / ".nox", *asked)
    noxfile.DRIFT.mkdir(parents=True, exist_ok=True)
    (noxfile.DRIFT / "report.json").write_text(f'{{"status": {status}}}')
    try:
        noxfile.drift.func(session)
    finally:
        noxfile.ran = [args for args in session.ran if args[1:2] == ["-m"]]
    ran: list[list[str]] = noxfile.ran
    return ran


def test_drift_asks_every_release_in_its_own_environment(
    noxfile: ModuleType, tmp_path: Path
) -> None:
    *asked, report = drift(noxfile, tmp_path)
    releases, current = noxfile.MATRIX["releases"], noxfile.MATRIX["current"]
    names = [*releases, current]
    assert [args[args.index("--torch") + 1] for args in asked] == names
    assert all(f"torch-{r}-" in args[0] for r, args in zip(names, asked, strict=True))
    assert [args[-2:] for args in asked if "--variant" in args] == [["--variant", "next"]]
    expected = [*releases, f"{current}-next"]
    assert [a for a in report if a.startswith("--expect")] == [f"--expect={r}" for r in expected]


def test_drift_takes_releases_pythons_and_versions_without_a_lock(
    noxfile: ModuleType, tmp_path: Path
) -> None:
    mine = str(tmp_path / "mine")
    asked = drift(noxfile, tmp_path, "2.9.1", "2.16.0", "--python", mine)
    pythons = [Path(args[0]) for args in asked]
    assert pythons[0].parts[-3].startswith("torch-2.9.1-")
    assert pythons[1].parts[-3].startswith("unlocked-2.16.0-")
    assert pythons[2:] == [Path(mine)] * 2
    assert "local-1" in asked[2]
    assert "--torch" not in asked[2]


@pytest.mark.parametrize(("status", "end"), [(0, None), (1, EndedError), (2, SystemExit)])
def test_drift_ends_as_its_report_does(
    noxfile: ModuleType, tmp_path: Path, status: int, end: type[BaseException] | None
) -> None:
    if end is None:
        drift(noxfile, tmp_path, "2.8.0", status=status)
        return
    with pytest.raises(end) as raised:
        drift(noxfile, tmp_path, "2.8.0", status=status)
    if isinstance(raised.value, SystemExit):
        assert raised.value.code == 2


def test_drift_takes_a_variant_of_the_current_release_or_of_a_named_one(
    noxfile: ModuleType, tmp_path: Path
) -> None:
    asked, report = drift(noxfile, tmp_path, "--variant", "inductor")
    current = noxfile.MATRIX["current"]
    assert asked[asked.index("--torch") + 1] == current
    assert f"--expect={current}-inductor" in report
    asked, report = drift(noxfile, tmp_path, "2.9.1", "--variant", "next", "--accept", "2.9.1")
    assert asked[asked.index("--torch") + 1] == "2.9.1"
    assert {"--accept", "--variant"} <= set(asked)


def test_ledger_of_all_writes_each_release_and_the_coming_defaults(
    noxfile: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, ...]] = []

    def module(_session: Session, _python: str, *args: str) -> None:
        ran.append(args)
        if args[-1] == "2.9.1":
            raise noxfile.CommandFailed

    monkeypatch.setattr(noxfile, "module", module)
    with pytest.raises(EndedError, match=r"no ledger was written for 2\.9\.1"):
        noxfile.ledger.func(Session(tmp_path / ".nox", "all"))
    releases = noxfile.MATRIX["releases"]
    assert [args[-1] for args in ran] == [*releases, noxfile.MATRIX["current"]]
    assert ran[-1][:4] == ("drift", "--variant", "next", "--accept")


def test_drift_accepts_only_a_release_that_is_named(noxfile: ModuleType, tmp_path: Path) -> None:
    first, second, _ = drift(noxfile, tmp_path, "2.8.0", "2.9.1", "--accept", "2.9.1")
    assert ("--accept" in first, "--accept" in second) == (False, True)
    with pytest.raises(SystemExit):
        drift(noxfile, tmp_path, "--accept", "2.9.1")
    assert noxfile.ran == []


def test_a_release_that_cannot_be_installed_does_not_hide_the_others(
    noxfile: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def environment(_: Session, release: str) -> str:
        if release == "2.8.0":
            raise noxfile.CommandFailed
        return "python"

    monkeypatch.setattr(noxfile, "environment", environment)
    asked, report = drift(noxfile, tmp_path, "2.8.0", "2.9.1")
    assert "2.9.1" in asked
    assert {"--expect=2.8.0", "--expect=2.9.1"} <= set(report)


def test_a_release_that_the_matrix_has_since_today_is_locked_first(
    noxfile: ModuleType, tmp_path: Path
) -> None:
    lock = Path(".ci/requirements/torch-2.9.1.txt")
    text = lock.read_text()
    lock.unlink()
    session = Session(tmp_path)
    run = session.run

    def write(*args: str, **options: object) -> None:
        run(*args, **options)
        if "compile" in args:
            lock.write_text(text)

    session.run = write  # type: ignore[method-assign]
    noxfile.environment(session, "2.9.1")
    assert session.ran[0][1:3] == ["pip", "compile"]
    assert session.ran[0][-1] == f"--output-file={lock}"
    assert (session.cache_dir / "asked.txt").read_text() == "torch==2.9.1\n"
