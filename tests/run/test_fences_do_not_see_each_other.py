import json
from collections.abc import Callable
from typing import Any

import pytest

from compile_in_practice.report import Report
from tests.run.conftest import Site


@pytest.fixture(scope="module", params=[1, 2], ids=["one at a time", "two at a time"])
def report(request: pytest.FixtureRequest, new_site: Callable[[str], Site]) -> Report:
    return new_site("isolation").build(width=request.param)


def values(report: Report, name: str) -> dict[str, Any]:
    (found,) = (item.values for item in report.measured if item.name == name)
    return found


def test_every_page_passes_and_every_fence_ran(report: Report) -> None:
    assert report.failures == []
    assert (report.n_pages, report.n_fences, report.n_reused) == (3, 6, 0)


@pytest.mark.parametrize("reader", ["a_reader.before", "leaks.beside", "z_reader.after"])
def test_a_fence_sees_nothing_that_another_fence_or_page_left(report: Report, reader: str) -> None:
    assert values(report, reader)["state"] == {
        "limit": 8,
        "dtype": "torch.float32",
        "device": "cpu",
        "grad": True,
        "seeded": False,
        "drawn": False,
        "variable": False,
        "level": False,
        "handlers": 0,
        "filters": False,
        "frames": {},
        "patched": False,
        "path": False,
        "files": [],
        "temporary": [],
        "names": False,
    }


def test_a_fence_that_continues_another_sees_all_that_it_left(report: Report) -> None:
    state = values(report, "leaks.continued")["state"]
    assert state == {
        "limit": 3,
        "dtype": "torch.float64",
        "device": "meta",
        "grad": False,
        "seeded": True,
        "drawn": True,
        "variable": True,
        "level": True,
        "handlers": 1,
        "filters": True,
        "frames": {"total": 1, "ok": 1},
        "patched": True,
        "path": True,
        "files": ["left.txt"],
        "temporary": ["left.txt"],
        "names": True,
    }


def test_what_each_cell_printed_stands_under_its_own_fence(report: Report) -> None:
    page = json.loads((report.results / "pages" / "leaks.ipynb").read_text(encoding="utf-8"))
    printed = {
        cell["metadata"]["name"]: [out["text"] for out in cell["outputs"]]
        for cell in page["cells"]
        if cell["cell_type"] == "code"
    }
    assert printed == {"leak": [["left\n"]], "beside": [], "continued": [["seen\n"]], "last": []}
