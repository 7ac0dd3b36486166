"""``python -m compile_in_practice``: run the pages, write a ledger, record fences."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from compile_in_practice import (
    anchors,
    budget,
    downloads,
    drift,
    drift_report,
    ledger,
    links,
    tlparse,
    variant,
)
from compile_in_practice.bench import bench
from compile_in_practice.drift_formats import state, terminal
from compile_in_practice.failure import BuildError, Failure, in_order
from compile_in_practice.jupyter import execute_notebooks
from compile_in_practice.plain import check_python, run_plain
from compile_in_practice.project import Project, load_project
from compile_in_practice.reading import page_paths, read_page
from compile_in_practice.record import RecordError
from compile_in_practice.record_fences import record_fences
from compile_in_practice.run import build
from compile_in_practice.store import write_json

FAILED, COULD_NOT_RUN, INTERRUPTED = 1, 2, 130


def main(argv: list[str] | None = None) -> int:
    """Do what the command says; return 0, 1 for failures, 2 where it could not run."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.act(arguments))
    except (BuildError, RecordError) as error:
        print(error, file=sys.stderr)
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        print("interrupted; nothing is left running", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="compile_in_practice", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the project's folder")
    commands = parser.add_subparsers(required=True)

    def command(name: str, act: object, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(act=act)
        sub.add_argument("--torch", help="the torch release that must be installed")
        return sub

    run = command("run", _run, "execute fences and labs, compare with the ledger")
    run.add_argument("--width", type=int, help="how many fences at once")
    docs = command("docs", _docs, "run, then build the site with Sphinx")
    docs.add_argument("--width", type=int, help="how many fences at once")
    docs.add_argument("--new-addresses", action="store_true", help=f"add them to {anchors.LIST}")
    accept = command("ledger", _ledger, "write this run's values as the release's ledger")
    accept.add_argument("--width", type=int, help="how many fences at once")
    plain = command("plain", _plain, "run each fence as a plain file with torch alone")
    plain.add_argument("--width", type=int, default=2, help="how many at once")
    plain.add_argument("--python", required=True, help="a Python that has torch alone")
    plain.add_argument("--warm", choices=("torch", "all"), help="import it once and fork: faster")
    taken = command("notebooks", _notebooks, "execute the built site's notebooks in Jupyter")
    taken.add_argument("--width", type=int, default=2, help="how many at once")
    command("linkcheck", _linkcheck, "ask the network for each outside link of the pages")
    other = command("drift", _drift, "run, and say what this torch does otherwise than the ledger")
    other.add_argument("--width", type=int, help="how many fences at once")
    other.add_argument("--label", default="", help="what the report calls this torch")
    other.add_argument(
        "--out", type=Path, help="the file to write; the default is in results/drift"
    )
    other.add_argument("--brief", action="store_true", help="one line; the report has the rest")
    other.add_argument("--accept", action="store_true", help="first write this run's values")
    told = "with the announced defaults, or under Inductor"
    other.add_argument("--variant", choices=variant.NAMES, default="", help=told)
    command("record", _record, "record the fences that need Inductor, on this release")
    timed = command("bench", _bench, "time a run against the floor and stock MyST-NB")
    timed.add_argument("--repeat", type=int, default=3, help="runs of each, for the median")
    return parser


def _run(arguments: argparse.Namespace) -> int:
    report = build(arguments.root, arguments.torch, width=arguments.width)
    print("\n".join(report.lines()))
    print(f"results: {report.results}")
    return FAILED if report.failures else 0


def _docs(arguments: argparse.Namespace) -> int:
    report = build(arguments.root, arguments.torch, width=arguments.width)
    print("\n".join(report.lines()))
    if report.failures:
        return FAILED
    project = load_project(arguments.root)
    tlparse.write_report(project, report.results)
    html = report.results / "html"
    if _sphinx(project, report.results, "html", "-W"):
        return FAILED
    if arguments.new_addresses:  # of this very build: an older site has other ones
        print(*anchors.add_new(html, project.root), sep="\n")
    if failures := _site_failures(project, html):
        print("\n".join(map(str, failures)))
        return FAILED
    print(f"the site: {html / 'index.html'}")
    return 0


def _sphinx(project: Project, results: Path, builder: str, *flags: str) -> int:
    """Render what was run; return Sphinx's status."""
    from sphinx.cmd.build import main as sphinx  # noqa: PLC0415  (a second, only here)

    os.environ["COMPILE_IN_PRACTICE_RESULTS"] = str(results)
    told = ["-n", "--keep-going", "-q", *flags, "-b", builder, "-d", str(results / "doctrees")]
    return sphinx([*told, str(project.docs), str(results / builder)])


def _linkcheck(arguments: argparse.Namespace) -> int:
    """What another site answers says nothing of this one: no build waits for it."""
    report = build(arguments.root, arguments.torch)
    if report.failures:
        print("\n".join(report.lines()))
        return FAILED
    _sphinx(load_project(arguments.root), report.results, "linkcheck")
    failures, n_asked = links.outside(report.results / "linkcheck" / "output.json")
    print("\n".join(map(str, in_order(failures))))
    print(f"{n_asked} links lead outside, {len(failures)} of them nowhere")
    return FAILED if failures or not n_asked else 0


def _site_failures(project: Project, html: Path) -> list[Failure]:
    """What is wrong with a built site; in CI every address must also be listed."""
    vanished, unlisted = anchors.check(html, project.root)
    pages = [read_page(project, path)[0] for path in page_paths(project)]
    if unlisted and not os.environ.get("CI"):
        print(*unlisted, sep="\n")
        unlisted = []
    taken = downloads.check(html, pages)
    return [*budget.check(html), *links.check(html), *taken, *vanished, *unlisted]


def _ledger(arguments: argparse.Namespace) -> int:
    """Write the ledger of the release that is named; a failing page has no values."""
    if arguments.torch is None:
        message = "a ledger is written for a release named explicitly"
        raise BuildError(message, remedy="python -m compile_in_practice ledger --torch 2.15.0")
    name = getattr(arguments, "variant", "")
    report = build(arguments.root, arguments.torch, width=arguments.width, variant=name)
    project = load_project(arguments.root)
    broken = [f for f in report.failures if not _is_ledgers_own(str(f.remedy))]
    if name:  # there a fence may fail, as it asserts what holds without; a lab may not
        broken = [f for f in broken if f.where.startswith("gallery/")]
    if broken:
        print("\n".join(map(str, broken)))
        print(f"no ledger of torch {report.torch} was written; failures: {len(broken)}")
        return FAILED
    measured = [*report.measured, *(report.reached if name else ())]
    other = variant.read_variant(project, name)
    folder = other.ledger(project)
    changes, n_values = ledger.accept(folder, measured, report.torch, report.here, other.changes)
    path = project.shown(folder / f"{report.torch}.json")
    print("\n".join([*changes, f"values changed, new or gone in {path}: {n_values}"]))
    return 0


def _drift(arguments: argparse.Namespace) -> int:
    """Examine this interpreter's torch; the file is for the report of several."""

    def examine() -> dict[str, Any]:
        return drift.examine(
            arguments.root, arguments.torch, label=arguments.label,
            width=arguments.width, variant=arguments.variant,
        )  # fmt: skip

    result = examine()
    if arguments.accept and not result["error"]:
        print(terminal(drift_report.merge([result])))  # what a review needs: old -> new
        _ledger(arguments)
        result = examine()
    folder = load_project(arguments.root).results / "drift"
    write_json(arguments.out or folder / f"{result['label']}.json", result)
    report = drift_report.merge([result])
    print(state(result) if arguments.brief else terminal(report))
    return int(report["status"])


def _is_ledgers_own(remedy: str) -> bool:
    return "nox -s ledger" in remedy


def _plain(arguments: argparse.Namespace) -> int:
    report = build(arguments.root, arguments.torch)
    if report.failures:
        print("\n".join(report.lines()))
        return FAILED
    check_python(arguments.python, report.torch)
    project = load_project(arguments.root)
    pages = [read_page(project, path)[0] for path in page_paths(project)]
    n_ran, failures = run_plain(
        project, pages, report.results, arguments.python,
        width=arguments.width, warm=arguments.warm,
    )  # fmt: skip
    print("\n".join(map(str, in_order(failures))))
    print(f"torch {report.torch}: {n_ran} fences ran as plain files, {len(failures)} differ")
    return FAILED if failures or not n_ran else 0


def _notebooks(arguments: argparse.Namespace) -> int:
    report = build(arguments.root, arguments.torch)
    n_ran, failures = execute_notebooks(report.results / "pages", width=arguments.width)
    print("\n".join(map(str, in_order(failures))))
    print(f"torch {report.torch}: {n_ran} cells ran in Jupyter, {len(failures)} failed or differ")
    return FAILED if failures or report.failures or not n_ran else 0


def _record(arguments: argparse.Namespace) -> int:
    path, n_recorded, failures = record_fences(arguments.root, arguments.torch)
    print("\n".join(map(str, in_order(failures))))
    print(f"{n_recorded} fences recorded in {path}")
    return FAILED if failures else 0


def _bench(arguments: argparse.Namespace) -> int:
    print("\n".join(bench(arguments.root, repeat=arguments.repeat)))
    return 0
