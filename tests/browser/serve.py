"""A folder as a server on this machine gives it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


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


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Yield the address of a folder, with a slash at its end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
