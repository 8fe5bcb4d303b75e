"""A loopback server that records JSON notifications."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Listener:
    """Records notifications while the context lasts, and responds with a status code."""

    def __init__(self, status: int = 200) -> None:
        self.heard: list[dict[str, Any]] = []
        self.status = status
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                listener.heard.append(json.loads(body))
                self.send_response(listener.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def address(self) -> str:
        """Its Apprise address."""
        return f"json://127.0.0.1:{self._server.server_port}/hear"

    def titles(self) -> list[str]:
        """Return the titles of the recorded notifications."""
        return [message["title"] for message in self.heard]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
