"""The named values of each release: written by command, compared in each build."""

import json
from typing import Any

import pytest

from compile_in_practice import ledger
from compile_in_practice.failure import BuildError
from compile_in_practice.ledger import Measured
from compile_in_practice.project import load_project
from compile_in_practice.reading import read_page
from compile_in_practice.record import save_fences
from compile_in_practice.recorded import recorded_digest
from compile_in_practice.report import Report
from tests.run.conftest import FRESH, SETTINGS, TORCH, Site, fence

HERE = {"python": "3.11", "platform": "Linux x86_64"}
ACCEPT = f"nox -s ledger -- {TORCH}"
UNKNOWN = (
    f"the ledger of torch {TORCH} does not know {{}} of the fences and labs as they stand: {ACCEPT}"
)


def counted(n: int, **options: object) -> str:
    values = "{n: n, names: names}"
    code = f'n = {n}\nnames = ["a", "b"]\nassert n == {n}'
    return fence("counted", code, values=values, **options)


def content(site: Site, torch: str = TORCH) -> dict[str, Any]:
    path = site.docs / "ledger" / f"{torch}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def accept(site: Site, *options: str) -> list[str]:
    done = site.command("ledger", "--torch", TORCH, *options, **{FRESH: "1"})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def said(report: Report) -> list[tuple[str, str]]:
    return [(failure.where, failure.what) for failure in report.failures]


@pytest.fixture
def known(site: Site) -> Site:
    """A page with a value that the ledger of this release holds."""
    site.page("page", counted(3))
    accept(site)
    return site


def test_a_ledger_of_no_release_of_the_matrix_is_a_failure(known: Site) -> None:
    invented = known.docs / "ledger/2.99.0.json"
    invented.write_text(json.dumps({**content(known), "torch": "2.99.0"}), encoding="utf-8")
    assert said(known.build()) == [
        ("docs/ledger/2.99.0.json:1", "torch 2.99.0 is no release of the matrix")
    ]


def test_a_command_writes_the_ledger_of_the_release_it_is_told(site: Site) -> None:
    site.page("page", counted(3))
    assert accept(site) == [
        f"values changed, new or gone in docs/ledger/{TORCH}.json: 2",
    ]
    written = content(site)
    source = written["fences"]["page.counted"].pop("source")
    assert len(source) == 16
    assert written == {
        "schema": 1,
        "torch": TORCH,
        "fences": {"page.counted": {"values": {"n": 3, "names": ["a", "b"]}}},
    }
    report = site.build(fresh=True, ci=True)
    assert (report.failures, report.notices) == ([], [])


def test_no_ledger_is_written_without_a_release_or_for_another(site: Site) -> None:
    site.page("page", counted(3))
    for options in ([], ["--torch", "2.0.0"]):
        done = site.command("ledger", *options)
        assert done.returncode == 2
        assert "named explicitly" in done.stderr or "2.0.0 was asked for" in done.stderr
    assert not (site.docs / "ledger").exists()


def test_no_ledger_is_written_while_a_page_fails(known: Site) -> None:
    before = content(known)
    known.page("page", counted(3), fence("broken", "assert 1 == 2"))
    done = known.command("ledger", "--torch", TORCH, **{FRESH: "1"})
    assert done.returncode == 1
    assert "docs/page.md:17: AssertionError" in done.stdout
    assert done.stdout.endswith(f"no ledger of torch {TORCH} was written; failures: 1\n")
    assert content(known) == before


def test_a_changed_value_fails_old_to_new_with_page_and_line(known: Site) -> None:
    known.page("page", counted(4))
    for _ in range(2):  # also when it is repeated unchanged
        report = known.build(fresh=True)
        (failure,) = report.failures
        assert failure.where == "docs/page.md:3"
        assert failure.what == "page.counted.n: 3 -> 4"
        assert failure.details == (
            f"the ledger of torch {TORCH} against this run on torch {TORCH}",
        )
        assert failure.remedy == f"if the page is right as it stands: {ACCEPT}"
    assert known.command("run", **{FRESH: "1"}).returncode == 1


def test_a_changed_value_is_accepted_by_command(known: Site) -> None:
    known.page("page", counted(4))
    assert accept(known) == [
        "  page.counted.n: 3 -> 4",
        f"values changed, new or gone in docs/ledger/{TORCH}.json: 1",
    ]
    assert known.build(fresh=True).failures == []


@pytest.mark.parametrize("others", [["2.6.0", "2.7.0"], ["2.10.0", "2.9.1"]])
def test_an_unknown_release_is_compared_with_the_newest_known(
    known: Site, others: list[str]
) -> None:
    path = known.docs / "ledger" / f"{TORCH}.json"
    text = path.read_text(encoding="utf-8")
    path.unlink()
    known.write("pyproject.toml", SETTINGS.replace('"2.7.0", ', f"{others[0]!r}, {others[1]!r}, "))
    newest, values = max(others, key=ledger.Version), {}
    for release in others:
        values[release] = 7 if release == newest else 9
        written = text.replace(f'"{TORCH}"', f'"{release}"')
        known.write(
            f"docs/ledger/{release}.json", written.replace('"n": 3', f'"n": {values[release]}')
        )
    report = known.build(fresh=True)
    assert report.failures == []
    drift, unknown = report.notices
    assert drift.splitlines()[:2] == [
        "docs/page.md:3: page.counted.n: 7 -> 3",
        f"    the ledger of torch {newest} against this run on torch {TORCH}",
    ]
    assert unknown == UNKNOWN.format(1)


