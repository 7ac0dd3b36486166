"""Take out of an output what differs each time: times, process ids, paths."""

from __future__ import annotations

import re

LOG_PREFIX = re.compile(r"^([VDIWEC])\d{4} \d\d:\d\d:\d\d\.\d+ \d+ ", re.MULTILINE)
INSTALLED = re.compile(r"(?:/[^\s:\"'()]+)?/[\w.-]+-packages/")
STANDARD = re.compile(r"/[^\s:\"'()]+/lib/python3\.\d+/")
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")


def normalize(text: str, scratch: str) -> str:
    """Return `text` without what the next run would print differently.

    >>> line = "V1130 05:21:29.123000 77 torch/_dynamo/guards.py:9] [0/0] hit"
    >>> normalize(line, "/tmp/x")
    'torch/_dynamo/guards.py:9] [0/0] hit'
    >>> normalize("<function f at 0x7f00c0ffee12> (/tmp/x/fence.py:3)", "/tmp/x")
    '<function f at 0x...> (fence.py:3)'
    >>> normalize("/opt/env/lib/python3.11/site-packages/torch/nn.py:1", "/tmp/x")
    'torch/nn.py:1'
    """
    text = LOG_PREFIX.sub("", text.replace(scratch.rstrip("/") + "/", ""))
    text = STANDARD.sub("", INSTALLED.sub("", text))
    return ADDRESS.sub("0x...", text)
