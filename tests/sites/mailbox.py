"""A loopback mail server that stores or refuses messages."""

from __future__ import annotations

import socketserver
import threading
from email import message_from_bytes
from email.message import Message
from email.policy import default
from typing import Self


class Mailbox:
    """Accepts mail while the context lasts; a refusing one rejects the recipient."""

    def __init__(self, refuses: bool = False) -> None:
        self.received: list[Message] = []
        mailbox = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self._say("220 mailbox")
                for line in self.rfile:
                    command = line.strip().upper()
                    if command.startswith(b"RCPT") and refuses:
                        self._say("550 nobody here")
                    elif command == b"DATA":
                        self._say("354 go on")
                        lines = list(iter(self.rfile.readline, b".\r\n"))
                        mailbox.received.append(message_from_bytes(b"".join(lines), policy=default))
                        self._say("250 taken")
                    elif command == b"QUIT":
                        self._say("221 bye")
                        return
                    else:
                        self._say("250 yes")

            def _say(self, words: str) -> None:
                self.wfile.write(words.encode() + b"\r\n")

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def address(self) -> str:
        """Its Apprise address."""
        return f"mailto://127.0.0.1:{self._server.server_address[1]}/?from=alerts@example.org&to=ana@example.org"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