def test_a_fence_that_is_not_recorded_is_a_notice_and_fails_in_ci(known: Site) -> None:
    known.page("page", counted(3), fence("compiled", "n = 1\nassert n", record="inductor"))
    report = known.build(fresh=True)
    told = "docs/page.md:13: not recorded yet\n    -> nox -s record"
    assert (report.failures, report.notices) == ([], [told])
    assert said(known.build(fresh=True, ci=True)) == [("docs/page.md:13", "not recorded yet")]


def test_what_another_release_recorded_is_a_notice_and_fails_in_ci(known: Site) -> None:
    compiled = fence("compiled", "n = 1\nassert n", record="inductor")
    path = known.page("page", counted(3), compiled)
    project = load_project(known.root)
    digest = recorded_digest(read_page(project, path)[0].fences[1])
    entry = {"page": "page", "name": "compiled", "stdout": "", "values": {}, "n_asserts": 1}

    def record(release: str) -> None:
        fences = {digest: entry}
        save_fences(release, fences, compiler="g++", python="3.11", folder=project.records)

    record("2.7.0")
    what = f"not recorded on torch {TORCH}: it shows what torch 2.7.0 gave"
    report = known.build(fresh=True)
    told = f"docs/page.md:13: {what}\n    -> nox -s record"
    assert (report.failures, report.notices) == ([], [told])
    assert said(known.build(fresh=True, ci=True)) == [("docs/page.md:13", what)]
    record(TORCH)
    report = known.build(fresh=True, ci=True)
    assert (report.failures, report.notices) == ([], [])


def test_a_value_that_the_ledger_lacks_is_a_notice(known: Site) -> None:
    known.page("page", counted(3), fence("later", "m = 1\nassert m", values="{m: m}"))
    report = known.build(fresh=True)
    assert (report.failures, report.notices) == ([], [UNKNOWN.format(1)])


def test_a_value_that_the_ledger_lacks_fails_in_ci_on_reference_and_current(
    known: Site,
) -> None:
    known.page("page", counted(3), fence("later", "m = 1\nassert m", values="{m: m}"))
    report = known.build(fresh=True, ci=True)
    assert said(report) == [
        ("docs/page.md:13", f"page.later is not in the ledger of torch {TORCH}"),
        ("docs/page.md:13", f"page.later.m is not in the ledger of torch {TORCH}"),
    ]


def test_a_fence_of_other_code_is_not_the_one_in_the_ledger(known: Site) -> None:
    path = known.docs / "ledger" / f"{TORCH}.json"
    other = path.with_name("2.7.0.json")
    other.write_text(path.read_text(encoding="utf-8").replace(TORCH, "2.7.0"), encoding="utf-8")
    known.page("page", counted(3) + "\n<!-- the code alone counts -->\n")
    assert known.build(fresh=True, ci=True).notices == []
    known.page("page", counted(3).replace("assert", "assert True\nassert"))
    report = known.build(fresh=True, ci=True)
    assert [what for _, what in said(report)] == [
        f"the code of page.counted is not in the ledger of torch {TORCH}"
    ]
    (notice,) = report.notices
    assert notice.startswith("docs/ledger/2.7.0.json:1: page.counted had other code")


def test_ci_fails_when_reference_or_current_has_no_ledger(site: Site) -> None:
    site.page("page", counted(3))
    report = site.build(fresh=True, ci=True)
    assert said(report) == [
        ("docs/page.md:3", f"page.counted is not in the ledger of torch {TORCH}")
    ]


def test_on_other_releases_ci_only_tells(known: Site) -> None:
    settings = known.root / "pyproject.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace(f'current = "{TORCH}"', 'current = "2.7.0"'), encoding="utf-8")
    (known.docs / "ledger" / f"{TORCH}.json").unlink()
    report = known.build(fresh=True, ci=True)
    assert (report.failures, report.notices) == ([], [UNKNOWN.format(1)])


def test_what_is_on_no_page_any_more_is_stale(known: Site) -> None:
    known.page("page", counted(3).replace("{n: n, names: names}", "{n: n}"))
    assert said(known.build(fresh=True)) == [
        (f"docs/ledger/{TORCH}.json:1", "page.counted.names is on no page")
    ]
    known.page("page", fence("other", "assert 1 + 1 == 2"))
    assert said(known.build(fresh=True)) == [
        (f"docs/ledger/{TORCH}.json:1", "page.counted is on no page")
    ]
    assert accept(known)[:2] == ["- page.counted.n: 3", "- page.counted.names: ['a', 'b']"]
    assert known.build(fresh=True).failures == []


