"""Values in sentences, verdicts over them, and what is taken out of an output."""

from typing import Any

import pytest

from compile_in_practice.normalize import normalize
from compile_in_practice.values import Group, Scope, prose_lines, substitute

NO_ROLE = "a role that does not end on its line, or is written for another markup"
VALUES = {
    "counted": {"n": 3, "zero": 0, "many": 40, "held": True, "text": "a|b", "sizes": [1, 2]},
    "page": {"other": {"n": 7, "deep": {"m": 1}}},
    "eager": {"medians_ms": [30.0, 32.0]},
    "fast": {"colds_s": [23.256, 20.0], "medians_ms": [26.0, 32.0]},
    "slow": {"colds_s": [23.256, 20.0], "medians_ms": [30.0, 33.0]},
    "once": {"colds_s": [23.256], "medians_ms": [26.0]},
}


def scope(values: dict[str, Any] = VALUES) -> Scope:
    return Scope(names=Group.of(values))


def shown(text: str) -> str:
    found, failures = substitute(text, scope(), file="docs/p.md", line=1)
    assert failures == []
    return found


def wrong(text: str) -> list[tuple[str, str]]:
    _, failures = substitute(text, scope(), file="docs/p.md", line=10)
    return [(failure.where, failure.what) for failure in failures]


@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("counted.n", "3"),
        ("counted.n:word", "three"),
        ("counted.n:Word", "Three"),
        ("counted.zero:word", "zero"),
        ("counted.many:word", "40"),
        ("counted.n / counted.many:.2f", "0.07"),
        ("counted.n:>4", "   3"),
        ("counted.text:code", "`a|b`"),
        ("counted.sizes", "[1, 2]"),
        ("len(counted.sizes)", "2"),
        ("sum(counted.sizes) + page.other.n", "10"),
        ("page.other.deep.m", "1"),
        ("paid_back(fast, eager)", "[5800.0, inf]"),
    ],
)
def test_a_value_is_shown_as_its_format_says(role: str, text: str) -> None:
    assert shown(f"It takes {{value}}`{role}`.") == f"It takes {text}."


@pytest.mark.parametrize(
    ("role", "what"),
    [
        ("counted.m", "'counted.m': AttributeError: m; is it counted.n or counted.many?"),
        ("nobody.n", "'nobody.n': NameError: name 'nobody' is not defined"),
        ("counted", "'counted' is a group of values: n, zero, many, held, text, sizes"),
        ("counted.text:.1f", "'counted.text:.1f': Unknown format code 'f'"),
        ("paid_back(once, eager)", "'paid_back(once, eager)': ValueError: zip()"),
        ("counted.text:word", "'counted.text:word': '<=' not supported"),
        ("paid_back(fast, fast)", "'paid_back(fast, fast)': ValueError: its second row was"),
        ("paid_back(slow, eager)", "'paid_back(slow, eager)': ValueError: a step saves no time on"),
        ("counted.n:b", "'counted.n:b' would show another number: 'b' is not decimal"),
        ("counted.n:#04x", "'counted.n:#04x' would show another number"),
        ("counted.n / 0", "'counted.n / 0': ZeroDivisionError"),
        ("open('x')", "\"open('x')\": NameError: name 'open' is not defined"),
        ("", "'': SyntaxError"),
        ("40 + 2", "'40 + 2' names no value"),
        ("len('four')", "\"len('four')\" names no value"),
        ("'88' or counted.n", "\"'88' or counted.n\" would show digits that were typed"),
        ("88 if counted.held else counted.n", "'88 if counted.held else counted.n' would show"),
        ("counted.n:9>3", "'counted.n:9>3' would show digits that were typed"),
    ],
)
def test_what_cannot_be_shown_is_a_failure_with_its_line(role: str, what: str) -> None:
    if not role:
        assert wrong("\n{value}``") != []
        return
    ((where, found),) = wrong(f"First.\nThen {{value}}`{role}`.")
    assert where == "docs/p.md:11"
    assert found.startswith(what)


def test_a_verdict_shows_its_words_while_its_predicate_holds() -> None:
    assert shown("It is {verdict}`free <counted.zero == 0>`.") == "It is free."
    assert shown("{verdict}`held <counted.held>`") == "held"
    assert shown("{verdict}`more <counted.many > counted.n>`") == "more"


@pytest.mark.parametrize(
    ("verdict", "what"),
    [
        (
            "free <counted.n == 0>",
            "verdict 'free' is false: counted.n == 0 (counted.n = 3)",
        ),
        (
            "less <counted.many < counted.n>",
            "verdict 'less' is false: counted.many < counted.n (counted.many = 40, counted.n = 3)",
        ),
        ("free", "verdict 'free' has no predicate: write `words <predicate>`"),
        (
            "some <counted.n>",
            "verdict 'some <counted.n>': the predicate gives 3, neither True nor False",
        ),
        (
            "as many <counted.n == counted.n>",
            "verdict 'as many <counted.n == counted.n>' compares a value with itself",
        ),
        ("none <absent.x == 0>", "'absent.x == 0': NameError: name 'absent' is not defined"),
    ],
)
def test_a_verdict_that_does_not_hold_is_a_failure(verdict: str, what: str) -> None:
    ((where, found),) = wrong(f"{{verdict}}`{verdict}`")
    assert (where, found) == ("docs/p.md:10", what)


