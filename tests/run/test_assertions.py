"""Which assertions count, what a failed one shows, and which values a fence may have."""

import sys
from types import ModuleType
from typing import Any

import pytest

from compile_in_practice.worker.fence import plain, run_cell, short_repr


def run(source: str, **values: str) -> dict[str, Any]:
    module = ModuleType("__main__")
    return run_cell({"source": source, "values": values}, 1, module)


@pytest.mark.parametrize(
    ("source", "held"),
    [
        ("assert 1", 1),
        ("assert 1\nassert 2, 'why'", 2),
        ("if True:\n    assert 1\nelse:\n    assert 0", 1),
        ("for n in (1, 2, 3):\n    assert n", 3),
        ("n = 2\nwhile n:\n    n -= 1\n    assert n >= 0", 2),
        ("with open('/dev/null') as file:\n    assert file", 1),
        ("try:\n    int('x')\nexcept ValueError as error:\n    assert error", 1),
        ("try:\n    pass\nfinally:\n    assert 1", 1),
        ("match 1:\n    case 1:\n        assert 1", 1),
        ("def assert_one(n):\n    assert n == 1\n\n\nassert_one(1)", 1),
        ("def assert_one(n):\n    if n != 1:\n        raise AssertionError\n\n\nassert_one(1)", 1),
        ("import unittest\n\nunittest.TestCase().assertEqual(1, 1)", 1),
        ("import math as torch\n\ntorch.assert_close = max\ntorch.assert_close(1, 2)", 1),
        ("if False:\n    assert 1", 0),
        ("for n in ():\n    assert n", 0),
        ("def check():\n    assert 1\n\n\ncheck()", 0),
        ("class C:\n    assert 1", 0),
        ("def assert_nothing():\n    return 1\n\n\nassert_nothing()", 0),
        ("'assert 1'", 0),
        ("check = lambda: 1\ncheck()", 0),
        ("try:\n    assert 0\nexcept AssertionError:\n    pass", 0),
        ("def assert_each(n):\n    assert n == 1\n    yield\n\n\nassert_each(2)", 0),
        (
            (
                "import warnings\n\nwarnings.simplefilter('ignore')\n\n\n"
                "async def assert_it(n):\n    assert n\n\n\nassert_it(0)"
            ),
            0,
        ),
    ],
)
def test_an_assertion_counts_when_it_is_executed_at_the_top_level(source: str, held: int) -> None:
    assert run(source)["held"] == held


@pytest.mark.parametrize(
    ("source", "compared"),
    [
        ("n = 3\nassert n == 4", [["n", "3"]]),
        ("n, m = 3, 5\nassert n < 4 < m < 2", [["n", "3"], ["m", "5"]]),
        ("x = [1]\nassert len(x) == 2 and x", [["len(x)", "1"]]),
        ("x = []\nassert not x == []", [["x", "[]"]]),
        ("assert isinstance(3 + 1, str)", [["3 + 1", "4"], ["str", "<class 'str'>"]]),
        ("x = 0\nassert x", [["x", "0"]]),
        ("assert (n := 3) == 4", []),
        ("for n in (1, 2):\n    assert n == 1", [["n", "2"]]),
    ],
)
def test_a_failed_assertion_keeps_what_it_compared(source: str, compared: list[list[str]]) -> None:
    error = run(source)["error"]
    assert (error["type"], error["compared"]) == ("AssertionError", compared)


def test_operands_are_evaluated_once_and_in_order() -> None:
    source = """
seen = []


def see(n):
    seen.append(n)
    return n


assert see(1) < see(2) < see(3) or see(4)
"""
    assert run(source, seen="seen")["values"] == {"seen": [1, 2, 3]}


def test_function_bodies_run_as_they_are_written() -> None:
    source = """
def function(n):
    assert n == 1
    return n


code = function.__code__
assert function(1) == 1
"""
    values = run(source, names="list(code.co_names)", n="len(code.co_code)")["values"]
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    code = namespace["code"]
    assert values == {"names": list(code.co_names), "n": len(code.co_code)}


