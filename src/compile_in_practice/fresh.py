"""Call a function of an experiment in a new Python process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from compile_in_practice.experiment import load

if TYPE_CHECKING:
    from collections.abc import Callable

CODE = "import sys; from compile_in_practice import fresh; fresh.answer(*sys.argv[1:])"
MARK = "fresh-process-answer:"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call under way in a new process. What it writes goes to files: no pipe can fill."""

    process: subprocess.Popen[bytes]
    out: IO[bytes]
    err: IO[bytes]


def start(
    function: Callable[..., Any],
    knobs: dict[str, Any],
    variables: dict[str, str] | None = None,
) -> Call:
    """A new process that calls `function(**knobs)`; `result` waits for what it returns."""
    script = function.__code__.co_filename
    package = str(Path(__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": package, **(variables or {})}
    command = [sys.executable, "-c", CODE, script, function.__name__, json.dumps(knobs)]
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115  until read
    process = subprocess.Popen(command, env=environment, stdout=out, stderr=err)
    return Call(process=process, out=out, err=err)


def result(call: Call, timeout_s: float = 300.0) -> Any:
    """What the call returned.

    Raises:
        RuntimeError: if it ended without an answer; the message ends with its last lines.
        subprocess.TimeoutExpired: if it took longer than `timeout_s`; it is ended first.
    """
    try:
        status = call.process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        call.process.kill()
        raise
    lines = _text(call.out).splitlines()
    answers = [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]
    if status or not answers:
        message = f"process ended with status {status}: {_text(call.err).strip()[-400:]}"
        raise RuntimeError(message)
    return json.loads(answers[-1])


def _text(file: IO[bytes]) -> str:
    with file:
        file.seek(0)
        return file.read().decode(errors="replace")


def answer(script: str, name: str, knobs: str) -> None:
    """Print what the function `name` of the script's experiment returns."""
    function = getattr(load(Path(script)).namespace, name)
    value = function(**json.loads(knobs))
    sys.stdout.write(f"\n{MARK}{json.dumps(value)}\n")
