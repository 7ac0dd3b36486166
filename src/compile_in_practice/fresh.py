"""Call a function of an experiment in a new Python process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compile_in_practice.experiment import load

if TYPE_CHECKING:
    from collections.abc import Callable

CODE = "import sys; from compile_in_practice import fresh; fresh.answer(*sys.argv[1:])"
MARK = "fresh-process-answer:"


def start(
    function: Callable[..., Any],
    knobs: dict[str, Any],
    variables: dict[str, str] | None = None,
) -> subprocess.Popen[str]:
    """A new process that calls `function(**knobs)`; `result` waits for what it returns."""
    script = function.__code__.co_filename
    package = str(Path(__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": package, **(variables or {})}
    command = [sys.executable, "-c", CODE, script, function.__name__, json.dumps(knobs)]
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def result(process: subprocess.Popen[str], timeout_s: float = 300.0) -> Any:
    """What the process returned.

    Raises:
        RuntimeError: if it ended without an answer; the message ends with its last lines.
        subprocess.TimeoutExpired: if it took longer than `timeout_s`; it is ended first.
    """
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    answers = [line.removeprefix(MARK) for line in out.splitlines() if line.startswith(MARK)]
    if process.returncode or not answers:
        message = f"process ended with status {process.returncode}: {err.strip()[-400:]}"
        raise RuntimeError(message)
    return json.loads(answers[-1])


def answer(script: str, name: str, knobs: str) -> None:
    """Print what the function `name` of the script's experiment returns."""
    function = getattr(load(Path(script)).namespace, name)
    value = function(**json.loads(knobs))
    sys.stdout.write(f"\n{MARK}{json.dumps(value)}\n")