def test_a_fence_finds_nothing_of_the_counting_in_its_names() -> None:
    names = run("n = 1\nassert n == 1", names="sorted(globals())")["values"]["names"]
    assert [name for name in names if name.startswith(("@held", "@operand"))] == []


def test_the_line_of_an_error_is_the_innermost_of_the_fence() -> None:
    error = run("import json\n\n\ndef read():\n    return json.loads('{')\n\n\nread()")["error"]
    assert error["line"] == 5
    assert error["type"] == "json.decoder.JSONDecodeError"
    assert "run_cell" not in error["traceback"]


def test_what_compiles_as_a_syntax_error_has_its_line() -> None:
    assert run("x = 1\nreturn x")["error"]["line"] == 2


def test_a_fence_that_exits_has_failed() -> None:
    assert run("import sys\n\nassert 1\nsys.exit(0)")["error"]["type"] == "SystemExit"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (True, True),
        (3, 3),
        ("a", "a"),
        (None, None),
        ((1, [2]), [1, [2]]),
        ({"a": (1,)}, {"a": [1]}),
    ],
)
def test_plain_data_are_kept_as_json_has_them(value: object, kept: object) -> None:
    assert plain(value) == kept
    assert type(plain(value)) is type(kept)


@pytest.mark.parametrize("value", [0.5, {1, 2}, {1: 2}, object(), [0.5], {"a": 0.5}, float("nan")])
def test_floats_and_objects_are_no_values(value: object) -> None:
    with pytest.raises(TypeError, match="a value must be int, bool, str, list or dict"):
        plain(value)


def test_a_value_that_cannot_be_evaluated_is_an_error_of_its_own() -> None:
    event = run("n = 3\nassert n", n="n", m="missing", f="n / 2")
    assert event["values"] == {"n": 3}
    assert sorted(event["value_errors"]) == ["f", "m"]


def test_a_long_or_broken_repr_is_cut() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise ValueError

    assert short_repr("x" * 1000).endswith("...")
    assert short_repr([1, 2]) == "[1, 2]"
    assert short_repr(Broken()) == "<Broken: repr raised ValueError>"


def test_the_test_process_keeps_its_own_main() -> None:
    assert sys.modules["__main__"].__name__ == "__main__"
    assert not hasattr(sys.modules["__main__"], "@imported")


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("n = 3\nassert n == 4\nn = 5", {"n": 5}),  # all that follows is executed
        ("n = 0\nfor _ in range(3):\n    assert n == 4\n    n += 1", {"n": 3}),
        ("def assert_no():\n    raise AssertionError\n\n\nassert_no()\nn = 1", {"n": 1}),
        ("n = 3\nm = None.removed", {"n": 3}),
        ("m = None.removed\nn = 3", {}),
        ("n = 3\nm = None.removed\nn = 4", {}),  # it would be another
        ("for n in range(4):\n    m = None.removed", {}),
        ("n = []\nm = None.removed\nn.append(1)", {}),  # it may grow
        ("caught = 7\nassert 0\nn = caught", {"n": 7}),
    ],
)
def test_a_fence_that_fails_gives_the_values_that_it_would_have_given(
    source: str, values: dict[str, Any]
) -> None:
    event = run(source, n="n", unbound="never")
    assert "held" not in event
    assert event["values"] == values


def test_the_first_failure_is_the_one_that_is_told() -> None:
    event = run("n = 1\nassert n == 2, 'first'\nassert n == 3\nNone.removed", n="n")
    assert (event["error"]["line"], event["error"]["message"]) == (2, "first")
    assert event["error"]["compared"] == [["n", "1"]]
    assert event["stopped"]


@pytest.mark.parametrize(
    ("source", "near"),
    [
        ("import json\njson.dumpz", ["dump", "dumps"]),
        ("from json import loadz", ["load", "loads"]),
        ("import json.nothing", []),
        ("undefined", []),
    ],
)
def test_a_name_that_vanished_is_told_with_those_like_it(source: str, near: list[str]) -> None:
    assert run(source)["error"]["near"] == near
