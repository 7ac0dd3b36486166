"""The page that lists every claim: sentence, values of this build, page and line."""

import json

from tests.run.conftest import Site, fence

LAB = '''"""
A lab
=====
"""


def experiment(backend="eager"):
    """One number."""
    data = {"n": 2}
    assert data["n"] == 2
    return data


# %%
# It takes
# :value:`lab.small.n` frames. The
# rest is free.
'''


def rows_of(site: Site) -> list[str]:
    """Return the rows of the built table."""
    report = site.build()
    assert report.failures == []
    notebook = json.loads((report.results / "pages/all.ipynb").read_text(encoding="utf-8"))
    text = "".join("".join(cell["source"]) for cell in notebook["cells"])
    assert "{claims}" not in text
    return [line for line in text.split("\n") if line.startswith("| ")][2:]


def test_each_sentence_that_names_a_value_has_a_row_with_its_line(site: Site) -> None:
    site.page("all", "```{claims}\n```\n")
    sentence = "- It [breaks](other.md) {value}`counted.n:word` {verdict}`times <counted.n > 1>`.\n"
    site.page("page", "## A unit\n", sentence, fence("counted", "n = 3\nassert n", values="{n: n}"))
    line = 1 + (site.docs / "page.md").read_text(encoding="utf-8").split("\n").index(sentence[:-1])
    where = f"docs/page.md:{line}"
    row = f"| It breaks three times. | `counted.n` ` 3 ` | [{where}](/page.md#a-unit) |"
    assert rows_of(site) == [row]


def test_a_fence_that_no_sentence_names_stands_with_the_first_line_of_its_unit(site: Site) -> None:
    site.page("all", "```{claims}\n```\n")
    code = 'text = "a|b"\nassert text\nassert text'
    site.page(
        "page",
        "Before.\n",
        "## A unit\n\nIt says so.\nMore.\n",
        fence("f", code, values="{t: text}"),
    )
    (row,) = rows_of(site)
    assert row.startswith("| It says so. | 2 assertions held; `f.t` ` a\\|b ` | [docs/page.md:")


def test_a_row_of_a_table_is_one_claim(site: Site) -> None:
    site.page("all", "```{claims}\n```\n")
    table = "| a | n |\n|---|---|\n| `x` | {value}`counted.n` |\n"
    site.page("page", table, fence("counted", "n = 3\nassert n", values="{n: n}"))
    (row,) = rows_of(site)
    assert row.startswith("| `x` · 3 | `counted.n` ` 3 ` |")


def test_a_lab_has_its_assertions_and_its_sentences_whole(site: Site) -> None:
    site.page("all", "```{claims}\n```\n")
    site.write("gallery/lab/small.py", LAB)
    first, second = rows_of(site)
    link = "](/lab/small.rst) |"
    assert first == f"| `assert data['n'] == 2` | held | [gallery/lab/small.py:10{link}"
    assert second == f"| It takes 2 frames. | `small.n` ` 2 ` | [gallery/lab/small.py:16{link}"