def test_several_roles_of_one_line_are_all_shown_or_all_reported() -> None:
    assert shown("{value}`counted.n` and {value}`page.other.n`") == "3 and 7"
    assert len(wrong("{value}`a.n` and {value}`b.n`, {verdict}`x <counted.n == 4>`")) == 3


def test_values_reach_tables_captions_and_directives() -> None:
    text = (
        "| {value}`counted.n` | b |\n\n```{list-table} {value}`counted.n` rows\n"
        "* - {value}`counted.n`\n```\n\n:::{note}\n{value}`counted.n`\n:::"
    )
    assert shown(text) == text.replace("{value}`counted.n`", "3")


@pytest.mark.parametrize(
    "text",
    [
        "``{value}`counted.n` ``",
        "```python\n{value}`nobody.n`\n```",
        "````markdown\n```\n{value}`nobody.n`\n```\n````",
        "~~~text\n{value}`nobody.n`\n~~~",
        "```{code-block} text\n{value}`nobody.n`\n```",
        "`code` and {ref}`label`",
    ],
)
def test_code_is_left_alone(text: str) -> None:
    assert shown(text) == text


def test_prose_goes_on_behind_a_code_block() -> None:
    assert shown("```python\nx\n```\n{value}`counted.n`") == "```python\nx\n```\n3"
    assert [prose for _, _, prose in prose_lines("a\n```python\nb\n```\nc")] == [
        True, False, False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("heading", ["# T {value}`counted.n`", "  ### {verdict}`x <counted.held>`"])
def test_a_heading_takes_no_value(heading: str) -> None:
    assert wrong(heading) == [
        ("docs/p.md:10", "a value in a heading changes its anchor with every result")
    ]


def test_a_role_ends_on_its_line() -> None:
    assert wrong("It takes {value}`counted.n\n+ 1`.") == [("docs/p.md:10", NO_ROLE)]
    assert wrong("It takes :value:`counted.n`.") == [("docs/p.md:10", NO_ROLE)]


def test_a_script_writes_its_roles_as_rst() -> None:
    text, failures = substitute(
        "# It is :value:`counted.n:word`, and ``:value:`x` `` is code.",
        scope(), file="gallery/lab/a.py", line=1, rst=True,
    )  # fmt: skip
    assert failures == []
    assert text == "# It is three, and ``:value:`x` `` is code."


# --- outputs -----------------------------------------------------------------------


def test_what_differs_in_each_run_is_taken_out_of_an_output() -> None:
    text = (
        "V1130 05:21:29.123000 77 torch/_dynamo/guards.py:9] [0/0] hit\n"
        "W0101 00:00:00.000001 1234 torch/x.py:1] second\n"
        "at <object object at 0x7f00c0ffee12> in /v/lib/python3.12/site-packages/torch/a.py\n"
        'File "/usr/lib/python3.11/json/decoder.py", line 3\n'
        'File "/r/scratch/k/fence.py", line 2, in <module>\n'
    )
    assert normalize(text, "/r/scratch/k") == (
        "torch/_dynamo/guards.py:9] [0/0] hit\n"
        "torch/x.py:1] second\n"
        "at <object object at 0x...> in torch/a.py\n"
        'File "json/decoder.py", line 3\n'
        'File "fence.py", line 2, in <module>\n'
    )


@pytest.mark.parametrize(
    "text", ["0x1f and 0xff", "V1130 is a name", "a/b.py:3", "12:30:00.5 left", ""]
)
def test_what_a_fence_may_mean_is_left_in_an_output(text: str) -> None:
    assert normalize(text, "/r/scratch/k") == text


@pytest.mark.parametrize("prefix", ["", "torch/x.py:1] [0/0] [__graph_breaks] "])
@pytest.mark.parametrize("carets", [True, False])
def test_frames_of_the_runner_are_taken_out_of_a_stack(prefix: str, *, carets: bool) -> None:
    def frame(file: str, function: str, code: str) -> list[str]:
        lines = [f'  File "{file}", line 7, in {function}', f"    {code}"]
        return [*lines, "    ~~~~^^^^"] if carets else lines

    runner = [
        '  File "<frozen runpy>", line 198, in _run_module_as_main',
        *frame("/a/compile_in_practice/worker/__main__.py", "main", "run_job(order)"),
        *frame("/v/lib/python3.11/site-packages/compile_in_practice/worker/fence.py", "r", "x"),
    ]
    mine = frame("fence.py", "<module>", "f(x)")
    lines = ["Traceback:", *runner, *mine, "Error"]
    text = "".join(f"{prefix}{line}\n" for line in lines)
    kept = "".join(f"{prefix}{line}\n" for line in ["Traceback:", *mine, "Error"])
    assert normalize(text, "/r/scratch/k") == kept