def test_a_page_that_fails_does_not_make_its_values_stale(known: Site) -> None:
    known.page("page", counted(3).replace("assert n == 3", "assert n == 4"))
    assert said(known.build(fresh=True)) == [("docs/page.md:10", "AssertionError")]
    known.page("page", counted(3).replace("names = [", "names = ["[:-1]))
    found = said(known.build(fresh=True))  # a fence that cannot be read has its values yet
    assert found
    assert not any(what.endswith("is on no page") for _, what in found)


def test_a_fence_that_fails_does_not_hide_what_is_on_no_page(known: Site) -> None:
    known.page("page", fence("other", "assert 1 == 2"))
    assert said(known.build(fresh=True)) == [
        (f"docs/ledger/{TORCH}.json:1", "page.counted is on no page"),
        ("docs/page.md:7", "AssertionError"),
    ]


def test_a_value_that_varies_is_kept_for_each_python(known: Site) -> None:
    known.page("page", counted(3, varies="{n: [python]}"))
    python = known.build(fresh=True).here["python"]
    accept(known)
    path = known.docs / "ledger" / f"{TORCH}.json"
    assert content(known)["fences"]["page.counted"]["values"]["n"] == {
        "varies": ["python"],
        "by": {python: 3},
    }
    path.write_text(path.read_text(encoding="utf-8").replace(f'"{python}": 3', '"3.99": 5'))
    report = known.build(fresh=True)
    assert (report.failures, report.notices) == ([], [UNKNOWN.format(1)])
    accept(known)
    assert content(known)["fences"]["page.counted"]["values"]["n"]["by"] == {"3.99": 5, python: 3}
    assert known.build(fresh=True, ci=True).failures == []


def test_a_page_says_what_other_releases_measured(known: Site) -> None:
    path = known.docs / "ledger" / f"{TORCH}.json"
    text = path.read_text(encoding="utf-8")
    for release, n in (("2.6.0", 5), ("2.7.0", 5)):
        other = text.replace(f'"{TORCH}"', f'"{release}"').replace('"n": 3', f'"n": {n}')
        known.write(f"docs/ledger/{release}.json", other)
    report = known.build(fresh=True)
    page = json.loads((report.results / "pages" / "page.ipynb").read_text(encoding="utf-8"))
    assert "Elsewhere: `n` is 5 on torch 2.6.0 and 2.7.0." in page["cells"][2]["source"]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"schema": 1, "torch": "2.0.0", "fences": {}}', '{"schema": 2}']
)
def test_a_damaged_ledger_ends_the_build(known: Site, text: str) -> None:
    known.write("docs/ledger/2.7.0.json", text)
    with pytest.raises(BuildError, match=r"no ledger of schema 1 for torch 2\.7\.0") as raised:
        known.build(fresh=True)
    assert raised.value.failure.where == "docs/ledger/2.7.0.json"
    assert known.command("run").returncode == 2


# --- without a build ---------------------------------------------------------------


def measured(n: int, source: str = "s", **varies: tuple[str, ...]) -> Measured:
    return Measured(name="p.f", where="docs/p.md:3", source=source, values={"n": n}, varies=varies)


def entry(n: object, source: str = "s") -> ledger.Ledger:
    return {"p.f": {"source": source, "values": {"n": n}}}


def test_a_late_patch_is_compared_with_the_release_before_it() -> None:
    ledgers = {"2.8.0": entry(1), "2.12.1": entry(1), "2.15.0": entry(1)}
    asked = ("2.15.0", "2.12.2", "2.16.0.dev20261130", "2.7.0")
    assert [ledger.base_of(ledgers, torch) for torch in asked] == [
        "2.15.0", "2.12.1", "2.15.0", "2.15.0",
    ]  # fmt: skip
    assert ledger.base_of({}, "2.8.0") is None


def test_last_held_is_the_newest_release_of_the_same_source() -> None:
    ledgers = {"2.8.0": entry(1), "2.9.1": entry(1), "2.10.0": entry(1, "another")}
    assert ledger.last_held(ledgers, "p.f", "s") == "2.9.1"
    assert ledger.last_held(ledgers, "p.f", "unseen") is None
    assert ledger.last_held(ledgers, "p.g", "s") is None


def test_a_value_stored_for_another_platform_says_nothing_here() -> None:
    by = {"varies": ["python", "platform"], "by": {"3.11|Darwin arm64": 9}}
    assert ledger.stored(entry(by), "p.f", "n", HERE) is ledger.MISSING
    by["by"] = {"3.11|Linux x86_64": 4}
    assert ledger.stored(entry(by), "p.f", "n", HERE) == 4


def test_a_table_shows_what_varies_as_it_is_here_or_not_at_all() -> None:
    by = {"varies": ["python"], "by": {"3.11": 4}}
    assert ledger.resolved(entry(by), HERE) == entry(4)
    assert ledger.resolved(entry(by), {**HERE, "python": "3.13"})["p.f"]["values"] == {}


def test_true_is_told_from_one() -> None:
    found = ledger.compare({TORCH: entry(1)}, [measured(n=True)], TORCH, HERE)
    assert [failure.what for failure in found.failures] == ["p.f.n: 1 -> True"]
