"""A downloaded script is the fences of its page, in order, and nothing else."""

from pathlib import Path

import pytest

from compile_in_practice import downloads
from compile_in_practice.page import Fence, Page

SCRIPT = """\
# %% [markdown]
# # A page
#
# Prose.

# %%
x = 1
# a comment

print(x)

# %%
# TORCH_LOGS=guards python fence.py
# x = 1
# # a comment
#
# print(x)
#
# y = x

# %%
# not run: needs a GPU
# z = 1

# %%
w = 1
"""


def fence(name: str, source: str, **more: object) -> Fence:
    return Fence(page="page", name=name, line=1, first_line=2, source=source, **more)  # type: ignore[arg-type]


FENCES = (
    fence("first", "x = 1\n# a comment\n\nprint(x)"),
    fence("second", "y = x", continues="first", env={"TORCH_LOGS": "guards"}),
    fence("third", "z = 1", not_run="needs a GPU"),
    fence("fourth", "w = 1", record="inductor"),
)


def told(html: Path, script: str) -> list[str]:
    (html / "page.py").write_text(script, encoding="utf-8")
    page = Page(name="page", path=html, metadata={}, parts=FENCES, lines=())
    return [str(failure) for failure in downloads.check(html, [page])]


def test_a_script_of_the_fences_tells_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, SCRIPT) == []


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("print(x)\n\n# %%", "print(2)\n\n# %%", "the cell of first is not what runs"),
        ("# print(x)\n#\n", "#\n", "the cell of second is not what runs"),
        ("# z = 1", "# z = 2", "the cell of third is not what runs"),
        ("# %%\nw = 1\n", "", "the cell of fourth is not what runs"),
        ("w = 1\n", "w = 1\n\n# %%\nv = 1\n", "a cell is of no fence"),
    ],
)
def test_a_script_that_differs_is_told(tmp_path: Path, old: str, new: str, text: str) -> None:
    assert old in SCRIPT
    (found,) = told(tmp_path, SCRIPT.replace(old, new))
    assert text in found


def test_a_page_whose_script_is_missing_is_told(tmp_path: Path) -> None:
    page = Page(name="page", path=tmp_path, metadata={}, parts=FENCES, lines=())
    (found,) = downloads.check(tmp_path, [page])
    assert "no script" in str(found)
