"""Read a page as written, and say what is wrong with it there."""

from __future__ import annotations

import ast
import keyword
import re
from typing import TYPE_CHECKING, Any

import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from compile_in_practice.failure import Failure
from compile_in_practice.page import Fence, Page, Prose

if TYPE_CHECKING:
    from pathlib import Path

    from markdown_it.token import Token

    from compile_in_practice.project import Project

NOT_PAGES = {"_static", "_templates", "ledger"}
TEXT, MAPPING, LIST = (str, "a text"), (dict, "a mapping"), (list, "a list")
SECONDS = (int | float, "a number of seconds")
OPTIONS: dict[str, tuple[Any, str]] = {
    "name": TEXT,
    "values": MAPPING,
    "continues": TEXT,
    "setup": TEXT,
    "env": MAPPING,
    "log": LIST,
    "varies": MAPPING,
    "time_limit": SECONDS,
    "not_run": TEXT,
    "record": TEXT,
    "compares": TEXT,
}
CODE_CELL = "{code-cell}"
CELL_LINE = re.compile(r"[\s>*+-]*(`{3,}|~{3,}|:{3,})\s*\{\s*code-cell\s*\}", re.IGNORECASE)
KERNEL = "python3"
FRONT_MATTER = {"file_format", "html_meta", "kernelspec", "orphan", "title"}
CHOICES = {"record": ("inductor",), "compares": ("backends",)}
SHOWN_AS_CODE = ("{code-block}", "{code}", "{literalinclude}")
VARIES = ("python", "platform")
RESERVED = {"lab", "records"}  # the first word of values that no fence of the page has
ALWAYS_TRUE = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Lambda, ast.GeneratorExp, ast.JoinedStr)


def page_paths(project: Project) -> list[Path]:
    """Return the files of all pages, in order."""
    return [
        path
        for path in sorted(project.docs.rglob("*.md"))
        if NOT_PAGES.isdisjoint(path.relative_to(project.docs).parts)
    ]


def read_page(project: Project, path: Path) -> tuple[Page, list[Failure]]:
    """Return the page and what is wrong with it as written."""
    name = path.relative_to(project.docs).with_suffix("").as_posix()
    shown = project.shown(path)
    reader = _Reader(name, shown)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        reader.fail(1, f"not UTF-8: {error}", "save the page as UTF-8")
        text = ""
    except OSError as error:
        reader.fail(1, f"cannot be read: {error.strerror}", "make it a file that you may read")
        text = ""
    parts = reader.parts(text)
    lines = tuple(text.split("\n"))
    page = Page(name=name, path=path, metadata=reader.metadata, parts=parts, lines=lines)
    return page, reader.failures


