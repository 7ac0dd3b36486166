"""Find numbers and verdicts in sentences that somebody typed: each must come from a run.

Digits are looked for outside code, links, versions, names and quotations, and each digit
where a formula or a quotation holds nothing else; number words before the nouns that this
site counts, and where they compare; verdicts where they say that something is faster,
slower or cheaper.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compile_in_practice.failure import Failure
from compile_in_practice.page import Prose
from compile_in_practice.values import prose_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compile_in_practice.page import Page

REMEDY = (
    "name a value: {value}`fence.name`, write an identifier as `code`, or say it without a number"
)
SCRIPT_REMEDY = "name a value: :value:`lab.name.value`, or write what others publish as ``code``"
BOUND = "bind it to values: {verdict}`slower <fence.slow > fence.fast>`"
ELSEWHERE = re.compile(
    r"""
    (?P<ticks>`+).+?(?P=ticks)              # code, and the text of roles
    | (?:\[\d+\.\d+)?\]\([^)]*\) | <https?://[^>]*>        # where links lead
    | \bhttps?://\S+
    | “(?![\d.,%\s]*”)[^”]*” | "(?![\d.,%\s]+")[^"]*"      # quotations
    | \$(?![\d.,%\s]+\$)[^$]+\$           # formulas
    | ^\s*(?:\d+\.\s|\([\w-]+\)=|:[\w-]+:.*|%.*|<!--.*-->|`{3,}.*)   # markup
    | ^\s*:{3,}(?:\{(?:figure|image|grid)\}.*|\{[\w-]+\})?   # a directive, not its title
    | \b\d+\.\d+\.\d+\b                     # versions
    | \b(?:Python|torch|PyTorch|CUDA|Triton|GCC|g\+\+|clang)\s\d[\d.]*(?!\stimes)
    | (?<!&)\#\d+ | \bGB\d+\b                     # issues and graph-break ids
    | \b\d{4}-\d\d-\d\d\b                   # dates
    | [^\W\d]\w*(?:\d\w*|-\d+\b)           # names such as float32, H200 or GPT-2
    | (?!\d+(?:x|ns|us|µs|ms|s|min|h|[kMG]i?B|st|nd|rd|th)\b)\d+[^\W\d]\w*  # 2L, no quantity
    """,
    re.VERBOSE,
)
DIGITS = re.compile(r"(?<![\w.])\d[\d,.]*(?:%|x\b)?|[\u00bc-\u00be\u2150-\u215e]|&#\w+;")
SEVERAL = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    "|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
)
COUNTED = (
    r"frames?|graphs?|(?:graph )?breaks?|recompiles?|compiles?|kernels?|pieces?|guards?"
    r"|cache entries|recordings?"
)
MEASURED = r"times|steps|seconds|milliseconds|per ?cent|entries|bytes|tokens|launches"
COUNT = re.compile(
    rf"\b(?:zero|one|twice|{SEVERAL})\s+(?:\w+\s+)?(?:{COUNTED})\b"
    rf"|\b(?:{SEVERAL})\s+(?:\w+\s+)?(?:{MEASURED})\b"
    r"|\b(?:twice|thrice) (?:as|the)\b"
    r"|\b(?:half|a third|two thirds|a quarter|a tenth) (?:as|of|the)\b"
    rf"|\b(?:{SEVERAL}|hundred)fold\b|\borders? of magnitude\b"
    r"|\b(?:halve|double|triple|quadruple)[sd]\b"
    rf"|\b(?:a|{SEVERAL}) (?:dozen|hundred|thousand) (?:{COUNTED}|{MEASURED})\b"
    rf"|\b(?:dozens|hundreds|thousands) of (?:{COUNTED}|{MEASURED})\b",
    re.IGNORECASE,
)
MARKED = re.compile(
    r"`\d[\d.]*` (?:frames|graphs|breaks|recompiles|kernels|guards|times|seconds)\b"
)
VERDICT = re.compile(
    r"\b(?:is|are|was|were|be|runs?|not|no) (?:\w+ )?(?:faster|slower|cheaper)\b"
    r"|\b(?:is|are|comes?) free\b(?! of)|\b(?:beats?|loses? to|wins? (?:over|against))\b"
    r"|\b(?:quicker|outperforms?|speeds up|sped up|slows down|slowed down)\b",
    re.IGNORECASE,
)


def typed_numbers(page: Page, file: str) -> list[Failure]:
    """Return a failure for each number in the page's prose that no value gave."""
    return [
        Failure(where=f"{file}:{line}", what=f"a typed number: {found!r}", remedy=REMEDY)
        for part in page.parts
        if isinstance(part, Prose)
        for number, text, is_prose in prose_lines(part.text)
        if is_prose
        for line in [part.line + number]
        for found in numbers(text)
    ]


