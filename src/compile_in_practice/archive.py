"""The whole site as one .zip that is read from a folder, without a server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONLINE = re.compile(rb"\s*<!-- online -->.*?<!-- /online -->", re.DOTALL)
FOR_SERVERS = {".buildinfo", "404.html", "robots.txt", "sitemap.xml"}
DATE = (1980, 1, 1, 0, 0, 0)  # the same site is the same file


def write_archive(html: Path, target: Path) -> None:
    """Write the site in `html` to `target`, in one folder of its name.

    What stands between `<!-- online -->` marks is left out: links to the .zip itself
    and to other releases, which a folder does not have.
    """
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for path in _files(html, target):
            name = f"{target.stem}/{path.relative_to(html).as_posix()}"
            data = path.read_bytes()
            data = ONLINE.sub(b"", data) if path.suffix == ".html" else data
            info = ZipInfo(name, DATE)
            info.compress_type = ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)


def _files(html: Path, target: Path) -> Iterator[Path]:
    """Yield what a reader of the folder needs."""
    for path in sorted(html.rglob("*")):
        is_other = path.suffix == target.suffix and path.parent == html
        if path.is_file() and path.name not in FOR_SERVERS and not is_other:
            yield path
