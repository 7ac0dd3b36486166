"""A downloaded notebook is executed in a plain kernel, and must print what the page shows."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from compile_in_practice.failure import BuildError
from compile_in_practice.jupyter import execute_notebooks
from compile_in_practice.notebook import KERNELSPEC, LANGUAGE


def cell(name: str, source: str, printed: str = "", **told: str) -> Any:
    outputs = [new_output("stream", name="stdout", text=printed)] if printed else []
    told = told or {"kind": "run"}
    return new_code_cell(source, id=name, outputs=outputs, metadata={"cip": told})


def write(folder: Path, name: str, *cells: Any) -> None:
    metadata = {"kernelspec": KERNELSPEC, "language_info": LANGUAGE}
    notebook = new_notebook(cells=list(cells), metadata=metadata)
    nbformat.write(notebook, folder / f"{name}.ipynb")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, list[str]]:
    folder = tmp_path_factory.mktemp("html")
    write(
        folder,
        "page",
        cell("first", "x = [1]\nprint(x)", "[1]\n"),
        cell("leaks", "x.append(2)\nprint('more')", "more\n"),
        cell("sees_it", "print(x)", "[1]\n"),
        cell("raises", "assert x == [1], 'left behind'"),
        cell("after", "print('still runs')", "still runs\n"),
        cell("names_its_file", "print((lambda: 0).__code__.co_filename)", "fence.py\n"),
        cell("recorded", "raise SystemExit", kind="recorded"),
        cell("commanded", "print(1)", command="N=1 python fence.py", kind="run"),
        cell("shown", "raise SystemExit", kind="not_run", reason="it ends everything"),
    )
    write(folder, "other", cell("alone", "print('x' in globals())", "False\n"))
    write(folder, "dies", cell("kills", "import os; os._exit(1)"))
    n_ran, failures = execute_notebooks(folder, width=2)
    return n_ran, [f"{failure.where}: {failure.what}" for failure in failures]


def test_every_cell_runs_but_those_that_need_a_compiler(outcome: tuple[int, list[str]]) -> None:
    assert outcome[0] == 10


def test_a_cell_that_raises_or_prints_something_else_is_named(
    outcome: tuple[int, list[str]],
) -> None:
    assert outcome[1] == [
        "dies.ipynb: DeadKernelError: Kernel died",
        "page.ipynb:sees_it: prints something else",
        "page.ipynb:raises: AssertionError: left behind",
    ]


def test_a_folder_without_notebooks_proves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="holds no notebook"):
        execute_notebooks(tmp_path, width=1)
