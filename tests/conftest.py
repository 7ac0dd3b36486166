"""Dynamo starts each test anew, and a run that left out what it should not has failed."""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SKIPS = {  # each reason, and whether it holds here
    "needs a platform that forks": sys.platform != "linux",
    "needs Linux": sys.platform != "linux",
    "needs a C++ compiler": shutil.which("g++") is None,
}


def reset_dynamo() -> None:
    """Forget what was compiled, in tests that have loaded Dynamo at all."""
    if dynamo := sys.modules.get("torch._dynamo"):
        dynamo.reset()


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    reset_dynamo()
    yield
    reset_dynamo()


def is_example(file: Path) -> bool:
    """Whether a module has an example in a docstring."""
    return ">>> " in file.read_text(encoding="utf-8")


def has_test(file: Path) -> bool:
    """Whether a file is named as tests are, or holds one whatever it is named."""
    text = file.read_text(encoding="utf-8")
    return file.name.startswith("test_") or bool(re.search(r"^\s*def test_", text, re.MULTILINE))


class Inventory:
    """What ran: a green run that ran nothing is the classic failure."""

    def __init__(self, config: pytest.Config, *, is_full: bool) -> None:
        self.is_full = is_full
        self.root = config.rootpath
        self.folders = [self.root / name for name in config.getini("testpaths")]
        self.left_out = {*config.getini("norecursedirs")}
        self.passed: set[str] = set()
        self.unexpected: list[str] = []

    def expected(self) -> set[str]:
        """Each test file, and each module with an example in a docstring."""
        files = {
            file
            for folder in self.folders
            for file in folder.rglob("*.py")
            if self.left_out.isdisjoint(file.relative_to(folder).parts)
            and (has_test(file) or (folder.name == "src" and is_example(file)))
        }
        return {file.relative_to(self.root).as_posix() for file in files}

    def faults(self) -> list[str]:
        """A line for each file of a full run of which nothing passed, and each unexpected skip."""
        idle = sorted(self.expected() - self.passed) if self.is_full else []
        return [*(f"{file}: no test of it passed" for file in idle), *self.unexpected]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid.partition("::")[0])
        if hasattr(report, "wasxfail"):
            self.unexpected.append(f"{report.nodeid}: marked as failing: mend it or delete it")
        elif report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            if not SKIPS.get(reason):
                self.unexpected.append(f"{report.nodeid} ({reason}): a skip that nobody expects")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.faults() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self.faults():
            terminalreporter.write_line(f"ERROR {line}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    chosen = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    options = ("keyword", "markexpr", "lf", "maxfail", "collectonly", "stepwise")
    is_full = not chosen and not any(config.getoption(name, None) for name in options)
    config.pluginmanager.register(Inventory(config, is_full=is_full), "inventory")
