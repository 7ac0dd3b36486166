"""What Dynamo made of a fence, read from torch's structured trace.

The worker keeps the trace's events (see `worker/trace.py`); here they become small,
plain data: each frame that was compiled, with its graph, its breaks, its guards, and
why an earlier compile of it did not fit. torch's own record of each compile,
`compilation_metrics`, counts operations and guards: where it counts some and the trace
shows none, the trace has another shape than this module knows, which is said.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Event = dict[str, Any]
Spot = dict[str, Any]

MOST_COMPILES = 8
MOST_LINES = 48
MOST_GUARDS = 24
MOST_REASONS = 4
MOST_CHARACTERS = 240
WIDE = 88

ERASED = re.compile(r";\s+(?:\w+ = )+None$")
FROM = re.compile(r"^((?:    )*) ?# File: (?:fence\.py:\d+|(.+):\d+) in [^,]+, code: (.*)$")
ALIAS = re.compile(r"^ +(\w+) = (\w+)$")
PARAMETER = re.compile(r"\b(\w+): \"")
NOT_KNOWN = "# No stacktrace found for following nodes"
GUARD = re.compile(r"^[| ]*\+- ([A-Z][A-Z_]+): (.*)$")
KEYS = re.compile(r"DispatchKeySet\([^)]*\), ")
AGAINST = re.compile(r" against \{.*\}$")
TRAILING = re.compile(r"(?: \(HINT: .*)?\s+#.*$")
MARKED = re.compile(r"^(hasattr\(.*), '_dynamo_\w+_indices'\) == False$")
FRAME = re.compile(r'File "fence\.py", line (\d+)')
BROKE_AT = re.compile(r"user code at (.+):(\d+)")
REASON = re.compile(r"^(?:Graph Break Reason: )?(\S.*)\n\s+Explanation: (.+)$", re.MULTILINE)
BARE_REASON = re.compile(r"^Graph Break Reason: (.+)()$", re.MULTILINE)
ADDRESS = re.compile(r"(?<![\d.])\d{12,}(?![\d.])")
VERSION = re.compile(r"(___dict_version\(.*\) == )\d+")
OF_THE_PROCESS = ("DEFAULT_DEVICE", "GLOBAL_STATE", "TORCH_FUNCTION_MODE_STACK")
IDENTIFIER = re.compile(r"/(gb\d{4})\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Break:
    """A graph break.

    Attributes:
        spot: the fence's own innermost line.
        inside: the file of torch's or Python's in which it came, empty for the fence.
        reason: the kind of break.
        explanation: torch's own sentence about it.
        identifier: its id, such as `GB0170`, empty on a release that gives none.

    """

    spot: Spot | None
    inside: str
    reason: str
    explanation: str
    identifier: str


@dataclass(kw_only=True)
class Compile:
    """A compile of one frame.

    Attributes:
        id: torch's own, such as `0/1`: the frame, and which compile of it.
        function: the function's name, a resume function's own included.
        spot: where it is in the fence, None where it is torch's own.
        graph: the graph as code, empty where there is none.
        n_cut: lines of the graph that are left out.
        breaks: the graph breaks in it.
        guards: the guards that stand before its code, in few lines.
        n_guards: how many there are.
        recompiles: why each earlier compile of the frame did not fit.
        failure: why nothing came of it, empty where something did.

    """

    id: str
    function: str = ""
    spot: Spot | None = None
    graph: str = ""
    n_cut: int = 0
    breaks: list[Break] = field(default_factory=list)
    guards: list[str] = field(default_factory=list)
    n_guards: int = 0
    recompiles: list[str] = field(default_factory=list)
    failure: str = ""


def read(events: list[Event], find: Callable[[int], Spot]) -> dict[str, Any] | None:
    """Return the X-ray of one fence as plain data, None where nothing was compiled.

    Args:
        events: the trace of the fence, normalized.
        find: where a line of `fence.py` stands.

    Its key `problem` is there where the trace has a shape that is not known here.

    """
    compiles: list[Compile] = []
    under_way: dict[str, Compile] = {}
    problems: list[str] = []
    others: list[str] = []
    for event in events:
        if "problem" in event:
            problems.append(event["problem"])
        elif "other" in event:
            others.append(event["other"])
        else:
            identity = "/".join(str(part) for part in event["id"] if part is not None)
            if identity not in under_way:
                under_way[identity] = Compile(id=identity)
                compiles.append(under_way[identity])
            try:
                _add(under_way[identity], event, find)
                if event["name"] == "compilation_metrics":  # it comes last
                    problems += _missing(under_way.pop(identity), event["metrics"])
            except (KeyError, TypeError, ValueError) as error:
                problems.append(f"{event['name']}: {type(error).__name__}: {error}")
    known = {event["name"] for event in events if "name" in event}
    if "compilation_metrics" not in known and (known or others):
        told = ", ".join(sorted({*known, *others}))
        problems.append(f"no compilation_metrics came for a compile, but {told}")
    if problems:
        return {"problem": problems[0]}
    return _plain(compiles) if compiles else None


def _add(compiled: Compile, event: Event, find: Callable[[int], Spot]) -> None:
    """Put what an event tells into the compile that it belongs to."""
    name, text = event["name"], event["payload"]
    if name == "dynamo_output_graph":
        compiled.graph, compiled.n_cut = _cut(ADDRESS.sub("...", _code(text)), MOST_LINES)
    elif name == "dynamo_graph_break_reason":
        if (found := _break(text, find)) not in compiled.breaks:  # a restart tells it again
            compiled.breaks.append(found)
    elif name == "dynamo_cpp_guards_str":
        compiled.guards = _guards(text)
        compiled.n_guards = sum(GUARD.match(line) is not None for line in text.split("\n"))
    elif name == "recompile_reasons":
        compiled.recompiles = _reasons(text)
    else:
        metrics = event["metrics"]
        compiled.function = metrics["co_name"] or ""
        if metrics["co_filename"] == "fence.py":
            compiled.spot = find(metrics["co_firstlineno"])
        if metrics["fail_type"]:
            why = (metrics["fail_reason"] or "").strip()
            if metrics["fail_type"] != "RecompileError":  # which names the guard below
                why = why.split("\n")[0]
            compiled.failure = _short(f"{metrics['fail_type']}: {why}")


def _missing(compiled: Compile, metrics: dict[str, Any]) -> list[str]:
    """Return what torch counted and its trace did not show."""
    if compiled.failure:
        return []
    missing = []
    if metrics["graph_op_count"] and not compiled.graph:
        missing.append("dynamo_output_graph")
    if metrics["guard_count"] and not compiled.guards:
        missing.append("dynamo_cpp_guards_str")
    return [f"{name} is missing, or has another shape" for name in missing]


def _code(text: str) -> str:
    r"""Return a graph as code to read.

    It erases no name, renames no parameter and has no empty line.

    >>> text = "class GraphModule:\n    def forward(self, L_b_: \"f32[2]\"):\n        b = L_b_\n"
    >>> text += "         # File: fence.py:3 in f, code: a = b + 1\n        a = b + 1;  b = None"
    >>> print(_code(text))
    def forward(self, b: "f32[2]"):
        # a = b + 1
        a = b + 1
    """
    lines = [ERASED.sub("", line.rstrip()) for line in text.split("\n")]
    lines = [line for line in lines if line and line.strip() != NOT_KNOWN]
    lines = [line.removeprefix("    ") for line in lines[1:]]  # the first names its class
    inner = [place for place, line in enumerate(lines) if line.startswith("class ")]
    own = inner[0] if inner else len(lines)
    lines = [*_renamed(lines[:own]), *lines[own:]]
    return "\n".join(FROM.sub(_from, line) for line in lines)


def _renamed(lines: list[str]) -> list[str]:
    """Return a function whose parameters have the names that its body gives them."""
    head, *body = lines
    taken = set(PARAMETER.findall(head))
    aliases = {m[2]: m[1] for line in body if (m := ALIAS.match(line)) and m[2] in taken}
    head = PARAMETER.sub(lambda match: f'{aliases.get(match[1], match[1])}: "', head)
    if len(head) > WIDE:
        head = head.replace("(self, ", "(\n    self, ").replace('", ', '",\n    ')
    rest = [line for line in body if not ((m := ALIAS.match(line)) and m[2] in aliases)]
    return [*head.split("\n"), *rest]


def _from(match: re.Match[str]) -> str:
    inside = match[2] or ""
    if inside.startswith("<eval_with_key>"):
        inside = "make_fx"  # a graph that was traced before and is compiled now
    return f"{match[1]}# {inside}: {match[3]}" if inside else f"{match[1]}# {match[3]}"


def _cut(text: str, most: int) -> tuple[str, int]:
    lines = text.split("\n")
    return "\n".join(lines[:most]), max(0, len(lines) - most)


def _short(text: str) -> str:
    text = VERSION.sub(r"\1...", ADDRESS.sub("...", " ".join(text.split())))
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"


def _break(text: str, find: Callable[[int], Spot]) -> Break:
    """Return a break; its place is the fence's own innermost line."""
    told = text.partition("\nTraceback (most recent")[0]
    reason = REASON.search(told) or BARE_REASON.search(told)
    if reason is None:
        message = f"no reason in {_short(text)!r}"
        raise ValueError(message)
    at = BROKE_AT.search(told)
    inside = at[1] if at is not None and at[1] != "fence.py" else ""
    lines = FRAME.findall(told) if at is None or inside else [at[2]]
    identifier = IDENTIFIER.search(told)
    return Break(
        spot=find(int(lines[-1])) if lines else None,
        inside=inside,
        reason=_short(reason[1]),
        explanation=_short(reason[2]),
        identifier=identifier[1].upper() if identifier else "",
    )