class _Reader:
    """Collects the parts of one page and everything that is wrong with it."""

    def __init__(self, name: str, shown: str) -> None:
        self.name, self.shown = name, shown
        self.failures: list[Failure] = []
        self.metadata: dict[str, Any] = {}

    def fail(self, line: int, what: str, remedy: str = "") -> None:
        self.failures.append(Failure(where=f"{self.shown}:{line}", what=what, remedy=remedy))

    def parts(self, text: str) -> tuple[Prose | Fence, ...]:
        lines = text.split("\n")  # as the parser counts them: no other line separators
        parser = MarkdownIt("commonmark").use(front_matter_plugin).use(colon_fence_plugin)
        tokens = parser.parse(text)
        parts: list[Prose | Fence] = []
        start = 0
        if tokens and tokens[0].type == "front_matter":
            start = _span(tokens[0])[1]
            self._front_matter(tokens[0].content)
        for token in tokens:
            if token.type not in {"fence", "colon_fence"}:
                continue
            begin, end = _span(token)
            if not token.info.startswith(CODE_CELL):
                self._nested(token)
            elif token.level:
                self._nested_cell(begin + 1)
            else:
                self._prose(parts, lines, start, begin)
                if (fence := self._fence(token)) is not None:
                    parts.append(fence)
                start = end
        self._prose(parts, lines, start, len(lines))
        self._stray(tokens, lines)
        again = self._check_names([part for part in parts if isinstance(part, Fence)])
        return tuple(part for part in parts if part not in again)

    def _prose(self, parts: list[Prose | Fence], lines: list[str], start: int, end: int) -> None:
        while start < end and not lines[start].strip():
            start += 1
        text = "\n".join(lines[start:end]).rstrip()
        if text:
            parts.append(Prose(line=start + 1, text=text))

    def _front_matter(self, content: str) -> None:
        try:
            self.metadata = yaml.safe_load(content) or {}
        except yaml.YAMLError as error:
            self.fail(_yaml_line(error, 2), f"invalid YAML in the front matter: {_one_line(error)}")
            return
        if not isinstance(self.metadata, dict):
            self.fail(2, "the front matter is no mapping of names to values")
            self.metadata = {}
        if other := sorted(set(map(str, self.metadata)) - FRONT_MATTER):
            what = f"the front matter sets {', '.join(other)}"
            self.fail(1, what, f"only {', '.join(sorted(FRONT_MATTER))} may stand there")
        kernel = self.metadata.get("kernelspec", {"name": KERNEL})
        kernel = kernel.get("name") if isinstance(kernel, dict) else kernel
        if kernel != KERNEL:
            self.fail(
                1,
                f"names the kernel {kernel!r}, which is not there",
                f"fences run on {KERNEL}: remove the kernelspec",
            )

    def _nested(self, token: Token) -> None:
        """Refuse code cells inside a directive: no run would ever see them."""
        info = token.info.strip()
        if not info.startswith("{") or info.startswith(SHOWN_AS_CODE):
            return
        for offset, line in enumerate(token.content.split("\n")):
            if re.match(r"\s*(`{3,}|~{3,})\s*\{code-cell\}", line):
                self._nested_cell(_span(token)[0] + offset + 2)

    def _stray(self, tokens: list[Token], lines: list[str]) -> None:
        """Refuse a line that opens a code cell for the eye, and for no parser."""
        seen: set[int] = {int(f.where.rpartition(":")[2]) for f in self.failures}
        for token in tokens:
            if token.type not in {"fence", "colon_fence"}:
                continue
            begin, end = _span(token)
            info = token.info.strip()
            if token.info.startswith(CODE_CELL):
                seen.add(begin + 1)
                seen.update(range(begin + 2, end + 1))
            elif not info.startswith("{") or info.startswith(SHOWN_AS_CODE):
                # A block that shows a cell has a longer mark than the cell.
                seen.update(
                    number
                    for number in range(begin + 2, end + 1)
                    if (match := CELL_LINE.match(lines[number - 1])) and match[1] != token.markup
                )
        for number, line in enumerate(lines, 1):
            if CELL_LINE.match(line) and number not in seen:
                self.fail(
                    number,
                    "this looks like a code cell, but it is never run",
                    "open it at the start of a line, and close what stands above it",
                )

    def _nested_cell(self, line: int) -> None:
        self.fail(
            line,
            "a code cell inside another element is never run",
            "move the fence to the top level of the page",
        )

    def _fence(self, token: Token) -> Fence | None:
        begin, _ = _span(token)
        options, code, n_option_lines = self._options(token, begin)
        if options is None or self._wrong_option(options, begin + 1):
            return None
        first_line = begin + 2 + n_option_lines
        source = code.rstrip("\n")
        fence = Fence(
            page=self.name,
            name=options["name"],
            line=begin + 1,
            first_line=first_line,
            source=source,
            values={k: str(v) for k, v in options.get("values", {}).items()},
            continues=options.get("continues"),
            setup=options.get("setup"),
            env={str(k): str(v) for k, v in options.get("env", {}).items()},
            log=tuple(str(text) for text in options.get("log", ())),
            varies={k: tuple(v) for k, v in options.get("varies", {}).items()},
            limit_s=options.get("time_limit"),
            not_run=options.get("not_run"),
            record=options.get("record"),
            compares=options.get("compares"),
        )
        return None if self._wrong_code(fence) else fence

    def _options(self, token: Token, begin: int) -> tuple[dict[str, Any] | None, str, int]:
        """Return the options (None where they are broken), the code, and their lines."""
        content = token.content
        if not content.startswith("---\n"):
            return {}, content, 0
        head, found, code = content[4:].partition("\n---\n")
        if not found:
            self.fail(begin + 2, "the options of this fence do not end", "close them with ---")
            return None, "", 0
        try:
            options = yaml.safe_load(head) or {}
        except yaml.YAMLError as error:
            self.fail(
                _yaml_line(error, begin + 3), f"invalid YAML in the options: {_one_line(error)}"
            )
            return None, "", 0
        if not isinstance(options, dict):
            self.fail(begin + 3, "the options are no mapping of names to values")
            return None, "", 0
        return options, code, head.count("\n") + 3

    def _wrong_option(self, options: dict[str, Any], line: int) -> bool:
        before = len(self.failures)
        self._wrong_kind(options, line)
        if len(self.failures) > before:  # what follows relies on their kinds
            return True
        values = options.get("values", {})
        for value in values:
            if not _is_name(value):
                self.fail(line, f"a value's name must be an identifier, not {value!r}")
        for value, by in options.get("varies", {}).items():
            known = value in values and isinstance(by, list) and all(kind in VARIES for kind in by)
            if not known:
                what = f"'varies' takes values of this fence by {VARIES}, not {value}: {by}"
                self.fail(line, what)
        if "record" in options and "continues" in options:
            self.fail(line, "a recorded fence stands alone", "repeat what it needs of the other")
        if "PYTHONOPTIMIZE" in options.get("env", {}):
            self.fail(line, "PYTHONOPTIMIZE removes every assertion", "leave it out")
        if not all(str(text).strip() for text in options.get("log", ())):
            self.fail(line, "an empty text in 'log' is in every log", "name what it must log")
        return len(self.failures) > before

    def _wrong_kind(self, options: dict[str, Any], line: int) -> None:
        for option, value in options.items():
            if option not in OPTIONS:
                remedy = f"the options are {', '.join(sorted(OPTIONS))}"
                self.fail(line, f"unknown option {option!r}", remedy)
                continue
            kind, words = OPTIONS[option]
            if not isinstance(value, kind) or value is True or not value:
                self.fail(line, f"the option {option!r} must be {words}, not {value!r}")
            elif value not in CHOICES.get(option, [value]):
                self.fail(line, f"unknown {option!r}: {value!r}", f"write {CHOICES[option][0]}")
        name = options.get("name", "")
        if isinstance(name, str) and not _is_name(name):
            what = f"a fence needs a name in snake case, not {name!r}"
            self.fail(line, what, "begin its options so: ---, then name: my_fence, then ---")
        elif name in RESERVED:
            self.fail(line, f"the name {name!r} means others in sentences", "name it otherwise")

    def _wrong_code(self, fence: Fence) -> bool:
        try:
            tree = ast.parse(fence.source)
        except SyntaxError as error:
            line = fence.first_line + (error.lineno or 1) - 1
            self.fail(line, f"{type(error).__name__}: {error.msg}")
            return True
        for node in ast.walk(tree):
            if isinstance(node, ast.Assert) and (
                isinstance(node.test, ALWAYS_TRUE)
                or (isinstance(node.test, ast.Constant) and isinstance(node.test.value, str))
            ):
                line = fence.first_line + node.lineno - 1
                what = "this assertion is true whatever it holds"
                self.fail(line, what, "remove the parentheses or quotes around it")
                return True
        for name, expression in fence.values.items():
            try:
                nodes = [*ast.walk(ast.parse(expression, mode="eval"))]
            except SyntaxError as error:
                self.fail(fence.line, f"value {name!r}: {error.msg}: {expression}")
                return True
            if not any(isinstance(node, ast.Name) for node in nodes):
                what = f"value {name!r} is typed, not measured: {expression}"
                self.fail(fence.line, what, "name what the fence computes")
                return True
        return False

    def _check_names(self, fences: list[Fence]) -> list[Fence]:
        """Return the fences whose name an earlier one has."""
        seen: dict[str, Fence] = {}
        continued: dict[str, Fence] = {}
        again: list[Fence] = []
        for fence in fences:
            if (first := seen.setdefault(fence.name, fence)) is not fence:
                self.fail(
                    fence.line,
                    f"the name {fence.name!r} is taken by line {first.line}",
                    "give each fence of a page its own name",
                )
                again.append(fence)
            if fence.continues is None:
                continue
            if fence.continues not in seen or fence.continues == fence.name:
                self.fail(fence.line, f"continues {fence.continues!r}, which is no earlier fence")
            elif fence.not_run is not None:
                continue
            elif _how(seen[fence.continues]) != _how(fence):
                self.fail(
                    fence.line,
                    f"continues {fence.continues!r}, which does not run before it",
                    "continue a fence that runs where this one runs",
                )
            elif (first := continued.setdefault(fence.continues, fence)) is not fence:
                self.fail(
                    fence.line,
                    f"{fence.continues!r} is continued by line {first.line} already",
                    "a chain is linear: continue its last fence",
                )
        return again


def _is_name(text: object) -> bool:
    return isinstance(text, str) and text.isidentifier() and not keyword.iskeyword(text)


def _how(fence: Fence) -> tuple[bool, str | None]:
    """Return what decides where a fence runs: not at all, in the build, or recorded."""
    return fence.not_run is None, fence.record


def _span(token: Token) -> tuple[int, int]:
    """Return the 0-based lines of a block token, the end excluded."""
    begin, end = token.map or (0, 0)
    return begin, end


def _yaml_line(error: yaml.YAMLError, first: int) -> int:
    mark = getattr(error, "problem_mark", None)
    return first + (mark.line if mark else 0)


def _one_line(error: Exception) -> str:
    return " ".join(str(getattr(error, "problem", None) or error).split())