def typed_digits(script: str, file: str) -> list[Failure]:
    """Return a failure for each digit in the prose of a gallery script that no value gave.

    Words are left alone there: a prediction says what it expects.
    """
    return [
        Failure(where=f"{file}:{number}", what=f"a typed number: {found!r}", remedy=SCRIPT_REMEDY)
        for number, line in script_prose(script)
        for found in DIGITS.findall(_without_sources(line))
    ]


def script_prose(script: str) -> Iterator[tuple[int, str]]:
    """Yield each line of a gallery script's docstring and of its text cells, with its number."""
    quotes, in_cell = 0, False
    for number, line in enumerate(script.split("\n"), 1):
        if quotes < 2:  # noqa: PLR2004  (the docstring is first, and has two)
            yield number, line
            quotes += line.count('"""')
            continue
        in_cell = line.startswith("#") and (in_cell or line.startswith("# %%"))
        if in_cell:
            yield number, line.removeprefix("# %%").lstrip("#")


def typed_verdicts(page: Page, file: str) -> list[Failure]:
    """Return a failure for each verdict on speed in the page's prose that no value proves.

    A heading may ask or name what a reader sees.
    """
    return [
        Failure(
            where=f"{file}:{part.line + number}", what=f"a typed verdict: {found!r}", remedy=BOUND
        )
        for part in page.parts
        if isinstance(part, Prose)
        for number, text, is_prose in prose_lines(part.text)
        if is_prose and not text.startswith("#")
        for found in verdicts(text)
    ]


def verdicts(line: str) -> list[str]:
    """Return the verdicts of one line of prose that stand outside a role.

    >>> verdicts("Compiled it is slower, and {verdict}`is faster <a.b < a.c>` on a GPU.")
    ['is slower']
    >>> verdicts("Where it is no faster, the default beats it; a `faster` name is free of it.")
    ['is no faster', 'beats']
    """
    return [match[0] for match in VERDICT.finditer(_without_sources(line))]


def numbers(line: str) -> Iterator[str]:
    """Yield the numbers of one line of prose that belong to no code, name or version.

    >>> list(numbers("The fence compiles 3 frames on torch 2.8.0, `x[:4]` included."))
    ['3']
    >>> list(numbers("It splits into two graphs; {value}`branchy.n_graphs` of them."))
    ['two graphs']
    >>> list(numbers("On 2.8.0 and Python 3.11 it is 1.5 times as fast."))
    ['1.5']
    >>> list(numbers("It is 10x faster, takes 5ms and three times the memory."))
    ['10x', '5', 'three times']
    >>> list(numbers("A float32 on an H200, see #1234 and GB0170."))
    []
    >>> list(numbers("It halves the time, a tenfold gain, ½ of $17$ and `3` frames."))
    ['½', '17', 'halves', 'tenfold', '`3` frames']
    """
    plain = _without_sources(line)
    yield from (match[0] for match in DIGITS.finditer(plain))
    yield from (match[0] for match in COUNT.finditer(plain))
    yield from (match[0] for match in MARKED.finditer(line))


def _without_sources(line: str) -> str:
    """Return a line without what has a source or quotes one.

    Each leaves a letter behind, so that no two words around it come together.
    """
    return ELSEWHERE.sub(" x ", re.sub(r"\{(?:value|verdict)\}`[^`]*`", " x ", line))