def _guards(text: str) -> list[str]:
    r"""Return the guards of a tree, a line each; those of the process share the last.

    >>> tree = "\n".join([
    ...     "| +- DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == None    # _dynamo/o.py:6",
    ...     "| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x')",
    ...     "| | +- EQUALS_MATCH: L['x'] == 2       # return x  # fence.py:7 in f",
    ... ])
    >>> _guards(tree)
    ["L['x'] == 2", 'of the process: utils_device.CURRENT_DEVICE == None']
    """
    found: Counter[str] = Counter()
    ambient: list[str] = []
    for line in text.split("\n"):
        if (match := GUARD.match(line)) is not None:
            guard = AGAINST.sub("", TRAILING.sub("", KEYS.sub("", match[2])))
            if match[1] in OF_THE_PROCESS or "saved_tensors_hooks" in guard:
                ambient.append(guard)
            else:
                found[_short(MARKED.sub(r"\1, '_dynamo_..._indices') == False", guard))] += 1
    lines = {one: f"{one}, {n} of them" if n > 1 else one for one, n in found.items()}
    local = [line for one, line in lines.items() if "L[" in one]
    wide = [line for one, line in lines.items() if "L[" not in one]
    own = [*local, *wide]
    hidden = len(own) - MOST_GUARDS
    shown = [*own[:MOST_GUARDS], f"and {hidden} more lines"] if hidden > 0 else own
    return [*shown, "of the process: " + "; ".join(ambient)] if ambient else shown


def _reasons(text: str) -> list[str]:
    """Return the guard that failed of each earlier compile, the newest first."""
    try:
        told = json.loads(text)
    except ValueError:
        told = text
    reasons = [told] if isinstance(told, str) else told
    shown = [_short(TRAILING.sub("", reason.split("\n")[0])) for reason in reasons]
    more = len(shown) - MOST_REASONS
    return [*shown[:MOST_REASONS], f"and {more} more"] if more > 0 else shown


def _plain(compiles: list[Compile]) -> dict[str, Any]:
    return {
        "n_graphs": sum(bool(one.graph) for one in compiles),
        "n_breaks": sum(len(one.breaks) for one in compiles),
        "n_recompiles": sum(bool(one.recompiles) for one in compiles),
        "n_left_out": max(0, len(compiles) - MOST_COMPILES),
        "compiles": [asdict(one) for one in compiles[:MOST_COMPILES]],
    }
