"""The releases of pyproject.toml for a workflow, and the published folder of each.

Run by the Python of any machine: it needs the standard library alone.
"""

import argparse
import json
import shutil
import tomllib
from pathlib import Path

FORWARD = """\
<!doctype html>
<meta charset="utf-8">
<title>torch.compile in Practice</title>
<link rel="canonical" href="{0}/">
<meta http-equiv="refresh" content="0; url={0}/index.html">
<a href="{0}/index.html">torch.compile in Practice on torch {0}</a>
"""


def main() -> None:
    """Print the releases as outputs of a step, or arrange the sites of all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--assemble", type=Path, help="a folder that holds site-<release> folders")
    folder = parser.parse_args().assemble
    table = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    settings = table["tool"]["compile_in_practice"]
    if folder is None:
        print(f"releases={json.dumps(settings['releases'])}")
        print(f"current={settings['current']}")
        return
    for release in settings["releases"]:
        (folder / f"site-{release}").rename(folder / release)
    for name in ("404.html", "sitemap.xml"):  # a server takes them from the root alone
        shutil.copyfile(folder / settings["current"] / name, folder / name)
    text = FORWARD.format(settings["current"])
    (folder / "index.html").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
