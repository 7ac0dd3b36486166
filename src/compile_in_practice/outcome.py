"""Turn how a job ended into results, or into failures with page and line."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compile_in_practice import xray
from compile_in_practice.failure import Failure
from compile_in_practice.jobs import reads_log
from compile_in_practice.page import script
from compile_in_practice.worker.fence import evaluate

if TYPE_CHECKING:
    from compile_in_practice.jobs import Chain, Lab
    from compile_in_practice.page import Fence
    from compile_in_practice.project import Project
    from compile_in_practice.runner import Ended

MEASURE = (
    'pass backend="eager", "aot_eager" or a CompileCounter;'
    " or declare `record: inductor` and record it"
)


@dataclass(frozen=True, kw_only=True)
class FenceResult:
    """What one fence did.

    Attributes:
        n_held: assertions that were executed and held, log texts included.
        values: the named values.
        stdout: its standard output, normalized.
        stderr: its standard error, normalized.
        xray: what Dynamo made of it, None where nothing was compiled.

    """

    n_held: int
    values: dict[str, Any]
    stdout: str
    stderr: str
    xray: dict[str, Any] | None


def chain_outcome(
    project: Project, chain: Chain, ended: Ended
) -> tuple[dict[str, FenceResult], list[Failure]]:
    """Return the results of the fences that passed, and what went wrong."""
    place = _Place(project, chain)
    results: dict[str, FenceResult] = {}
    failures: list[Failure] = []
    events = {event["cell"]: event for event in ended.events if "cell" in event}
    for index, fence in enumerate(chain.fences):
        event = events.get(index)
        if event is None:
            failures.append(_died(place, fence, ended))
        else:
            trace = [traced for traced in ended.trace if traced["cell"] == index]
            found, result = _cell_outcome(place, fence, event, _part(ended, index), trace)
            failures += found
            if result is not None:
                results[fence.name] = result
        if event is None or "held" not in event:
            failures += [
                place.failure(later, "did not run: the fence that it continues failed")
                for later in chain.fences[index + 1 :]
            ]
            return results, failures
    if not failures and (problem := _bad_ending(ended)):
        failures.append(place.failure(chain.fences[-1], problem))
    return ({} if failures else results), failures


def _part(ended: Ended, index: int) -> tuple[str, str]:
    def part(texts: list[str]) -> str:
        return texts[index] if index < len(texts) else ""

    return part(ended.stdout), part(ended.stderr)


class _Place:
    """Translates a line of `fence.py` into a line of the page."""

    def __init__(self, project: Project, chain: Chain) -> None:
        self.file = project.shown(chain.page.path)
        self.text = chain.page.lines
        _, first_lines = script(list(chain.fences))
        self.starts = list(zip(first_lines, chain.fences, strict=True))

    def line(self, line: int) -> int:
        start, fence = [s for s in self.starts if s[0] <= max(line, 1)][-1]
        return fence.first_line + max(line, 1) - start

    def spot(self, line: int, fence: Fence) -> dict[str, Any]:
        """Return where a line of fence.py stands, as `fence` tells its reader."""
        start, owner = [s for s in self.starts if s[0] <= max(line, 1)][-1]
        own = line - start
        lines = owner.source.split("\n")
        code = lines[own].strip() if 0 <= own < len(lines) else ""
        return {"fence": "" if owner is fence else owner.name, "line": own + 1, "code": code}

    def failure(
        self,
        fence: Fence,
        what: str,
        *,
        line: int | None = None,
        details: list[str] | None = None,
        remedy: str = "",
    ) -> Failure:
        """Return a failure at `line` of fence.py, or at the fence's first line."""
        number = fence.line if line is None else self.line(line)
        source = [self.text[number - 1].strip()] if line is not None else []
        return Failure(
            where=f"{self.file}:{number}",
            what=what,
            details=(*source, *(details or [])),
            remedy=remedy,
        )

    def option(self, fence: Fence, key: str) -> int:
        """Return the line of the fence's options on which `key` stands."""
        for number in range(fence.line, fence.first_line):
            if re.search(rf"\b{re.escape(key)}\b\s*:", self.text[number - 1]):
                return number
        return fence.line


def _cell_outcome(
    place: _Place,
    fence: Fence,
    event: dict[str, Any],
    streams: tuple[str, str],
    trace: list[dict[str, Any]],
) -> tuple[list[Failure], FenceResult | None]:
    if "inductor" in event:
        what = f"fence {fence.name} reaches Inductor, which needs a C++ toolchain to run"
        return [place.failure(fence, what, line=event["inductor"] or None, remedy=MEASURE)], None
    if "error" in event:
        return [_error(place, fence, event["error"])], None
    stdout, stderr = streams
    failures = [
        Failure(where=f"{place.file}:{place.option(fence, name)}", what=f"value {name}: {error}")
        for name, error in event["value_errors"].items()
    ]
    from_log, errors = _log_values(fence, stderr)
    values = {**event["values"], **from_log}
    failures += [
        Failure(where=f"{place.file}:{place.option(fence, name)}", what=f"value {name}: {error}")
        for name, error in errors.items()
    ]
    failures += _missing_log(place, fence, stderr)
    n_held = event["held"] + len(fence.log)
    if n_held == 0 and fence.setup is None:
        what = f"fence {fence.name} asserted nothing"
        remedy = "assert what it shows, or say why it cannot: `setup: reason`"
        failures.append(place.failure(fence, what, remedy=remedy))
    if failures:
        return failures, None
    seen = xray.read(trace, lambda line: place.spot(line, fence))
    return [], FenceResult(n_held=n_held, values=values, stdout=stdout, stderr=stderr, xray=seen)


