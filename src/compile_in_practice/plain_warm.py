"""``python plain_warm.py MODULES``: import them once, then run plain files in forks.

It is started by its path in a Python that has torch alone; MODULES is a JSON list.
Each line of standard input asks for one file:
`{"folder": ..., "env": {...}, "limit_s": ...}` runs `fence.py` there, as
``python fence.py`` would, and is answered by a line with its exit status. The file's own
output is in `stdout` and `stderr` beside it.
"""

import gc
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import traceback
import types
from pathlib import Path
from typing import Any

FILE = "fence.py"


def main() -> None:
    """Fork for each line; a child leaves the loop and runs its file."""
    for name in json.loads(sys.argv[1]):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else each child visits, and so copies, all of this process as it ends
    tell("ready")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            run(json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        kill_group(child)
        tell(str(os.waitstatus_to_exitcode(status)))


def tell(text: str) -> None:
    """Write a line to the one who asks."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def kill_group(group: int) -> None:
    """Kill what a file has left running in its own process group."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def run(asked: dict[str, Any]) -> None:
    """Run the file in this process; the alarm ends it at its limit."""
    os.setsid()
    signal.alarm(int(asked["limit_s"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(asked["folder"])
    for fd, name in ((0, os.devnull), (1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND), fd)
    os.environ.update(asked["env"])
    tempfile.tempdir = None  # it is remembered from the parent
    sys.argv[:] = [FILE]
    sys.path[0] = asked["folder"]
    module = types.ModuleType("__main__")
    module.__dict__.update(__builtins__=__builtins__, __file__=f"{asked['folder']}/{FILE}")
    sys.modules["__main__"] = module
    try:
        exec(compile(Path(FILE).read_bytes(), FILE, "exec"), module.__dict__)  # noqa: S102
    except Exception:  # noqa: BLE001  (as the interpreter does)
        traceback.print_exc()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(1)  # the error stays the last that is said: torch may tell of leaks after it


if __name__ == "__main__":
    main()
