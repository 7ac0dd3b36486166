"""Read a page: its fences, their options, and the prose between them."""

from __future__ import annotations

import ast
import hashlib
import json
import keyword
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from compile_in_practice.failure import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from markdown_it.token import Token

    from compile_in_practice.project import Project

CODE_CELL = "{code-cell}"
KERNEL = "python3"
NOT_PAGES = {"_static", "_templates", "ledger"}
RECORDERS = ("inductor",)
SHOWN_AS_CODE = ("{code-block}", "{code}", "{literalinclude}")
VARIES = ("python", "platform")


@dataclass(frozen=True, kw_only=True)
class Fence:
    """A code cell of a page, and what it declares about itself.

    Attributes:
        page: the page's path under docs, without suffix: `module/graph-breaks`.
        name: unique on the page, snake case.
        line: 1-based line of the page on which the fence opens.
        first_line: 1-based line of the page on which its code begins.
        source: the code that the reader sees and copies.
        values: names, each with the expression that is evaluated afterwards.
        continues: the fence of the same page after which this one runs, if any.
        setup: why this fence asserts nothing, if it does not.
        env: start-up variables; they ask for a fresh interpreter.
        log: texts that it must write to standard error, in this order.
        varies: values that may differ by `python` or `platform`.
        limit_s: seconds it may take, or None for the project's own limit.
        not_run: why this code is shown and not executed, if it is not.
        record: what a recording runs it with (`inductor`), if it is recorded.

    """

    page: str
    name: str
    line: int
    first_line: int
    source: str
    values: dict[str, str] = field(default_factory=dict)
    continues: str | None = None
    setup: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    log: tuple[str, ...] = ()
    varies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    limit_s: float | None = None
    not_run: str | None = None
    record: str | None = None

    @property
    def full_name(self) -> str:
        """Return the name in the ledger: `graph_breaks.branchy`."""
        return f"{page_name(self.page)}.{self.name}"

    @property
    def digest(self) -> str:
        """Return a hash of the code and of what is evaluated around it."""
        parts = [self.source, self.values, self.env, self.log]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def n_checks_outside(self) -> int:
        """Return how many log texts are asserted beside the code."""
        return len(self.log)


@dataclass(frozen=True, kw_only=True)
class Prose:
    """Markdown between two fences; `line` is its 1-based first line."""

    line: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page as written, in reading order.

    Attributes:
        name: the path under docs without suffix, as Sphinx names documents.
        path: the file.
        metadata: the front matter.
        parts: prose and fences.
        lines: the text as it was read, a line each.

    """

    name: str
    path: Path
    metadata: dict[str, Any]
    parts: tuple[Prose | Fence, ...]
    lines: tuple[str, ...]

    @property
    def fences(self) -> tuple[Fence, ...]:
        """Return the fences in reading order."""
        return tuple(part for part in self.parts if isinstance(part, Fence))


def page_paths(project: Project) -> list[Path]:
    """Return the files of all pages, in order."""
    return [
        path
        for path in sorted(project.docs.rglob("*.md"))
        if NOT_PAGES.isdisjoint(path.relative_to(project.docs).parts)
    ]


def page_name(page: str) -> str:
    """Return a page's name in expressions: `module/graph-breaks` -> `graph_breaks`."""
    return page.rsplit("/", 1)[-1].replace("-", "_")


def chains(page: Page, *, record: str | None = None) -> list[list[Fence]]:
    """Return the fences that run, grouped into chains that share a process.

    With `record` they are the ones that are recorded with it instead.
    """
    running = [f for f in page.fences if f.not_run is None and f.record == record]
    follower = {f.continues: f for f in running if f.continues}
    result = []
    for fence in running:
        if fence.continues is None:
            chain = [fence]
            while (following := follower.get(chain[-1].name)) is not None:
                chain.append(following)
            result.append(chain)
    return result


def script(chain: list[Fence]) -> tuple[str, list[int]]:
    """Return a chain as one plain file, and the line on which each fence begins."""
    lines, first_lines = 1, []
    for fence in chain:
        first_lines.append(lines)
        lines += fence.source.count("\n") + 2
    return "\n\n".join(fence.source for fence in chain) + "\n", first_lines


