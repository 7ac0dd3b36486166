"""Dynamo starts each test anew, and a full run that left a file out has failed."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXPECTED_SKIPS = (
    "needs CUDA",
    "needs a platform without a safe fork",
)


def reset_dynamo() -> None:
    """Forget what was compiled, in tests that have loaded Dynamo at all."""
    if dynamo := sys.modules.get("torch._dynamo"):
        dynamo.reset()


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    reset_dynamo()
    yield
    reset_dynamo()


class Inventory:
    """What ran, for a full run: a green one that ran nothing is the classic failure."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.passed: set[str] = set()
        self.skipped: list[str] = []

    def expected(self) -> set[str]:
        """Each test file, and each module with an example in a docstring."""
        tests = set((self.root / "tests").rglob("test_*.py"))
        projects = set((self.root / "tests/projects").rglob("*.py"))
        modules = (self.root / "src").rglob("*.py")
        examples = {m for m in modules if ">>> " in m.read_text(encoding="utf-8")}
        files = (tests - projects) | examples
        return {file.relative_to(self.root).as_posix() for file in files}

    def faults(self) -> list[str]:
        """A line for each file of which nothing passed and each unexpected skip."""
        idle = sorted(self.expected() - self.passed)
        return [
            *(f"{file}: no test of it passed" for file in idle),
            *(f"{skip}: a skip that nobody expects" for skip in self.skipped),
        ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid.partition("::")[0])
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            if not reason.startswith(EXPECTED_SKIPS):
                self.skipped.append(f"{report.nodeid} ({reason})")

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
    if not chosen and not any(config.getoption(name, None) for name in options):
        config.pluginmanager.register(Inventory(ROOT), "inventory")
