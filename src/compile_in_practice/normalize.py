"""Take out of an output what differs each time: times, process ids, paths."""

from __future__ import annotations

import re

LOG_PREFIX = re.compile(r"^(?:\[rank\d+\]:)?[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ ", re.MULTILINE)
INSTALLED = re.compile(r"(?:/[^\s:\"'()]+)?/[\w.-]+-packages/")
STANDARD = re.compile(r"/[^\s:\"'()]+/lib/python3\.\d+/")
RUNNER = r"<frozen runpy>|[^\"\n]*compile_in_practice/worker/\w+\.py"
OWN_FRAME = re.compile(rf'^(.*?)  File "(?:{RUNNER})", line .*\n(?:\1    .*\n)*', re.MULTILINE)
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
IDENTITY = re.compile(r"(_id\(.*?, )\d{7,}")
LATENCY = re.compile(r"(latency = )[\d.]+ us")
UNIQUE_NAME = re.compile(r"[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}")


def normalize(text: str, scratch: str) -> str:
    r"""Return `text` without what the next run would print differently.

    >>> line = "V1130 05:21:29.123000 77 torch/_dynamo/guards.py:9] [0/0] hit"
    >>> normalize(line, "/tmp/x")
    'torch/_dynamo/guards.py:9] [0/0] hit'
    >>> normalize("[rank0]:" + line, "/tmp/x")
    'torch/_dynamo/guards.py:9] [0/0] hit'
    >>> normalize("<function f at 0x7f00c0ffee12> (/tmp/x/fence.py:3)", "/tmp/x")
    '<function f at 0x...> (fence.py:3)'
    >>> normalize("/opt/env/lib/python3.11/site-packages/torch/nn.py:1", "/tmp/x")
    'torch/nn.py:1'
    >>> normalize("ID_MATCH: ___check_obj_id(L['f'], 94036832), type=<class 'int'>", "/tmp/x")
    "ID_MATCH: ___check_obj_id(L['f'], ...), type=<class 'int'>"
    >>> normalize("__compiled_fn_1_e10d9eca_650f_4c6b_b794_e6ab47f56500", "/tmp/x")
    '__compiled_fn_1_...'
    >>> normalize("Guard eval latency = 82.31 us", "/tmp/x")
    'Guard eval latency = ... us'

    Dynamo's logs list the frames above the fence, which a plain file has not.

    >>> stack = [
    ...     'log]   File "/x/compile_in_practice/worker/fence.py", line 6, in run_cell',
    ...     "log]     exec(code)",
    ...     'log]   File "/tmp/x/fence.py", line 3, in <module>',
    ...     "log]     f(x)",
    ... ]
    >>> print(normalize("\n".join(stack), "/tmp/x"))
    log]   File "fence.py", line 3, in <module>
    log]     f(x)
    """
    text = LOG_PREFIX.sub("", text.replace(scratch.rstrip("/") + "/", ""))
    text = OWN_FRAME.sub("", text)
    text = STANDARD.sub("", INSTALLED.sub("", text))
    text = IDENTITY.sub(r"\1...", ADDRESS.sub("0x...", text))
    text = LATENCY.sub(r"\1... us", text)
    return UNIQUE_NAME.sub("...", text)
