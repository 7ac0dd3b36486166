"""What a page says about its fences, and where each line of it stands."""

from pathlib import Path

import pytest

from compile_in_practice.jobs import page_chains
from compile_in_practice.page import Fence, Page, Prose, chains, page_name, script
from compile_in_practice.project import load_project
from compile_in_practice.reading import page_paths, read_page
from tests.run.conftest import Site, fence


def read(site: Site, text: str) -> tuple[Page, list[tuple[str, str]]]:
    path = site.write("docs/part/a-page.md", text)
    page, failures = read_page(load_project(site.root), path)
    return page, [(failure.where, failure.what) for failure in failures]


def wrong(site: Site, options: str) -> list[str]:
    """Return what is wrong with a fence of these options."""
    page, failures = read(site, f"```{{code-cell}} python\n---\n{options}\n---\nassert 1\n```\n")
    assert page.fences == ()
    return [what for _, what in failures]


def test_a_page_is_named_by_its_path_and_its_stem(site: Site) -> None:
    page, failures = read(site, fence("branchy", "assert 1"))
    (cell,) = page.fences
    assert failures == []
    assert (page.name, page_name(page.name)) == ("part/a-page", "a_page")
    assert cell.full_name == "a_page.branchy"


def test_a_fence_knows_its_line_its_codes_line_and_what_it_declares(site: Site) -> None:
    text = """\
---
title: T
---
# T

Above.

```{code-cell} python
---
name: one
values:
  n: len(x)
  m: len(x) + 2
env: {TORCH_LOGS: graph_breaks, N: 1}
log: [first, 2]
varies: {n: [python]}
time_limit: 5
setup: because
---
x = [1]
```

Below.
"""
    page, failures = read(site, text)
    assert failures == []
    assert page.metadata == {"title": "T"}
    above, cell, below = page.parts
    assert above == Prose(line=4, text="# T\n\nAbove.")
    assert below == Prose(line=23, text="Below.")
    assert cell == Fence(
        page="part/a-page",
        name="one",
        line=8,
        first_line=20,
        source="x = [1]",
        values={"n": "len(x)", "m": "len(x) + 2"},
        env={"TORCH_LOGS": "graph_breaks", "N": "1"},
        log=("first", "2"),
        varies={"n": ("python",)},
        limit_s=5,
        setup="because",
    )


def test_lines_are_those_that_an_editor_shows(site: Site) -> None:
    odd = "a\u2028b\x0cc\x85d\n\n"  # separators that Python splits at and no editor does
    page, failures = read(site, odd + fence("f", "x = (") + "\nAfter.\n")
    assert failures == [("docs/part/a-page.md:7", "SyntaxError: '(' was never closed")]
    page, _ = read(site, odd + fence("f", "assert 1") + "\nAfter.\n")
    before, cell, after = page.parts
    assert isinstance(before, Prose)
    assert before.text == odd.strip("\n")
    assert (cell.line, after) == (3, Prose(line=10, text="After."))


@pytest.mark.parametrize("mark", ["```", "````", "~~~"])
def test_a_fence_may_have_any_mark(site: Site, mark: str) -> None:
    page, failures = read(site, fence("f", "assert 1").replace("```", mark))
    assert (failures, [cell.name for cell in page.fences]) == ([], ["f"])


