"""Put measured values into sentences by name, and check verdicts over them.

``{value}`branchy.n_graphs` `` shows a value; ``{value}`branchy.n_graphs:word` `` shows
it as a word; any other format is Python's own. ``{verdict}`no break <a.n_breaks == 0>` ``
shows its text while the predicate holds and fails the build when it does not.
Names start with a fence of the same page, with another page (`graph_breaks.branchy`),
with `lab` (`lab.messy_vs_clean.messy`) or with `records`.
"""

from __future__ import annotations

import ast
import difflib
import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from compile_in_practice.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROLE = re.compile(
    r"(?P<code>(?P<ticks>`{2,}).*?(?P=ticks))|\{(?P<role>value|verdict)\}`(?P<text>[^`]+)`"
)
RST_ROLE = re.compile(r"(?P<code>``.*?``)|:(?P<role>value|verdict):`(?P<text>[^`]+)`")
OPEN_ROLE = r"[{:](?:value|verdict)[}:]`"
NO_TEXT = re.compile(r"\s*(:[\w-]+:|[`:~]{3,}|<)")  # options and heads of directives, HTML
WRITTEN = {False: "write {value}`name` on one line", True: "write :value:`name` on one line"}
NOT_RECORDED = "(not recorded yet)"
FILLED = re.compile(r"\d[<>=^]")  # a format that fills up with a digit
BASES = ("b", "c", "o", "x", "X")  # formats whose digits are not decimal
WORDS = (
    "zero", "one", "two", "three", "four", "five", "six",
    "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip


class ValueNameError(Exception):
    """A name or predicate that cannot be shown: says which, and what is near it."""


class Group(dict[str, Any]):
    """Values by name, which dots reach as well as brackets do.

    >>> values = Group.of({"branchy": {"n_graphs": 2, "sizes": {}}})
    >>> values.branchy.n_graphs, values["branchy"].sizes == {}
    (2, True)
    """

    @classmethod
    def of(cls, value: Any) -> Any:
        """Return `value` with each mapping in it as a group."""
        if isinstance(value, dict):
            return cls({key: cls.of(item) for key, item in value.items()})
        return value

    def __getattr__(self, name: str) -> Any:
        """Return the value of that name.

        Raises:
            AttributeError: there is none.

        """
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def paid_back(compiled: Group, eager: Group) -> list[float]:
    """Return after how many steps a compile is paid back, on each lease of two rows.

    A row of a record holds `colds_s`, seconds of compiling, and `medians_ms`,
    milliseconds of a step, one of each for every lease. The steps have two digits that
    count, and are infinite where a step saves no time.

    Raises:
        ValueError: the rows were not measured on the same number of leases, the second
            one was compiled, or no lease pays the compile back.

    >>> eager = Group(medians_ms=[3.0, 1.0])
    >>> paid_back(Group(colds_s=[7.9, 8.0], medians_ms=[0.5, 1.5]), eager)
    [3200.0, inf]
    """
    if "colds_s" in eager:
        message = "its second row was compiled: write paid_back(compiled, eager)"
        raise ValueError(message)
    leases = zip(compiled.colds_s, compiled.medians_ms, eager.medians_ms, strict=True)
    saved = ((cold_s * 1e3, slow - fast) for cold_s, fast, slow in leases)
    steps = [float(f"{cost / gain:.1e}") if gain > 0 else math.inf for cost, gain in saved]
    if not any(map(math.isfinite, steps)):
        message = "a step saves no time on any lease: write that it is never paid back"
        raise ValueError(message)
    return steps


FUNCTIONS: dict[str, Any] = {
    function.__name__: function
    for function in (abs, all, any, len, list, max, min, paid_back, round, set, sorted, sum)
}


@dataclass(kw_only=True)
class Scope:
    """What the names on one page mean.

    Attributes:
        names: the values, as a group.
        unrecorded: fences whose record is still missing, as expressions name them.
        guesses: whether an unknown name is answered with names like it, which takes long.

    """

    names: dict[str, Any]
    unrecorded: frozenset[str] = frozenset()
    guesses: bool = True

    def waits(self, text: str) -> bool:
        """Return whether `text` names a fence whose record is still missing."""
        named = re.findall(r"[A-Za-z_][\w.]*", text)
        return any(name.startswith(f"{fence}.") for name in named for fence in self.unrecorded)

    def look_up(self, expression: str) -> Any:
        """Return what `expression` is here.

        Raises:
            ValueNameError: it names nothing, or is no expression.

        """
        try:
            tree = ast.parse(expression, mode="eval")
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            if names <= set(FUNCTIONS):
                message = f"{expression!r} names no value"
                raise ValueNameError(message)  # noqa: TRY301  (as any other that names none)
            return eval(expression, {"__builtins__": FUNCTIONS}, self.names)  # noqa: S307  (the page's own expression)
        except ValueNameError:
            raise
        except Exception as error:
            known = [*self._all_names()] if self.guesses else []
            near = difflib.get_close_matches(expression, known, 2, 0.6)
            hint = f"; is it {' or '.join(near)}?" if near else ""
            message = f"{expression!r}: {type(error).__name__}: {error}{hint}"
            raise ValueNameError(message) from error

    def show(self, text: str) -> str:
        """Return what a value role with `text` shows.

        Raises:
            ValueNameError: it names nothing or does not take the format.

        """
        expression, form = _parts(text)
        value = self.look_up(expression)
        if isinstance(value, Group):
            message = f"{expression!r} is a group of values: {', '.join(value)}"
            raise ValueNameError(message)
        if FILLED.match(form) or _types_a_number(expression):
            message = f"{text!r} would show digits that were typed"
            raise ValueNameError(message)
        if form.endswith(BASES):
            message = f"{text!r} would show another number: {form!r} is not decimal"
            raise ValueNameError(message)
        try:
            if form in {"word", "Word"}:
                word = WORDS[value] if 0 <= value < len(WORDS) else str(value)
                return word.capitalize() if form == "Word" else word
            if form == "code":
                return f"`{value}`"
            return format(value, form) if form else str(value)
        except (TypeError, ValueError) as error:
            message = f"{text!r}: {error}"
            raise ValueNameError(message) from error

    def named(self, text: str) -> list[Any]:
        """Return the values that a value role names, none where one of them is not here."""
        nodes = [*ast.walk(ast.parse(_parts(text)[0], mode="eval"))]
        dotted = [node for node in nodes if isinstance(node, ast.Attribute)]
        inner = {id(node.value) for node in dotted}
        found = []
        for node in dotted:
            try:
                group = self.look_up(ast.unparse(node.value))
            except ValueNameError:
                if isinstance(node.value, ast.Name):
                    return []
                continue  # part of a value that has no such part here
            if isinstance(group, Group):
                if node.attr not in group:
                    return []
                value = group[node.attr]
                found += [] if isinstance(value, Group) and id(node) in inner else [value]
        return found

    def judge(self, text: str) -> str:
        """Return the words of a verdict whose predicate holds.

        Raises:
            ValueNameError: the predicate is false, missing or names nothing.

        """
        match = re.fullmatch(r"(?P<words>.+?)\s*<(?P<predicate>.+)>", text)
        if match is None:
            message = f"verdict {text!r} has no predicate: write `words <predicate>`"
            raise ValueNameError(message)
        held = self.look_up(match["predicate"])
        if _compares_with_itself(match["predicate"]):
            message = f"verdict {text!r} compares a value with itself"
            raise ValueNameError(message)
        if not isinstance(held, bool):
            message = f"verdict {text!r}: the predicate gives {held!r}, neither True nor False"
            raise ValueNameError(message)
        if not held:
            shown = ", ".join(self._operands(match["predicate"]))
            message = f"verdict {match['words']!r} is false: {match['predicate']}" + (
                f" ({shown})" if shown else ""
            )
            raise ValueNameError(message)
        return match["words"]

    def _operands(self, predicate: str) -> Iterator[str]:
        for name in sorted(set(re.findall(r"[A-Za-z_][\w.]*\.\w+", predicate))):
            try:
                yield f"{name} = {self.look_up(name)!r}"
            except ValueNameError:
                continue

    def _all_names(self) -> Iterator[str]:
        stack = list(self.names.items())
        while stack:
            name, value = stack.pop()
            if isinstance(value, Group):
                stack += [(f"{name}.{key}", item) for key, item in value.items()]
            else:
                yield name


def _parts(text: str) -> tuple[str, str]:
    """Return the expression of a value role and its format, or an empty one.

    >>> _parts("a.n:word"), _parts("a.sizes[1:]")
    (('a.n', 'word'), ('a.sizes[1:]', ''))
    """
    expression, _, form = text.rpartition(":")
    if not expression or "]" in form:  # the colon of a slice, or none at all
        expression, form = text, ""
    return expression.strip(), form.strip()


def _types_a_number(expression: str) -> bool:
    """Return whether a value may come out as a number that stands in its expression.

    >>> [_types_a_number(text) for text in ("'88' or a.n", "a.b['0.5'] * 1e3", "88 or a.n")]
    [True, False, True]
    """
    nodes = [*ast.walk(ast.parse(expression.strip(), mode="eval"))]
    keys = {id(node.slice) for node in nodes if isinstance(node, ast.Subscript)}
    chosen = [one for node in nodes if isinstance(node, ast.BoolOp) for one in node.values]
    chosen += [node.body for node in nodes if isinstance(node, ast.IfExp)]
    chosen += [node.orelse for node in nodes if isinstance(node, ast.IfExp)]
    texts = [str(one.value) for one in chosen if isinstance(one, ast.Constant)]
    texts += [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in keys
    ]
    return any(character.isdigit() for text in texts for character in text)


def _compares_with_itself(predicate: str) -> bool:
    """Return whether one comparison of a predicate has the same on both sides."""
    return any(
        ast.dump(left) == ast.dump(right)
        for node in ast.walk(ast.parse(predicate.strip(), mode="eval"))
        if isinstance(node, ast.Compare)
        for left, right in pairwise([node.left, *node.comparators])
    )


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Where a page shows a value that is another elsewhere.

    Attributes:
        line: from 0, in the text that shows it.
        column: right behind it.
        shown: the value as it is shown.
        others: where it is what else, `["on torch 2.8.0 to 2.10.0", "3"]` each.

    """

    line: int
    column: int
    shown: str
    others: list[list[str]]


def substitute(
    text: str, scope: Scope, *, file: str, line: int, rst: bool = False
) -> tuple[str, list[Failure]]:
    """Return Markdown (or rST) with its roles replaced, and what is wrong with them.

    Args:
        text: prose without fences that run; code blocks in it are left alone.
        scope: what the names mean.
        file: as failures show it.
        line: 1-based line on which `text` begins.
        rst: whether roles are written `:value:` as in reStructuredText.

    """
    shown, failures, _ = substitute_marked(text, scope, lambda _: [], file=file, line=line, rst=rst)
    return shown, failures


def substitute_marked(
    text: str,
    scope: Scope,
    others: Callable[[str], list[list[str]]],
    *,
    file: str,
    line: int,
    rst: bool = False,
) -> tuple[str, list[Failure], list[Mark]]:
    """Return what `substitute` does, and a mark behind each value that `others` knows more of."""
    failures: list[Failure] = []
    marks: list[Mark] = []
    shown = []
    for number, source, prose in prose_lines(text):
        if not prose:
            shown.append(source)
            continue
        where = f"{file}:{line + number}"
        grown = 0

        def replace(
            match: re.Match[str], number: int = number, where: str = where, source: str = source
        ) -> str:
            nonlocal grown
            if match["role"] is None:
                return match[0]
            if scope.waits(match["text"]):
                new = NOT_RECORDED
            else:
                try:
                    act = scope.show if match["role"] == "value" else scope.judge
                    new = act(match["text"])
                except ValueNameError as error:
                    failures.append(Failure(where=where, what=str(error)))
                    return match[0]
            is_text = match["role"] == "value" and not NO_TEXT.match(source)
            if is_text and new != NOT_RECORDED and (found := others(match["text"])):
                column = match.start() + grown + len(new)
                marks.append(Mark(line=number, column=column, shown=new, others=found))
            grown += len(new) - len(match[0])
            return new

        pattern = RST_ROLE if rst else ROLE
        if not rst and re.match(r"\s{0,3}#{1,6}\s", source) and _has_role(pattern, source):
            what = "a value in a heading changes its anchor with every result"
            failures.append(
                Failure(where=where, what=what, remedy="move it into the sentence below")
            )
            shown.append(source)
            continue
        if re.search(OPEN_ROLE, pattern.sub("", source)):
            what = "a role that does not end on its line, or is written for another markup"
            failures.append(Failure(where=where, what=what, remedy=WRITTEN[rst]))
        shown.append(pattern.sub(replace, source))
    return "\n".join(shown), failures, marks


def _has_role(pattern: re.Pattern[str], line: str) -> bool:
    return any(match["role"] for match in pattern.finditer(line))


def prose_lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield each line with its number from 0, and whether it is prose.

    Code blocks are not prose; what a directive such as a table holds is.
    """
    mark = ""
    for number, line in enumerate(text.split("\n")):
        match = re.match(r"\s*(`{3,}|~{3,})\s*(\{?[\w-]*)", line)
        if mark:
            yield number, line, False
            if match and match[1].startswith(mark) and not match[2]:
                mark = ""
        elif match and (not match[2].startswith("{") or match[2] in CODE_DIRECTIVES) and match[2]:
            mark = match[1]
            yield number, line, False
        else:
            yield number, line, True


CODE_DIRECTIVES = {"{code-block", "{code", "{literalinclude", "{code-cell", "{raw"}
