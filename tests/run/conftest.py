"""Mini projects, each in a folder of its own, built for real."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest

import compile_in_practice
from compile_in_practice.report import Report
from compile_in_practice.run import build

ROOT = Path(__file__).parents[2]
PROJECTS = ROOT / "tests" / "projects"
TORCH = metadata.version("torch").partition("+")[0]
FRESH = "COMPILE_IN_PRACTICE_FRESH"
SETTINGS = f"""\
[tool.compile_in_practice]
pythons = ["3.11", "3.12", "3.13"]
releases = ["2.7.0", "{TORCH}"]
reference = "2.7.0"
current = "{TORCH}"
"""
WARM: dict[str, str] = {}  # what a first compile imports is the same for each project


class Site:
    """A mini project and the ways to build it."""

    def __init__(self, root: Path, project: str | None = None) -> None:
        self.root = root
        self.docs = root / "docs"
        self.started: list[subprocess.Popen[str]] = []
        if project is not None:
            shutil.copytree(PROJECTS / project, root, dirs_exist_ok=True)
        else:
            self.docs.mkdir(parents=True)
            self.write("pyproject.toml", SETTINGS)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def page(self, name: str, *parts: str) -> Path:
        return self.write(f"docs/{name}.md", "\n".join([f"# {name}\n", *parts]))

    def build(
        self,
        torch: str | None = None,
        *,
        width: int = 2,
        fresh: bool = False,
        ci: bool = False,
    ) -> Report:
        """Build in this process; the fences run in a worker as always."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CI", "true" if ci else "")
            patch.setenv(FRESH, "1" if fresh else "")
            self._warm()
            report = build(self.root, torch, width=width)
            self._keep_warm()
            return report

    def start(
        self, *command: str, python: str = sys.executable, **variables: str
    ) -> subprocess.Popen[str]:
        """Start the command line, as a user does."""
        self._warm()
        source = str(Path(compile_in_practice.__file__).parents[1])
        environment = {**os.environ, "PYTHONPATH": source, "CI": "", FRESH: "", **variables}
        process = subprocess.Popen(
            [python, "-m", "compile_in_practice", "--root", str(self.root), *command],
            cwd=self.root,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.started.append(process)
        return process

    def command(
        self, *command: str, python: str = sys.executable, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the command line to its end."""
        process = self.start(*command, python=python, **variables)
        stdout, stderr = process.communicate()
        self._keep_warm()
        return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)

    def _warm(self) -> None:
        for folder, text in WARM.items():
            self.write(f"results/{folder}/warm.json", text)

    def _keep_warm(self) -> None:
        for path in self.root.glob("results/*/warm.json"):
            WARM[path.parent.name] = path.read_text(encoding="utf-8")

    def processes(self) -> dict[int, str]:
        """Processes that work in the project or name it, with their command lines."""
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                where = str((process / "cwd").readlink())
                if int(process.name) == os.getpid():
                    continue
                if str(self.root) in line or where.startswith(str(self.root)):
                    found[int(process.name)] = line
        return found

    def end(self) -> None:
        """End what a failed test left: the next one must not meet it."""
        for process in self.started:
            process.kill()
            process.communicate()
        for pid in self.left():
            os.kill(pid, signal.SIGKILL)

    def left(self) -> dict[int, str]:
        """Return the processes that do not end; a killed one takes a moment."""
        with contextlib.suppress(TimeoutError):
            until(lambda: not self.processes(), 20)
        return self.processes()


def until(done: Callable[[], object], limit_s: float = 300) -> None:
    """Return as soon as `done` is true.

    Raises:
        TimeoutError: it was not within `limit_s` seconds.

    """
    deadline = time.monotonic() + limit_s
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.02)


def fence(name: str, code: str, **options: object) -> str:
    """Return a code cell as a page writes it."""
    head = "".join(f"{key}: {value}\n" for key, value in options.items())
    return f"```{{code-cell}} python\n---\nname: {name}\n{head}---\n{code.strip()}\n```\n"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """An empty mini project."""
    site = Site(tmp_path / "site")
    yield site
    site.end()


@pytest.fixture(scope="session")
def new_site(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], Site]:
    """A copy of a mini project of tests/projects."""

    def make(project: str) -> Site:
        return Site(tmp_path_factory.mktemp(project), project)

    return make