def test_a_code_block_that_is_no_cell_is_prose(site: Site) -> None:
    shown = "```python\nassert False\n```\n\n```{code-block} python\nassert False\n```"
    page, failures = read(site, shown)
    assert (failures, page.parts) == ([], (Prose(line=1, text=shown),))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ("name: 3", "the option 'name' must be a text, not 3"),
        ("name: not snake", "a fence needs a name in snake case, not 'not snake'"),
        ("name: class", "a fence needs a name in snake case, not 'class'"),
        ("name: f\nvalues: [n]", "the option 'values' must be a mapping, not ['n']"),
        ("name: f\nvalues:", "the option 'values' must be a mapping, not None"),
        ("name: f\nvalues: {n m: 1}", "a value's name must be an identifier, not 'n m'"),
        ("name: f\nvalues: {3: 1}", "a value's name must be an identifier, not 3"),
        ("name: f\nvalues: {n: 'x +'}", "value 'n': invalid syntax: x +"),
        ("name: f\nvalues: {n: '88'}", "value 'n' is typed, not measured: 88"),
        ("name: records", "the name 'records' means others in sentences"),
        ("name: lab", "the name 'lab' means others in sentences"),
        ("name: f\nenv: TORCH_LOGS=x", "the option 'env' must be a mapping, not 'TORCH_LOGS=x'"),
        ("name: f\nlog: text", "the option 'log' must be a list, not 'text'"),
        ("name: f\nsetup: true", "the option 'setup' must be a text, not True"),
        ("name: f\nsetup:", "the option 'setup' must be a text, not None"),
        ("name: f\nnot_run: ''", "the option 'not_run' must be a text, not ''"),
        ("name: f\ncontinues: [a]", "the option 'continues' must be a text, not ['a']"),
        (
            "name: f\ntime_limit: soon",
            "the option 'time_limit' must be a number of seconds, not 'soon'",
        ),
        (
            "name: f\ntime_limit: true",
            "the option 'time_limit' must be a number of seconds, not True",
        ),
        ("name: f\nrecord: cuda", "unknown 'record': 'cuda'"),
        ("name: f\ncompares: modes", "unknown 'compares': 'modes'"),
        ("name: f\nskip: x", "unknown option 'skip'"),
        ("name: f\nenv: {PYTHONOPTIMIZE: 1}", "PYTHONOPTIMIZE removes every assertion"),
        ("name: f\nlog: ['']", "an empty text in 'log' is in every log"),
        ("- name", "the options are no mapping of names to values"),
        ("name: {", "invalid YAML in the options: expected the node content, but found"),
    ],
)
def test_a_wrong_option_is_a_failure(site: Site, options: str, what: str) -> None:
    (found,) = wrong(site, options)
    assert found.startswith(what)


@pytest.mark.parametrize("by", ["[week]", "python", "{}", "[[python]]"])
def test_a_value_varies_by_python_or_platform_alone(site: Site, by: str) -> None:
    (found,) = wrong(site, f"name: f\nvalues: {{n: 1}}\nvaries: {{n: {by}}}")
    assert found.startswith("'varies' takes values of this fence by ('python', 'platform')")


def test_a_value_that_varies_must_be_one(site: Site) -> None:
    (found,) = wrong(site, "name: f\nvaries: {n: [python]}")
    assert found.endswith("not n: ['python']")


@pytest.mark.parametrize(
    "test",
    [
        "(n == 4, 'four')",
        "[n == 4]",
        "(n == 4 for _ in [0])",
        "lambda: n == 4",
        "'n == 4'",
        "f'{n}'",
    ],
)
def test_an_assertion_that_is_always_true_is_a_failure(site: Site, test: str) -> None:
    _, failures = read(site, fence("f", f"n = 3\nassert {test}"))
    what = "this assertion is true whatever it holds"
    assert failures == [("docs/part/a-page.md:6", what)]


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("", "```{code", "``` {code", ""),
        ("", "```{code-cell}", "```{Code-Cell}", ""),
        ("", "```{code-cell}", "```{code-cell }", ""),
        ("<details>\n", "", "", "</details>\n"),
        ("```text\nan output whose block is not closed\n\n", "", "", ""),
        ("Text:\n", "```{code-cell}", "    ```{code-cell}", ""),
        ("::::{note}\n- ", "", "", "::::\n"),
        ("[^1]: Note.\n\n", "```{code-cell}", "    ```{code-cell}", ""),
        ("```{eval-rst}\nx\n```\n\n::::{note}\n", "```", ":::", "::::\n"),
    ],
)
def test_what_only_looks_like_a_cell_is_a_failure(
    site: Site, before: str, old: str, new: str, after: str
) -> None:
    cell = fence("f", "assert False")
    text = before + (cell.replace(old, new) if old else cell) + after
    page, failures = read(site, text)
    assert page.fences == ()
    assert "this looks like a code cell, but it is never run" in [what for _, what in failures]


def test_front_matter_sets_nothing_that_runs_or_hides_a_fence(site: Site) -> None:
    _, failures = read(site, "---\nmystnb: {execution_mode: force}\n---\n# T\n")
    assert failures == [("docs/part/a-page.md:1", "the front matter sets mystnb")]


def test_options_that_do_not_end_are_a_failure(site: Site) -> None:
    _, failures = read(site, "```{code-cell} python\n---\nname: f\nassert 1\n```\n")
    assert failures == [("docs/part/a-page.md:2", "the options of this fence do not end")]


