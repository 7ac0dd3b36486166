"""What Dynamo made of a fence is kept, and nothing of the fence changes by it."""

import json
import logging
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from compile_in_practice import outcome, run, xray
from compile_in_practice.jobs import chain_job
from compile_in_practice.report import Report
from compile_in_practice.worker import trace
from tests.run.conftest import TORCH, Site, fence

Fences = dict[str, dict[str, Any]]


def kept(report: Report) -> Fences:
    assert report.failures == []
    found: Fences = {}
    for path in (report.results / "fences").iterdir():
        found |= json.loads(path.read_text(encoding="utf-8"))["fences"]
    return found


@pytest.fixture(scope="module")
def fences(new_site: Callable[[str], Site]) -> Fences:
    return kept(new_site("xray").build())


@pytest.fixture(scope="module")
def seen(fences: Fences) -> Fences:
    return {name: result["xray"] for name, result in fences.items()}


def test_a_graph_is_code_to_read(seen: Fences) -> None:
    lines = seen["broken"]["compiles"][0]["graph"].splitlines()
    assert re.fullmatch(r'def forward\(self, l_x_: "f32\[3\].*"\):', lines[0])
    assert "L_x_" not in "".join(lines)
    at = lines.index("    # y = x.sin()")
    assert lines[at + 1].endswith("= l_x_.sin()")
    assert "None" not in lines[at + 1]


def test_a_break_has_its_reason_its_line_and_its_id(seen: Fences) -> None:
    first, resumed = seen["broken"]["compiles"]
    (found,) = first["breaks"]
    assert found["spot"] == {"fence": "", "line": 8, "code": "if y.sum() > 0:"}
    assert "ata-dependent" in found["reason"]
    assert found["explanation"].startswith("Detected data-dependent branching")
    without = ("2.8.0", "2.9.1", "2.10.0")  # their trace gives no id
    assert found["identifier"] == ("" if TORCH in without else "GB0170")
    assert first["function"] == "branchy"
    assert resumed["function"] == "torch_dynamo_resume_in_branchy_at_8"
    assert (seen["broken"]["n_graphs"], seen["broken"]["n_breaks"]) == (2, 1)


def test_a_compile_belongs_to_the_fence_of_a_chain_that_ran_it(seen: Fences) -> None:
    by_function = {one["function"]: one for one in seen["again"]["compiles"]}
    resumed = by_function["torch_dynamo_resume_in_branchy_at_8"]
    assert resumed["spot"] == {"fence": "broken", "line": 8, "code": "if y.sum() > 0:"}
    assert by_function["scaled"]["spot"]["fence"] == ""
    assert "branchy" not in by_function


def test_a_recompile_names_the_guard_that_failed(seen: Fences) -> None:
    again = [one for one in seen["again"]["compiles"] if one["function"] == "scaled"]
    symbolic = seen["symbolic"]["compiles"]
    assert again[1]["recompiles"] == [f"{again[0]['id']}: n == 2"]
    assert symbolic[1]["recompiles"] == [
        "0/0: tensor 'x' size mismatch at index 0. expected 3, actual 4"
    ]
    assert (again[0]["recompiles"], symbolic[0]["recompiles"]) == ([], [])
    assert seen["symbolic"]["n_recompiles"] == 1


def test_guards_are_a_line_each_without_the_tree(seen: Fences) -> None:
    first, second = seen["symbolic"]["compiles"]
    tensor = "check_tensor(L['x'], Tensor, torch.float32, device=None, requires_grad=False,"
    assert f"{tensor} size=[3], stride=[1])" in first["guards"]
    assert f"{tensor} size=[None], stride=[1])" in second["guards"]
    assert "2 <= L['x'].size()[0]" in second["guards"]
    assert first["guards"][-1].startswith("of the process: ")
    assert "___check_global_state()" in first["guards"][-1]
    noise = ("+-", "GuardManager", "DispatchKeySet", "#", "latency")
    assert [g for g in first["guards"] if any(part in g for part in noise)] == []
    trained = seen["trained"]["compiles"][0]
    assert len(trained["guards"]) == xray.MOST_GUARDS + 2
    assert re.fullmatch(r"and \d+ more lines", trained["guards"][-2])
    assert trained["n_guards"] > xray.MOST_GUARDS


def test_a_failed_compile_says_why(seen: Fences) -> None:
    (one,) = seen["failing"]["compiles"]
    assert "Data-dependent branching" in one["failure"]
    assert (one["graph"], one["guards"]) == ("", [])


def test_what_is_left_out_is_counted(seen: Fences) -> None:
    assert len(seen["many"]["compiles"]) == xray.MOST_COMPILES
    assert seen["many"]["n_graphs"] == 12
    assert seen["many"]["n_left_out"] == 12 - xray.MOST_COMPILES
    assert seen["many"]["compiles"][-1]["recompiles"][-1].startswith("and ")


def test_nothing_is_kept_where_the_fence_itself_compiled_nothing(seen: Fences) -> None:
    assert seen["quiet"] is None
    assert seen["own_processes"] is None


def test_a_second_run_keeps_the_same_bytes(new_site: Callable[[str], Site], fences: Fences) -> None:
    again = kept(new_site("xray").build())
    assert json.dumps(again, sort_keys=True) == json.dumps(fences, sort_keys=True)