def _log_values(fence: Fence, stderr: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values that are read from what the fence logged, and what failed."""
    asked = {name: text for name, text in fence.values.items() if reads_log(text)}
    return evaluate(asked, {"log": stderr, "re": re})


def reached_values(chain: Chain, ended: Ended) -> dict[str, dict[str, Any]]:
    """Return the values that each fence of a failed chain gave all the same, by name."""
    reached = {}
    for event in ended.events:
        if "values" in event:
            fence = chain.fences[event["cell"]]
            values = dict(event["values"])
            if not event.get("stopped"):  # else the log may be cut too
                values |= _log_values(fence, _part(ended, event["cell"])[1])[0]
            reached[fence.name] = values
    return reached


def _missing_log(place: _Place, fence: Fence, stderr: str) -> list[Failure]:
    position = 0
    for text in fence.log:
        found = stderr.find(text, position)
        if found < 0:
            what = f"fence {fence.name} did not log {text!r} (in this order)"
            return [place.failure(fence, what, details=stderr.splitlines()[-12:])]
        position = found + len(text)
    return []


def _error(place: _Place, fence: Fence, error: dict[str, Any]) -> Failure:
    message = " ".join(error["message"].split("\n")[0].split())
    what = f"{error['type']}: {message}" if message else error["type"]
    remedy = ""
    if error["type"] == "ModuleNotFoundError":
        remedy = "a reader has torch alone: import what torch brings, or nothing"
    if error["type"] == "SystemExit":
        remedy = "a fence ends at its last line: leave out sys.exit"
    details = [f"{text} = {value}" for text, value in error["compared"]]
    details += error["message"].splitlines()[1:4]
    if error["near"]:
        details.append(f"there is {' and '.join(error['near'])}")
    return place.failure(fence, what, line=error["line"] or 1, details=details, remedy=remedy)


def _died(place: _Place, fence: Fence, ended: Ended) -> Failure:
    line = _crash_line(ended.crash)
    if ended.ending == "time":
        what = f"fence {fence.name} was stopped at its time limit"
        return place.failure(
            fence, what, line=line, remedy="make it end, or raise its `time_limit`"
        )
    if ended.ending == "output":
        what = f"fence {fence.name} was stopped: it wrote too much output"
        return place.failure(fence, what, line=line, remedy="print one line")
    if ended.status < 0:
        what = f"fence {fence.name} died of {signal.Signals(-ended.status).name}"
    else:
        what = f"fence {fence.name} ended its process with status {ended.status}"
    known = line is not None  # then the stack says nothing more
    return place.failure(
        fence, what, line=line, details=[] if known else ended.crash.splitlines()[-3:]
    )


def _crash_line(crash: str) -> int | None:
    lines = re.findall(r'File "fence\.py", line (\d+)', crash)
    return int(lines[0]) if lines else None


def _bad_ending(ended: Ended) -> str:
    """Return what is wrong with how a job ended whose fences all passed."""
    if ended.ending == "output":
        return "wrote too much output"
    if ended.ending:
        return "was stopped at its time limit after its last line"
    if not ended.complete or ended.status != 0:
        return f"its process ended with status {ended.status} after its last line"
    if threads := ended.events[-1]["threads"]:
        return f"left threads running: {', '.join(threads)}"
    return "left processes running, which were killed" if ended.left else ""


def lab_outcome(
    project: Project, lab: Lab, ended: Ended
) -> tuple[dict[str, Any] | None, list[Failure]]:
    """Return the lab's data with the files it imported, or what went wrong."""
    file = project.shown(lab.path)
    event = ended.events[0] if ended.events else {}
    if "data" in event and not (problem := _bad_ending(ended)):
        return {"data": event["data"], "imported": event["imported"]}, []
    if "data" in event:
        return None, [Failure(where=f"{file}:1", what=problem)]
    if "error" in event:
        error = event["error"]
        what = f"{error['type']}: {error['message'].partition(chr(10))[0]}"
        line = error["line"] or 1
        source = lab.path.read_text(encoding="utf-8").splitlines()[line - 1].strip()
        return None, [Failure(where=f"{file}:{line}", what=what, details=(source,))]
    how = ended.ending or f"status {ended.status}"
    details = tuple(ended.crash.splitlines()[:4])
    return None, [Failure(where=f"{file}:1", what=f"the experiment died: {how}", details=details)]