@pytest.mark.parametrize(
    ("front", "what"),
    [
        ("- a", "the front matter is no mapping of names to values"),
        ("a: [", "invalid YAML in the front matter"),
        ("kernelspec: xeus", "names the kernel 'xeus', which is not there"),
        ("kernelspec: {name: xeus}", "names the kernel 'xeus', which is not there"),
    ],
)
def test_wrong_front_matter_is_a_failure(site: Site, front: str, what: str) -> None:
    _, failures = read(site, f"---\n{front}\n---\n\n# T\n")
    assert len(failures) == 1
    assert failures[0][1].startswith(what)


def test_a_fence_cannot_continue_what_does_not_run_before_it(site: Site) -> None:
    page, failures = read(
        site,
        "\n".join(
            [
                fence("shown", "x = 1", not_run="too long"),
                fence("recorded", "x = 1", record="inductor"),
                fence("runs", "x = 1", setup="prepares"),
                fence("a", "assert x", continues="shown"),
                fence("b", "assert x", continues="recorded"),
                fence("c", "assert x", continues="runs", record="inductor"),
                fence("d", "assert x", continues="later"),
                fence("e", "assert x", continues="e"),
                fence("later", "assert 1"),
            ]
        ),
    )
    assert [what for _, what in failures] == [
        "a recorded fence stands alone",
        "continues 'shown', which does not run before it",
        "continues 'recorded', which does not run before it",
        "continues 'later', which is no earlier fence",
        "continues 'e', which is no earlier fence",
    ]
    assert len(page.fences) == 8


def test_a_chain_is_linear(site: Site) -> None:
    _, failures = read(
        site,
        "\n".join(
            [
                fence("a", "assert 1"),
                fence("b", "assert 1", continues="a"),
                fence("c", "assert 1", continues="a"),
            ]
        ),
    )
    assert [what for _, what in failures] == ["'a' is continued by line 8 already"]


def test_chains_keep_their_order_and_their_lines(site: Site) -> None:
    page, failures = read(
        site,
        "\n".join(
            [
                fence("a", "x = 1\ny = 2"),
                fence("alone", "assert 1"),
                fence("b", "x = 2", continues="a"),
                fence("shown", "x = 3", continues="b", not_run="slow"),
                fence("c", "x = 4", continues="b"),
                fence("recorded", "x = 5", record="inductor"),
            ]
        ),
    )
    assert failures == []
    assert [[cell.name for cell in chain] for chain in chains(page)] == [["a", "b", "c"], ["alone"]]
    assert [[cell.name for cell in chain] for chain in chains(page, record="inductor")] == [
        ["recorded"]
    ]
    text, first_lines = script(chains(page)[0])
    assert text == "x = 1\ny = 2\n\nx = 2\n\nx = 4\n"
    assert first_lines == [1, 4, 6]


def test_a_chain_may_take_what_its_fences_may_take_together(site: Site) -> None:
    page, failures = read(
        site,
        "\n".join(
            [
                fence("a", "x = 1"),
                fence("b", "assert x", continues="a", time_limit=200),
                fence("c", "assert x", continues="b"),
            ]
        ),
    )
    assert failures == []
    (chain,) = page_chains(page)
    assert chain.limit_s(60) == 60 + 200 + 60


def test_the_ledger_and_templates_are_no_pages(site: Site) -> None:
    for name in ("a", "part/b", "ledger/c", "_templates/d", "_static/e"):
        site.write(f"docs/{name}.md", "# T\n")
    found = page_paths(load_project(site.root))
    assert [path.relative_to(site.docs).as_posix() for path in found] == ["a.md", "part/b.md"]


def test_what_decides_a_fences_values_decides_its_digest() -> None:
    def digest(**changed: object) -> str:
        known = {"page": "p", "name": "f", "line": 1, "first_line": 2, "source": "x = 1"}
        return Fence(**{**known, **changed}).digest  # type: ignore[arg-type]

    assert digest(line=9, first_line=10, name="g", page="q") == digest()
    for changed in (
        {"source": "x = 2"},
        {"values": {"n": "x"}},
        {"env": {"A": "1"}},
        {"log": ("a",)},
    ):
        assert digest(**changed) != digest()


def test_the_lines_of_a_page_are_kept_for_messages(site: Site) -> None:
    page, _ = read(site, "# T\r\n\r\nText.\r\n")
    assert page.lines[:3] == ("# T", "", "Text.")
    assert page.path == Path(site.docs, "part/a-page.md")
