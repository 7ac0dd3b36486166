"""The answers to a page's own questions: each comes from the run, and is closed at first.

A question is prose and a fence that defines what it asks about. The next fence counts,
and an ``{answer}`` directive behind it holds the sentence; the page folds both away.
A question that the records answer has no fence of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compile_in_practice.failure import Failure
from compile_in_practice.page import Fence
from compile_in_practice.values import ROLE, prose_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compile_in_practice.page import Page

ANSWER = re.compile(r"^(:{3,})\{answer\}[ \t]*\n(?P<text>.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
REMEDY = "put a {value} or a {verdict} of the fence above, or else of the records, into the answer"


def unmeasured(page: Page, file: str) -> Iterator[Failure]:
    """Yield a failure for each answer that shows nothing of the fence that counts for it."""
    source = "records"
    for part in page.parts:
        if isinstance(part, Fence):
            source = part.name
            continue
        text = "\n".join(line if is_prose else "" for _, line, is_prose in prose_lines(part.text))
        for answer in ANSWER.finditer(text):
            shown = [role["text"] or "" for role in ROLE.finditer(answer["text"])]
            if not any(re.search(rf"(?<![\w.]){source}\.", one) for one in shown):
                line = part.line + text.count("\n", 0, answer.start())
                what = "an answer that does not come from the run"
                yield Failure(where=f"{file}:{line}", what=what, remedy=REMEDY)
            source = "records"  # what the answer before has used up


def unfolded(text: str) -> str:
    """Return Markdown with its answers as any reader of Markdown shows them.

    >>> print(unfolded(":::{answer}" + chr(10) + "Two graphs." + chr(10) + ":::"))
    <details>
    <summary>Answer</summary>
    <BLANKLINE>
    Two graphs.
    <BLANKLINE>
    </details>
    """
    return ANSWER.sub(
        lambda answer: (
            f"<details>\n<summary>Answer</summary>\n\n{answer['text'].strip()}\n\n</details>"
        ),
        text,
    )
