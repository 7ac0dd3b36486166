"""Labs: scripts that sphinx-gallery runs here, and that only replay data."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx_gallery.sorting import (  # type: ignore[import-untyped]
    ExampleTitleSortKey,
)

from compile_in_practice.experiment import load

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

INK: Any = {
    "figure.figsize": (7.2, 3.6),
    "figure.dpi": 110,
    "savefig.transparent": True,
    "font.size": 10.5,
    "svg.hashsalt": "compile-in-practice",
    "svg.fonttype": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


class TitleNumber(ExampleTitleSortKey):  # type: ignore[misc]  # sphinx-gallery is untyped
    """Sorts scripts by the number in their title, so that ten follows nine."""

    def __call__(self, filename: str) -> tuple[int, str]:
        """The number in the title of `filename`, then the title."""
        title: str = super().__call__(filename)
        number = re.search(r"\d+", title)
        return int(number.group()) if number else 0, title


def use_ink(_gallery_conf: dict[str, Any], _fname: str) -> None:
    """Set matplotlib up before each script: no background, text kept as text.

    In the dark theme the style sheet inverts the lightness of a figure.
    """
    import matplotlib as mpl  # noqa: PLC0415  # only a site with labs needs it

    mpl.use("agg")
    mpl.rcdefaults()
    mpl.rcParams.update(INK)


def svg(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """The rst of the figures of one block, saved as SVG."""
    from sphinx_gallery.scrapers import (  # type: ignore[import-untyped]  # noqa: PLC0415  # as above
        matplotlib_scraper,
    )

    metadata = {"Date": None}
    text: str = matplotlib_scraper(block, block_vars, gallery_conf, format="svg", metadata=metadata)
    return text


def redraw_changed(app: Sphinx, config: Config) -> None:
    """Forget the drawing of each lab whose data has changed since it was drawn.

    sphinx-gallery looks at the script alone, and fails on a folder that is absent.
    """
    results: Path = app.cip_results  # type: ignore[attr-defined]
    root = Path(app.confdir).parent
    conf = config.sphinx_gallery_conf
    present = [path for path in conf["examples_dirs"] if (app.srcdir / path).is_dir()]
    conf["gallery_dirs"] = [Path(path).name for path in present]
    conf["examples_dirs"] = present
    for source, target in zip(conf["examples_dirs"], conf["gallery_dirs"], strict=True):
        for script in (app.srcdir / source).glob("*.py"):
            drawn = app.srcdir / target / f"{script.name}.md5"
            mark = app.srcdir / target / f"{script.name}.data"
            code = load(root / "gallery" / Path(source).name / script.name).hash
            data = code + _digest(_data_files(script.stem, results, root / "gallery"))
            if not mark.exists() or mark.read_text(encoding="utf-8") != data:
                drawn.unlink(missing_ok=True)
                mark.parent.mkdir(parents=True, exist_ok=True)
                mark.write_text(data, encoding="utf-8")


def _data_files(stem: str, results: Path, gallery: Path) -> list[Path]:
    """What a script may replay: the run's data and the committed records."""
    ours = (results / "labs").rglob(f"{stem}*.json")
    return sorted([*ours, *(gallery / "records").rglob("*.json")])


def _digest(files: list[Path]) -> str:
    """One hash over the files, names included."""
    total = hashlib.sha256()
    for path in files:
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()
