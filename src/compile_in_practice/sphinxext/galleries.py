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
from compile_in_practice.figures import MARKERS

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

ALTERNATIVE = re.compile(r"(:alt: )[^\n]*")
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
    import matplotlib.pyplot as plt  # noqa: PLC0415  # only a site with labs needs it
    from sphinx_gallery.scrapers import (  # type: ignore[import-untyped]  # noqa: PLC0415  # as above
        matplotlib_scraper,
    )

    told = iter([in_words(plt.figure(number)) for number in plt.get_fignums()])
    metadata = {"Date": None}
    text: str = matplotlib_scraper(block, block_vars, gallery_conf, format="svg", metadata=metadata)
    return ALTERNATIVE.sub(lambda match: match[1] + next(told), text)


def in_words(figure: Any) -> str:
    """Return what a figure shows: its axes, and each bar and line with its numbers."""
    return " ".join(_axes_in_words(axes) for axes in figure.axes)


def _axes_in_words(axes: Any) -> str:
    heads = (axes.get_title(), axes.get_ylabel(), axes.get_xlabel())
    head = "; ".join(" ".join(one.split()) for one in heads if one.strip())
    parts = [_bars_in_words(axes, bars) for bars in axes.containers if hasattr(bars, "patches")]
    parts += [_line_in_words(axes, line) for line in axes.lines if len(line.get_xdata()) > 1]
    return f"{head or 'Figure'}: {'; '.join(parts)}."


def _bars_in_words(axes: Any, bars: Any) -> str:
    is_flat = bars.orientation == "horizontal"
    labels = axes.get_yticklabels() if is_flat else axes.get_xticklabels()
    sizes = [bar.get_width() if is_flat else bar.get_height() for bar in bars.patches]
    named = zip([label.get_text() for label in labels], sizes, strict=False)
    text = ", ".join(f"{name} {size:.3g}" for name, size in named)
    return text if bars.get_label().startswith("_") else f"{bars.get_label()}: {text}"


def _line_in_words(axes: Any, line: Any) -> str:
    sign = MARKERS.get(line.get_marker(), "\n")
    names = [one.get_text().strip(sign + " ") for one in axes.texts if sign in one.get_text()]
    label = "" if line.get_label().startswith("_") else line.get_label()
    points = list(zip(line.get_xdata(), line.get_ydata(), strict=True))
    (first, start), (last, end) = points[0], points[-1]
    name = label or next(iter(names), "a line")
    return f"{name} from {float(start):.3g} at {first:.6g} to {float(end):.3g} at {last:.6g}"


def redraw_changed(app: Sphinx, config: Config) -> None:
    """Forget the drawing of each lab whose data, or our code, has changed since it was drawn.

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
            data = (
                code
                + _digest([Path(__file__), *sorted(Path(__file__).parents[1].glob("*.py"))])
                + _digest(_data_files(script.stem, results, root / "gallery"))
            )
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
