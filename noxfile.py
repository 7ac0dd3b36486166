"""The project's sessions: `nox -s docs` builds the site, `nox -s tests` tests it."""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nox
from nox.command import CommandFailed
from nox.virtualenv import HAS_UV, UV

nox.needs_version = ">=2025.5.1"
nox.options.sessions = ["lint", "types", "tests", "docs"]
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False

PROJECT = nox.project.load_toml("pyproject.toml")
MATRIX = PROJECT["tool"]["compile_in_practice"]
LOCKS = Path(".ci/requirements")
DRIFT = Path("results/drift")
AGREES, DRIFTED, COULD_NOT_RUN = 0, 1, 2
# A file of tests stays in one process: what it builds first, its tests share.
PROCESSES = ["--numprocesses=auto", "--maxprocesses=4", "--dist=loadscope"]
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
BACKEND = os.environ.get("UV_TORCH_BACKEND", "")
SETTINGS = {
    "OMP_NUM_THREADS": "1",  # a fence is forked from a process with one thread
    "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no worker pool, which nothing here uses
    "UV_COMPILE_BYTECODE": "1",  # as uv installs, each process would compile torch
    "UV_PYTHON_DOWNLOADS": "never",
    "VIRTUAL_ENV": None,  # uv must not take the Python of an active environment
}
DOWNLOAD = """
torch {release} for Python {python} goes into {folder}, about 6 GB on disk.
uv is about to download what its cache does not hold, for Linux a CUDA build of 3 GB
and more. For the small CPU build stop here (Ctrl-C) and set UV_TORCH_BACKEND=cpu:
it comes from PyTorch's own index, and every page builds on it too.
"""


