"""A release gives the same values again: with one worker, and in another order."""

import re
import shutil

from tests.run.conftest import Site


def test_values_do_not_depend_on_workers_or_on_the_order_of_fences(copy: Site) -> None:
    before = {item.name: item.values for item in copy.build(width=2).measured}
    shutil.rmtree(copy.root / "results")
    page = (copy.docs / "limits.md").read_text(encoding="utf-8")
    head, *fences = re.split(r"(?m)^(?=```\{code-cell\})", page)
    copy.write("docs/limits.md", head + "\n".join(reversed(fences)))
    report = copy.build(width=1)
    assert (report.failures, report.n_reused) == ([], 0)
    assert {item.name: item.values for item in report.measured} == before
