"""torch changed on purpose: the report names what rests on the change, and nothing else."""

import pytest

from compile_in_practice.drift_report import merge
from tests.drift.conftest import drift
from tests.run.conftest import TORCH, Site

ROWS = list[tuple[str, str, str, str]]
WARNING = "FutureWarning: list_backends is deprecated"
CALL = "    return torch._dynamo.list_backends(exclude_tags)"
WARN = f'    __import__("warnings").warn({WARNING[15:]!r}, FutureWarning, stacklevel=2)\n'


def canary(site: Site, module: str, old: str, new: str) -> ROWS:
    status, result, _ = drift(site, "--torch", TORCH, edits={module: [old, new]})
    assert status == 1
    rows = merge([result])["rows"]
    return [(row["kind"], row["claim"], row["where"], row["change"]) for row in rows]


def test_nothing_is_named_while_torch_is_as_its_ledger_says(copy: Site) -> None:
    status, result, said = drift(copy, "--torch", TORCH, edits={})
    assert (status, merge([result])["rows"]) == (0, [])
    assert said == f"{TORCH}: 11 values against its ledger: all agree\n"


def test_a_changed_default_names_what_it_limits(copy: Site) -> None:
    rows = canary(copy, "torch._dynamo.config", "\nrecompile_limit = 8", "\nrecompile_limit = 5")
    assert rows == [("changed", "limits.limited.n_frames", "docs/limits.md:7", "8 -> 5")]


def test_a_counted_frame_names_its_counts_and_the_broken_assertion(copy: Site) -> None:
    rows = canary(copy, "torch._dynamo.testing", "self.frame_count += 1", "self.frame_count += 2")
    assert rows == [
        ("changed", "frames.counted.n_all", "docs/frames.md:5", "2 -> 4"),
        ("changed", "frames.counted.n_frames", "docs/frames.md:5", "1 -> 2"),
        ("failed", "frames.counted", "docs/frames.md:20", "AssertionError"),
    ]


def test_a_log_text_names_the_fence_that_waits_for_it(copy: Site) -> None:
    rows = canary(copy, "torch._dynamo.guards", "Recompiling function", "Compiling again")
    missed = "fence told did not log 'Recompiling function f' (in this order)"
    assert rows == [
        ("changed", "logs.told.n_lines", "docs/logs.md:5", "1 -> 0"),
        ("failed", "logs.told", "docs/logs.md:5", missed),
    ]


def test_a_removed_attribute_names_itself_and_what_is_like_it(copy: Site) -> None:
    rows = canary(copy, "torch.compiler", "def list_backends(", "def list_all_backends(")
    name, change = "torch.compiler.list_backends", "gone -> list_all_backends?"
    assert rows == [
        ("vanished", name, "docs/api.md:15", change),
        ("lost", "api.asked.n_calls", "docs/api.md:5", "not measured"),
        ("lost", "api.after.n_after", "docs/api.md:20", "not measured"),
    ]


def test_a_deprecation_names_the_fence_that_was_warned(copy: Site) -> None:
    rows = canary(copy, "torch.compiler", CALL, WARN + CALL)
    assert rows == [("deprecated", "api.asked", "docs/api.md:5", WARNING)]


def test_a_release_that_cannot_run_says_why(copy: Site) -> None:
    edits = {"torch._dynamo.config": ["this text is nowhere", ""]}
    status, result, said = drift(copy, "--torch", TORCH, edits=edits)
    assert status == 2
    assert "has no 'this text is nowhere' to change" in result["error"]
    assert said.startswith(f"{TORCH}: could not run: ")


pytestmark = pytest.mark.usefixtures("known")