def untraced(*arguments: Any) -> dict[str, Any]:
    return {**chain_job(*arguments), "trace": False}


@pytest.mark.parametrize("project", ["probes", "xray"])
def test_tracing_changes_no_value_no_output_and_no_log(
    new_site: Callable[[str], Site], monkeypatch: pytest.MonkeyPatch, fences: Fences, project: str
) -> None:
    traced = fences if project == "xray" else kept(new_site(project).build())
    monkeypatch.setattr(run, "chain_job", untraced)
    plain = kept(new_site(project).build())
    assert [name for name, result in traced.items() if result["xray"]]
    assert not [name for name, result in plain.items() if result["xray"]]
    assert {n: {**r, "xray": None} for n, r in traced.items()} == plain


# --- a trace that is not known ---------------------------------------------------

METRICS = {
    "co_name": "f", "co_filename": "fence.py", "co_firstlineno": 3, "fail_type": None,
    "fail_reason": None, "graph_op_count": 1, "guard_count": 5,
}  # fmt: skip
CANNED = [
    {"name": "dynamo_output_graph", "payload": "class G:\n    def forward(self):\n        return"},
    {"name": "dynamo_cpp_guards_str", "payload": "| +- EQUALS_MATCH: L['n'] == 2  # f"},
    {"name": "compilation_metrics", "payload": None, "metrics": METRICS},
]


def test_a_graph_of_a_lambda_names_its_line_alone() -> None:
    code = "x = f(lambda x: x * 2)"
    graph = (
        f"class G:\n    def forward(self):\n        # File: fence.py:3 in <lambda>, code: {code}"
    )
    found = xray.read(canned({**CANNED[0], "payload": graph}, *CANNED[1:]), at)
    assert found is not None
    assert found["compiles"][0]["graph"] == f"def forward(self):\n    # {code}"


def canned(*events: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"cell": 0, "id": [None, 0, 0], **event} for event in events]


def at(line: int) -> dict[str, Any]:
    return {"fence": "", "line": line, "code": ""}


def test_a_canned_trace_is_read() -> None:
    found = xray.read(canned(*CANNED), at)
    assert found is not None
    (one,) = found["compiles"]
    assert (one["graph"], one["guards"]) == ("def forward(self):\n    return", ["L['n'] == 2"])


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        (CANNED[1:], "dynamo_output_graph is missing"),
        ([CANNED[0], CANNED[2]], "dynamo_cpp_guards_str is missing"),
        ([CANNED[0], {**CANNED[1], "payload": "- L['n'] == 2"}, CANNED[2]], "another shape"),
        ([{"other": "dynamo_renamed"}], "for a compile, but dynamo_renamed"),
        (CANNED[:2], "no compilation_metrics came for a compile, but dynamo_cpp_guards_str"),
        ([{**CANNED[2], "metrics": {"co_name": "f"}}], "compilation_metrics: KeyError"),
        ([{"name": "dynamo_graph_break_reason", "payload": "broke"}], "no reason in 'broke'"),
        ([{"problem": "KeyError: 'metadata'"}], "KeyError: 'metadata'"),
    ],
)
def test_a_trace_of_another_shape_is_a_problem(events: list[dict[str, Any]], problem: str) -> None:
    found = xray.read(canned(*events), at)
    assert found is not None
    assert problem in found["problem"]
    assert "compiles" not in found


COMPILES = "import torch\n\ntorch.compile(torch.sin, backend='eager')(torch.ones(2))\nassert True"


def with_problem(site: Site, monkeypatch: pytest.MonkeyPatch) -> list[Report]:
    """Build twice where no graph is ever found."""
    site.page("one", fence("first", COMPILES), fence("second", COMPILES))
    read = xray.read

    def blind(events: list[dict[str, Any]], find: Any) -> Any:
        return read([e for e in events if e.get("name") != "dynamo_output_graph"], find)

    monkeypatch.setattr(outcome.xray, "read", blind)
    return [site.build(), site.build()]


def test_a_release_whose_trace_is_not_known_fails_the_run(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for report in with_problem(site, monkeypatch):
        (failure,) = report.failures
        assert failure.where == "docs/one.md:3"
        assert f"torch {TORCH} has a shape that is not known" in failure.what
        assert failure.details == ("and so for 1 other fences",)


def test_it_is_a_notice_where_the_release_is_not_followed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = site.root / "pyproject.toml"
    text = settings.read_text(encoding="utf-8").replace(TORCH, "2.7.1")
    settings.write_text(text, encoding="utf-8")
    for report in with_problem(site, monkeypatch):
        assert report.failures == []
        assert [n for n in report.notices if "has a shape that is not known" in n]


def test_another_logger_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    internal = ModuleType(trace.INTERNAL)
    internal.trace_log = logging.getLogger("another")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, trace.INTERNAL, internal)
    path = tmp_path / "trace.jsonl"
    trace.start(path).stop()
    assert "another logger" in json.loads(path.read_text(encoding="utf-8"))["problem"]


def test_a_record_of_another_shape_never_raises_in_the_fence(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    tracer = trace.start(path)
    try:
        tracer.handle(logging.LogRecord("torch.__trace", 10, "", 0, "", (), None))
    finally:
        tracer.stop()
    assert "KeyError" in json.loads(path.read_text(encoding="utf-8"))["problem"]