@nox.session(venv_backend="none")
def docs(session: nox.Session) -> None:
    """Run every page on a torch release (default: current) and build the site."""
    release, extra = split(session)
    python = environment(session, release)
    module(session, python, "docs", "--torch", release, *extra)


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """Run the tests and the doctests on a torch release (default: current)."""
    release, extra = split(session)
    session.run(
        environment(session, release),
        "-m",
        "pytest",
        *PROCESSES,
        *extra,
        env=SETTINGS,
        external=True,
    )


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Check style, workflows, the coverage table and the pages' prose, without torch."""
    python = install(session, "lint", [LOCKS / "lint.txt"])
    session.run(python, "-m", "ruff", "check", external=True)
    session.run(python, "-m", "ruff", "format", "--check", external=True)
    workflows = sorted(map(str, Path(".github/workflows").glob("*.yml")))
    for schema, files in (("github-workflows", workflows), ("readthedocs", [".readthedocs.yaml"])):
        check = ["-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
        session.run(python, *check, *files, external=True)
    zizmor = str(Path(python).with_name("zizmor"))
    session.run(zizmor, "--offline", "--quiet", *workflows, external=True)
    source = {"PYTHONPATH": "src"}
    for check in ("coverage", "lint"):
        session.run(python, "-m", f"compile_in_practice.{check}", env=source, external=True)


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Check the types of src, strictly."""
    session.run(
        environment(session, MATRIX["current"]),
        "-m",
        "mypy",
        env=SETTINGS,
        external=True,
    )


@nox.session(venv_backend="none")
def plain(session: nox.Session) -> None:
    """Run each fence as a plain file where torch alone is installed (`--warm torch`: in forks)."""
    release, extra = split(session)
    alone = install(session, f"plain-{release}", [LOCKS / f"torch-{release}.txt"])
    alone = str(Path(alone).absolute())  # fences run in folders of their own
    python = environment(session, release)
    module(session, python, "plain", "--torch", release, "--python", alone, *extra)


@nox.session(venv_backend="none")
def notebooks(session: nox.Session) -> None:
    """Execute each page's notebook in a plain Jupyter kernel."""
    release, extra = split(session)
    python = environment(session, release)
    module(session, python, "notebooks", "--torch", release, *extra)


@nox.session(venv_backend="none")
def browser(session: nox.Session) -> None:
    """Open every page of the built site (default: current) in a real browser."""
    release, extra = split(session)
    chromium = find_browser(session)
    python = install(session, "browser", [LOCKS / "site.txt", LOCKS / "browser.txt"])
    told = {"CHROMIUM": chromium, "TORCH_RELEASE": release, "PYTHONPATH": "src"}
    tests = ["-m", "pytest", "--override-ini=testpaths=tests/browser", *extra]
    session.run(python, *tests, env=SETTINGS | told, external=True)


@nox.session(venv_backend="none")
def linkcheck(session: nox.Session) -> None:
    """Ask the network for each outside link of the built site (default: current)."""
    release, extra = split(session)
    python = environment(session, release)
    module(session, python, "linkcheck", "--torch", release, *extra)


@nox.session(venv_backend="none")
def bench(session: nox.Session) -> None:
    """Time a build against the floor and against stock MyST-NB."""
    release, extra = split(session)
    python = environment(session, release)
    module(session, python, "bench", "--torch", release, *extra)


@nox.session(venv_backend="none")
def ledger(session: nox.Session) -> None:
    """Write the named values of a torch release (to be named, or `all`) into its ledger."""
    if not session.posargs:
        session.error("name the release, or all: nox -s ledger -- " + MATRIX["current"])
    if session.posargs[0] != "all":
        release, extra = split(session)
        module(session, environment(session, release), "ledger", "--torch", release, *extra)
        return
    failed = []
    coming = ("drift", "--variant", "next", "--accept", "--brief")
    runs = [("ledger", release) for release in MATRIX["releases"]] + [(coming, MATRIX["current"])]
    for command, release in runs:
        words = (command,) if isinstance(command, str) else command
        try:  # the values of the others are wanted all the same
            python = environment(session, release)
            module(session, python, *words, "--torch", release, *session.posargs[1:])
        except CommandFailed:
            failed.append(release)
    if failed:
        session.error(f"no ledger was written for {', '.join(failed)}: see above")


@nox.session(venv_backend="none")
def drift(session: nox.Session) -> None:
    """Say which sentences a torch release contradicts (default: every release)."""
    asked = argparse.ArgumentParser(prog="nox -s drift --", description=drift.__doc__)
    asked.add_argument("releases", nargs="*", help="of the matrix, or any that uv finds")
    asked.add_argument("--python", action="append", default=[], help="one with a torch of its own")
    asked.add_argument(
        "--accept", action="append", default=[], help="write a named release's values"
    )
    asked.add_argument(
        "--variant", choices=("next", "inductor"), help="with coming defaults, or under Inductor"
    )
    told = asked.parse_args(session.posargs)
    runs = [(release, told.variant) for release in told.releases]
    if not told.releases and told.variant:
        runs = [(MATRIX["current"], told.variant)]
    elif not told.releases and not told.python:
        runs = [*((release, None) for release in MATRIX["releases"]), (MATRIX["current"], "next")]
    if unnamed := set(told.accept) - set(told.releases):
        session.warn(f"--accept wants its release named: nox -s drift -- {' '.join(unnamed)}")
        raise SystemExit(COULD_NOT_RUN)
    pythons, files = [], []
    for number, (label, variant) in enumerate([*runs, *((path, None) for path in told.python)]):
        is_path = number >= len(runs)
        name = f"local-{number - len(runs) + 1}" if is_path else label
        name += f"-{variant}" if variant else ""
        files.append(DRIFT / f"{name}.json")
        files[-1].unlink(missing_ok=True)
        command = ["drift", "--brief", "--label", name, "--out", str(files[-1])]
        command += [] if is_path else ["--torch", label]
        command += ["--accept"] if label in told.accept else []
        command += ["--variant", variant] if variant else []
        try:  # one that cannot be installed must not hide what the others say
            python = label if is_path else any_environment(session, label)
            uninstalled(session, python, "compile_in_practice", *command)
        except CommandFailed as failure:
            session.warn(f"{name}: {failure}")
        else:
            pythons.append(python)
    if not pythons:
        raise SystemExit(COULD_NOT_RUN)
    given = [str(file) for file in files if file.exists()]
    expected = [f"--expect={file.stem}" for file in files]
    report = "compile_in_practice.drift_report"
    uninstalled(session, pythons[-1], report, *given, *expected, f"--out={DRIFT}")
    status = json.loads((DRIFT / "report.json").read_text(encoding="utf-8"))["status"]
    session.log(f"{DRIFT}: report.json, junit.xml, summary.md")
    if status == COULD_NOT_RUN:
        raise SystemExit(COULD_NOT_RUN)  # nox itself knows 0 and 1
    if status == DRIFTED:
        session.error("a release contradicts its ledger: the table says where")


def uninstalled(session: nox.Session, python: str, name: str, *args: str) -> None:
    """Run a module of the project, also where it is not installed."""
    env = SETTINGS | {"PYTHONPATH": str(Path("src").absolute())}
    codes = [AGREES, DRIFTED, COULD_NOT_RUN]
    session.run(python, "-m", name, *args, env=env, external=True, success_codes=codes)


def any_environment(session: nox.Session, release: str) -> str:
    """The Python of a release's environment, locked or, outside the matrix, not."""
    if release in MATRIX["releases"]:
        return environment(session, release)
    interpreter, version = find_python(session)
    folder = Path(session.cache_dir).parent / f"unlocked-{release}-{version}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        uv(session, "venv", "--quiet", "--clear", "--python", interpreter, str(folder))
    wanted = [f"--requirements={LOCKS / 'site.txt'}", f"torch=={release}", "--prerelease=allow"]
    uv(session, "pip", "install", "--quiet", "--python", str(python), *wanted)
    return str(python)


@nox.session(venv_backend="none")
def record(session: nox.Session) -> None:
    """Record what needs Inductor on CPU, on the reference and the current release."""
    for release in (MATRIX["reference"], MATRIX["current"]):
        python = environment(session, release)
        module(session, python, "record", "--torch", release, *session.posargs)


@nox.session(venv_backend="none")
def gpu(session: nox.Session) -> None:
    """Record the GPU gallery on this CUDA machine, and build it as a site of its own.

    `nox -s gpu -- ceilings decode` records these alone. What is recorded whole is kept,
    what was cut goes on. It runs with PyTorch's own settings, not with SETTINGS.
    """
    release, extra = split(session)
    python = environment(session, release)
    session.run(python, "-m", "compile_in_practice.gpu", *extra, external=True)


@nox.session(venv_backend="none")
def lock(session: nox.Session) -> None:
    """Lock everything again, keeping what is pinned (`-- --upgrade` renews it)."""
    asked = Path(session.create_tmp(), "asked.txt").resolve()
    asked.write_text("torch\n")
    site = ("pyproject.toml", "--group=tests", f"--excludes={asked}")
    write_lock(session, "site.txt", *site, *session.posargs)
    among_site = f"--constraints={LOCKS / 'site.txt'}"
    write_lock(session, "lint.txt", "--group=lint", among_site, *session.posargs)
    write_lock(session, "nox.txt", "--group=nox", among_site, *session.posargs)
    write_lock(session, "browser.txt", "--group=browser", among_site, *session.posargs)
    for release in MATRIX["releases"]:
        lock_release(session, release, *session.posargs)


def lock_release(session: nox.Session, release: str, *options: str) -> None:
    """Lock a torch release with all that it brings along."""
    asked = Path(session.create_tmp(), "asked.txt").resolve()
    asked.write_text(f"torch=={release}\n")
    constraints = f"--constraints={LOCKS / 'site.txt'}"
    write_lock(session, f"torch-{release}.txt", str(asked), constraints, *options)


def write_lock(session: nox.Session, name: str, *args: str) -> None:
    """Write one file of names, versions and hashes."""
    pins = "--universal --python-version 3.11 --fork-strategy fewest --generate-hashes"
    shape = "--no-header --no-annotate --quiet"
    output = f"--output-file={LOCKS / name}"
    uv(session, "pip", "compile", *pins.split(), *shape.split(), *args, output)


def split(session: nox.Session) -> tuple[str, list[str]]:
    """The torch release that leads the arguments (or current), and the others."""
    first, *rest = session.posargs or [""]
    if not first[:1].isdigit():
        return MATRIX["current"], list(session.posargs)
    if first not in MATRIX["releases"]:
        known = ", ".join(MATRIX["releases"])
        meant = [release for release in MATRIX["releases"] if release.startswith(f"{first}.")]
        session.error(
            f"torch {first} is not among the releases in pyproject.toml ({known}): "
            f"take {' or '.join(meant) or 'one of them'}; docs/how-to/add-a-release.md adds one"
        )
    return first, rest


def module(session: nox.Session, python: str, *args: str) -> None:
    """Run a command of the project's own in its environment."""
    session.run(python, "-m", "compile_in_practice", *args, env=SETTINGS, external=True)


def environment(session: nox.Session, release: str) -> str:
    """The Python of the one environment for a torch release, the project in it."""
    locks = [LOCKS / "site.txt", LOCKS / f"torch-{release}.txt"]
    if not locks[-1].exists():  # a release that the matrix has since today
        lock_release(session, release)
    python = install(session, f"torch-{release}", locks)
    link = Path(python).parents[1] / "project.txt"
    wanted = hashlib.sha256(Path("pyproject.toml").read_bytes()).hexdigest()
    if not link.exists() or link.read_text() != wanted:
        uv(session, "pip", "install", "--python", python, "--no-deps", "-e", ".")
        link.write_text(wanted)
    return python


def install(session: nox.Session, name: str, locks: list[Path]) -> str:
    """The Python of an environment, installed again when its locks changed."""
    interpreter, version = find_python(session)
    folder = Path(session.cache_dir).parent / f"{name}-{version}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    contents = b"".join(lock.read_bytes() for lock in locks) + BACKEND.encode()
    wanted = hashlib.sha256(contents).hexdigest()
    stamp = folder / "installed.txt"
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return str(python)

    release = name.partition("-")[2]
    if release and not BACKEND and sys.platform == "linux":
        text = DOWNLOAD.format(release=release, python=version, folder=folder)
        session.log(text.strip())
    for old in (stamp, folder / "project.txt"):
        old.unlink(missing_ok=True)
    if not python.exists():
        uv(session, "venv", "--quiet", "--clear", "--python", interpreter, str(folder))
    pins = ["--require-hashes", *(f"--requirements={lock}" for lock in locks)]
    if release and BACKEND:
        pins = pins_without_torch(locks, release, folder)
    uv(session, "pip", "install", "--exact", "--python", str(python), *pins)
    stamp.write_text(wanted)
    return str(python)


def pins_without_torch(locks: list[Path], release: str, folder: Path) -> list[str]:
    """As the locks say, but for torch: another index has another file of it."""
    *others, torch = locks
    rest = re.sub(r"(?m)^torch==.*\n(    .*\n)*", "", torch.read_text())
    constraints = folder / "constraints.txt"
    constraints.write_text(rest)
    asked = [f"--requirements={lock}" for lock in others]
    return [*asked, f"--constraints={constraints}", f"torch=={release}"]


def find_browser(session: nox.Session) -> str:
    """The path of Chromium or Chrome: named by CHROMIUM, or installed."""
    asked = os.environ.get("CHROMIUM")
    names = [asked] if asked else BROWSERS
    found = [path for name in names if (path := shutil.which(name))]
    if not found:
        session.error(
            f"no browser: {' or '.join(names)} is not there; on Debian or Ubuntu "
            f"`apt-get install chromium`, or set CHROMIUM to the path of one; "
            f"none is ever downloaded"
        )
    return found[0]


def find_python(session: nox.Session) -> tuple[str, str]:
    """An installed Python and its version: asked for with -P, nox's own, or any."""
    known = MATRIX["pythons"]
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if session.python in (None, False) and own in known:
        return sys.executable, own
    asked = [session.python] if session.python else known
    found = {version: uv_python(version) for version in asked if version in known}
    installed = [(path, version) for version, path in found.items() if path]
    if not installed:
        told = (
            f"Python {' or '.join(asked)} is not installed, or not among "
            f"{', '.join(known)}; none is ever downloaded"
        )
        # A check that is skipped must not look as if it had passed.
        (session.error if os.environ.get("CI") else session.skip)(told)
    return installed[0]


def uv_python(version: str) -> str:
    """The path of an installed Python of a version, or nothing."""
    settings = os.environ | {"UV_PYTHON_DOWNLOADS": "never"}
    command = [UV, "python", "find", "--system", version]
    found = subprocess.run(command, env=settings, capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else ""


def uv(session: nox.Session, *args: str) -> None:
    """Run uv, which nox brings along, and never let it fetch a Python."""
    if not HAS_UV:
        session.error('nox installs with uv: pip install "nox[uv]"')
    session.run(UV, *args, env=SETTINGS, external=True)
