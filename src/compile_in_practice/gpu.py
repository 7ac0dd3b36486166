"""`python -m compile_in_practice.gpu`: record the GPU gallery here, and build it as a site.

It needs a CUDA machine with torch; the site needs the project's other requirements too.
`nox -s gpu` calls it. Experiments that are recorded whole are kept, cut ones go on.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from importlib import util
from pathlib import Path
from typing import Any

from compile_in_practice import experiment as experiments, machine, recording
from compile_in_practice.record import RECORDS, ROOT
from compile_in_practice.replay import build_torch
from compile_in_practice.values import Group, Scope, substitute

SCRIPTS = ROOT / "gallery" / "gpu"
FIRST = "ceilings"  # the others take their yardstick from it
NEEDS = {"cpu_fusion": "a CPU record: nox -s record", "two_gpus": "two GPUs or more"}
SITE_NEEDS = ("sphinx", "sphinx_gallery", "furo", "myst_nb", "matplotlib", "jsonschema")


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 when all that was asked for is recorded, and the site is built."""
    options = _parser().parse_args(arguments)
    facts = machine.machine()
    n_gpus = facts["gpu"]["count"] if facts["gpu"] else 0
    if not n_gpus and not options.trying:
        _say("torch finds no CUDA device here: nothing was recorded.")
        _say("Try the scripts at tiny sizes with --try, or read the records: nox -s docs")
        return 2
    status = 0
    for name in options.experiment or _all(n_gpus):
        if not options.again and _whole(name, facts, options):
            _say(f"{name}: recorded whole, kept (--again records it anew)")
            continue
        status |= recording.main(_command(name, options))
    missing = [name for name in SITE_NEEDS if util.find_spec(name) is None]
    if missing:
        _say(f"the site is not built: {', '.join(missing)} not installed; see pyproject.toml")
        return status
    return status | build_site(options.site, options.out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m compile_in_practice.gpu", description=__doc__)
    parser.add_argument("experiment", nargs="*", help="names of scripts; all by default")
    parser.add_argument("--out", type=Path, default=RECORDS, help="folder of the records")
    parser.add_argument("--site", type=Path, default=ROOT / "results" / "gpu", help="its folder")
    parser.add_argument("--again", action="store_true", help="record anew what is recorded whole")
    parser.add_argument("--limit-s", type=float, default=3600.0, help="seconds an experiment")
    parser.add_argument(
        "--try", dest="trying", action="store_true", help="tiny sizes, also without a GPU"
    )
    return parser


def _all(n_gpus: int) -> list[str]:
    """Names of the scripts that this machine can record; says which it leaves out."""
    left_out = [name for name in NEEDS if name != "two_gpus" or n_gpus < 2]  # noqa: PLR2004
    for name in left_out:
        _say(f"{name}: left out, it needs {NEEDS[name]}")
    names = sorted(path.stem for path in SCRIPTS.glob("*.py") if path.stem not in left_out)
    return sorted(names, key=lambda name: name != FIRST)


def _command(name: str, options: argparse.Namespace) -> list[str]:
    limit = ["--limit-s", str(options.limit_s)]
    how = ["--keep", "process"] if options.again else ["--resume"]
    return ["--experiment", name, "--out", str(options.out), *limit, *how] + (
        ["--try"] if options.trying else []
    )


def _whole(name: str, facts: dict[str, Any], options: argparse.Namespace) -> bool:
    """Whether this machine and release have a complete record of the script as it stands."""
    path = options.out / f"{name}--{machine.slug(facts)}--torch-{facts['torch']}.json"
    if not path.exists():
        return False
    data = json.loads(path.read_text(encoding="utf-8"))
    roots = (*experiments.ROOTS, "TRY_CASES") if options.trying else experiments.ROOTS
    script = experiments.load(recording.script_path(name), roots)
    return bool(data["complete"] and data["hash"] == script.hash)


def build_site(folder: Path, records: Path = RECORDS) -> int:
    """Exit status of Sphinx, which builds the gallery alone in `folder`/html.

    Where a verdict does not hold for this machine's records, the page says so.
    """
    # The site's requirements, which recording does without.
    from sphinx.application import Sphinx  # noqa: PLC0415
    from sphinx.util.docutils import docutils_namespace  # noqa: PLC0415

    from compile_in_practice.recorded import record_values  # noqa: PLC0415

    values, failures = record_values(records, build_torch() or "0")
    for failure in failures:
        _say(str(failure))
    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    (source / "_gallery" / "gpu").mkdir(parents=True)
    scope = Scope(names=Group.of({"records": values}))
    for path in SCRIPTS.glob("*.*"):
        text = path.read_text(encoding="utf-8")
        text = _told(text, scope, path.name) if path.suffix == ".py" else text
        (source / "_gallery" / "gpu" / path.name).write_text(text, encoding="utf-8")
    (source / "index.rst").write_text(INDEX, encoding="utf-8")
    with docutils_namespace():
        app = Sphinx(
            source, None, folder / "html", folder / "doctrees", "html", confoverrides=_settings()
        )
        app.build(force_all=True)
    if app.statuscode == 0 and not failures:
        _say(f"the gallery: {folder / 'html' / 'index.html'}")
    return int(bool(app.statuscode or failures))


INDEX = """\
The GPU gallery
===============

.. toctree::
   :maxdepth: 2

   gpu/index
"""


def _told(text: str, scope: Scope, name: str) -> str:
    """The script with its values put in; what does not hold on this machine is marked."""
    told, failures = substitute(text, scope, file=name, line=1, rst=True)
    for failure in failures:
        _say(str(failure))
    told = re.sub(r":verdict:`([^`<]*?)\s*<[^`]*`", r"(not so in these records: \1)", told)
    return re.sub(r":value:`[^`]*`", "(not recorded)", told)


def _settings() -> dict[str, Any]:
    """Sphinx's settings of the main site, as far as the gallery alone needs them."""
    names: dict[str, Any] = {}
    conf = ROOT / "docs" / "conf.py"
    exec(compile(conf.read_text(encoding="utf-8"), str(conf), "exec"), names)  # noqa: S102  our own
    gallery = {
        **names["sphinx_gallery_conf"],
        "examples_dirs": ["_gallery/gpu"],
        "gallery_dirs": ["gpu"],
    }
    same = ("html_theme", "html_theme_options", "html_css_files", "pygments_style")
    return {
        **{name: names[name] for name in same},
        "project": f"{names['project']}: GPU gallery",
        "extensions": ["sphinx_gallery.gen_gallery"],
        "exclude_patterns": ["_gallery", "**sg_execution_times.rst"],
        "suppress_warnings": ["config.cache"],
        "html_static_path": [str(ROOT / "docs" / "_static")],
        "sphinx_gallery_conf": gallery,
    }


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    raise SystemExit(main())
