"""A name server on loopback that answers for some names, refuses some, and is silent about all others."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from threading import Thread
from typing import Self

TYPE_A = 1
RESPONSE = 0x8180
"""Flags of a response: recursion desired and available."""
SERVFAIL, NXDOMAIN = 2, 3
TTL_SECONDS = 60


class NameServer:
    """Names with their IPv4 addresses, or with the error code of their response; it runs while the context lasts."""

    def __init__(self, names: Mapping[str, str | int]) -> None:
        self.names = dict(names)
        self.asked: list[str] = []
        """Names of all questions for an IPv4 address."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._thread = Thread(target=self._serve, name="name server", daemon=True)

    @property
    def address(self) -> str:
        """Address and port, as in TARANTULA_NAME_SERVERS."""
        return f"127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            query, sender = self._socket.recvfrom(4096)
            if not query:
                return
            if (response := self._response(query)) is not None:
                self._socket.sendto(response, sender)

    def _response(self, query: bytes) -> bytes | None:
        name, end = _question(query)
        kind = struct.unpack_from("!H", query, end)[0]
        if kind == TYPE_A:
            self.asked.append(name)
        known = self.names.get(name)
        if known is None:
            return None
        code = known if isinstance(known, int) else 0
        answer = b""
        if isinstance(known, str) and kind == TYPE_A:
            # RFC 1035, 4.1.4: the name is a pointer to the question.
            answer = struct.pack("!HHHIH", 0xC00C, TYPE_A, 1, TTL_SECONDS, 4) + socket.inet_aton(known)
        head = query[:2] + struct.pack("!HHHHH", RESPONSE | code, 1, bool(answer), 0, 0)
        return head + query[12 : end + 4] + answer


def _question(query: bytes) -> tuple[str, int]:
    """Return the name of the first question, and the offset after it."""
    labels, at = [], 12
    while size := query[at]:
        labels.append(query[at + 1 : at + 1 + size].decode("ascii").lower())
        at += 1 + size
    return ".".join(labels), at + 1
