"""What torch's structured trace says while a fence runs.

`TORCH_TRACE` names a folder, and a handler of torch's own writes each event of one
logger there. A handler of this process gets the same events with no variable, no file
and no log line that a fence could see; a fence that sets TORCH_TRACE has its files too.
The logger exists before torch does, so a fresh interpreter is traced from its start.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

LOGGER = "torch.__trace"
INTERNAL = "torch._logging._internal"
KEPT = frozenset(
    {
        "compilation_metrics",
        "dynamo_cpp_guards_str",
        "dynamo_graph_break_reason",
        "dynamo_output_graph",
        "recompile_reasons",
    }
)
METRICS = (
    "co_name",
    "co_filename",
    "co_firstlineno",
    "fail_type",
    "fail_reason",
    "graph_op_count",
    "guard_count",
)
BELONGS = ("compiled_autograd_id", "frame_id", "frame_compile_id")


class Tracer(logging.Handler):
    """Keeps what one process traces, a JSON line an event.

    Attributes:
        cell: the cell of the chain that is running now.

    """

    def __init__(self, path: Path) -> None:
        """Take the file that is written from now on."""
        super().__init__()
        self.cell = 0
        self._file = path.open("a", encoding="utf-8", buffering=1)
        self._process = os.getpid()
        self._others: set[tuple[int, str]] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep an event; an error here must never become one of the fence."""
        if os.getpid() != self._process:  # a process that the fence forked
            return
        try:
            self._keep(vars(record)["metadata"], vars(record)["payload"])
        except Exception as error:  # noqa: BLE001  (reported as a shape that is not known)
            self._write({"problem": f"{type(error).__name__}: {error}"})

    def _keep(self, metadata: dict[str, Any], payload: str | None) -> None:
        kind = next(iter(metadata))
        told = metadata[kind]
        name = told["name"] if kind == "artifact" else kind
        if name in KEPT:
            event = {"name": name, "payload": payload}
            event["id"] = [metadata.get(part) for part in BELONGS]
            if name == "compilation_metrics":
                event["metrics"] = {key: told[key] for key in METRICS}
            self._write(event)
        elif (self.cell, name) not in self._others and name.startswith("dynamo"):
            self._others.add((self.cell, name))  # what a renamed event is called now
            self._write({"other": name})

    def _write(self, event: dict[str, Any]) -> None:
        self._file.write(json.dumps({"cell": self.cell, **event}) + "\n")

    def stop(self) -> None:
        """Trace no more; say where torch traces, if it is not here."""
        logging.getLogger(LOGGER).removeHandler(self)
        internal = vars(sys.modules[INTERNAL]) if INTERNAL in sys.modules else {}
        if internal and internal.get("trace_log") is not logging.getLogger(LOGGER):
            self._write({"problem": f"torch traces to another logger than {LOGGER}"})
        self._file.close()


def start(path: Path) -> Tracer:
    """Return the tracer of this process, which traces to `path` from now on."""
    tracer = Tracer(path)
    logging.getLogger(LOGGER).addHandler(tracer)
    return tracer
