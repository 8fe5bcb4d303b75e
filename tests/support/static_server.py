"""A static file server on loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def serving_files(folder: Path, address: str = "127.0.0.1") -> Iterator[str]:
    """Serve a folder; yields the URL of its root."""
    with ThreadingHTTPServer((address, 0), partial(_Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{address}:{server.server_address[1]}/"
        server.shutdown()