# --- reading --------------------------------------------------------------------


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
    parts = reader.parts(text)
    lines = tuple(text.splitlines())
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
        lines = text.splitlines()
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
        kernel = self.metadata.get("kernelspec", {}).get("name", KERNEL)
        if kernel != KERNEL:
            self.fail(1, f"names the kernel {kernel!r}, which is not there",
                      f"fences run on {KERNEL}: remove the kernelspec")

    def _nested(self, token: Token) -> None:
        """Refuse code cells inside a directive: no run would ever see them."""
        info = token.info.strip()
        if not info.startswith("{") or info.startswith(SHOWN_AS_CODE):
            return
        for offset, line in enumerate(token.content.splitlines()):
            if re.match(r"\s*(`{3,}|~{3,})\s*\{code-cell\}", line):
                self._nested_cell(_span(token)[0] + offset + 2)

    def _nested_cell(self, line: int) -> None:
        self.fail(line, "a code cell inside another element is never run",
                  "move the fence to the top level of the page")

    def _fence(self, token: Token) -> Fence | None:
        begin, _ = _span(token)
        options, code, n_option_lines = self._options(token, begin)
        if options is None:
            return None
        wrong = self._wrong_option(options, begin)
        first_line = begin + 2 + n_option_lines
        source = code.rstrip("\n")
        fence = Fence(
            page=self.name,
            name=str(options.get("name", f"line_{begin + 1}")),
            line=begin + 1,
            first_line=first_line,
            source=source,
            values={str(k): str(v) for k, v in (options.get("values") or {}).items()},
            continues=options.get("continues"),
            setup=options.get("setup"),
            env={str(k): str(v) for k, v in (options.get("env") or {}).items()},
            log=tuple(str(text) for text in options.get("log") or ()),
            varies={k: tuple(v) for k, v in (options.get("varies") or {}).items()},
            limit_s=options.get("time_limit"),
            not_run=options.get("not_run"),
            record=options.get("record"),
        )
        return None if wrong or self._wrong_code(fence) else fence

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
            self.fail(_yaml_line(error, begin + 3), f"invalid YAML in the options: {_one_line(error)}")
            return None, "", 0
        if not isinstance(options, dict):
            self.fail(begin + 3, "the options are no mapping of names to values")
            return None, "", 0
        return options, code, head.count("\n") + 3

    def _wrong_option(self, options: dict[str, Any], begin: int) -> bool:
        before = len(self.failures)
        known = {"name", "values", "continues", "setup", "env", "log", "varies",
                 "time_limit", "not_run", "record"}
        for option in options:
            if option not in known:
                self.fail(begin + 1, f"unknown option {option!r}",
                          f"the options are {', '.join(sorted(known))}")
        name = options.get("name")
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
            self.fail(begin + 1, f"a fence needs a name in snake case, not {name!r}")
        for option, kind in (("values", dict), ("env", dict), ("log", list), ("varies", dict)):
            if not isinstance(options.get(option) or kind(), kind):
                self.fail(begin + 1, f"the option {option!r} must be a {kind.__name__}")
                return True
        for value in (options.get("values") or {}):
            if not str(value).isidentifier() or keyword.iskeyword(str(value)):
                self.fail(begin + 1, f"a value's name must be an identifier, not {value!r}")
        for value, by in (options.get("varies") or {}).items():
            if value not in (options.get("values") or {}) or not set(by) <= set(VARIES):
                self.fail(begin + 1, f"'varies' takes values of this fence by {VARIES}, not {value}: {by}")
        if options.get("record") not in {None, *RECORDERS}:
            self.fail(begin + 1, f"unknown recorder {options['record']!r}", f"one of {RECORDERS}")
        return len(self.failures) > before

    def _wrong_code(self, fence: Fence) -> bool:
        try:
            ast.parse(fence.source)
        except SyntaxError as error:
            line = fence.first_line + (error.lineno or 1) - 1
            self.fail(line, f"{type(error).__name__}: {error.msg}")
            return True
        for name, expression in fence.values.items():
            try:
                ast.parse(expression, mode="eval")
            except SyntaxError as error:
                self.fail(fence.line, f"value {name!r}: {error.msg}: {expression}")
                return True
        return False

    def _check_names(self, fences: list[Fence]) -> list[Fence]:
        """Return the fences whose name an earlier one has."""
        seen: dict[str, Fence] = {}
        continued: dict[str, Fence] = {}
        again: list[Fence] = []
        for fence in fences:
            if (first := seen.setdefault(fence.name, fence)) is not fence:
                self.fail(fence.line, f"the name {fence.name!r} is taken by line {first.line}",
                          "give each fence of a page its own name")
                again.append(fence)
            if fence.continues is None:
                continue
            if fence.continues not in seen or fence.continues == fence.name:
                self.fail(fence.line, f"continues {fence.continues!r}, which is no earlier fence")
            elif (first := continued.setdefault(fence.continues, fence)) is not fence:
                self.fail(fence.line, f"{fence.continues!r} is continued by line {first.line} already",
                          "a chain is linear: continue its last fence")
        return again


def _span(token: Token) -> tuple[int, int]:
    """Return the 0-based lines of a block token, the end excluded."""
    begin, end = token.map or (0, 0)
    return begin, end


def _yaml_line(error: yaml.YAMLError, first: int) -> int:
    mark = getattr(error, "problem_mark", None)
    return first + (mark.line if mark else 0)


def _one_line(error: Exception) -> str:
    return " ".join(str(getattr(error, "problem", None) or error).split())
