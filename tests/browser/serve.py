"""A folder as a server on this machine gives it."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAINTED_S = 0.05  # what has arrived by then is on the screen


class Quiet(SimpleHTTPRequestHandler):
    """Logs no request, and answers with the site's own page where there is none."""

    def log_message(self, *_: object) -> None:
        pass

    def send_error(self, code: int, *args: str | None) -> None:
        lost = Path(self.directory, "404.html")
        if code != HTTPStatus.NOT_FOUND or not lost.exists():
            return super().send_error(code, *args)
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(lost.read_bytes())
        return None


class Slow(Quiet):
    """Sends a page in parts, as a slow line does; the rest at once."""

    def __init__(self, *given: Any, parts: Callable[[str], list[str]], **named: Any) -> None:
        self.parts = parts
        super().__init__(*given, **named)

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if path.suffix != ".html":
            return super().do_GET()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        for part in self.parts(path.read_text(encoding="utf-8")):
            self.wfile.write(part.encode())
            self.wfile.flush()
            time.sleep(PAINTED_S)
        return None


@contextmanager
def serving(folder: Path, parts: Callable[[str], list[str]] | None = None) -> Iterator[str]:
    """Yield the address of a folder, with a slash at its end; a page comes in `parts`."""
    handler = partial(Slow, parts=parts) if parts else Quiet
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
