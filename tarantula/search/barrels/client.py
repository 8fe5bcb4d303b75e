"""Client of a gateway, for processes without an index of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Lock
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.search.barrels.signatures import SIGNATURE_HEADER, RequestSigner, SearchKeys, SignatureRefused
from tarantula.search.results import CompletionRequest, Completions, SearchRequest, SearchResults

ANSWER_TIMEOUT_SECONDS = 20.0
"""Seconds to wait for an answer; longer than a gateway tries its barrels."""
MOST_IDLE_CONNECTIONS = 8
LONGEST_PREFIX = 1_000
"""Longest prefix that is sent for completion, in characters."""

Answer = TypeVar("Answer", SearchResults, Completions)


class GatewayClient:
    """Searches through a gateway; same interface as `SearchFinder`, and thread-safe."""

    def __init__(self, address: str, keys: SearchKeys | None = None) -> None:
        try:
            parts = urlsplit(address)
            is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_valid = False
        if not is_valid:
            raise TarantulaError(
                "{address} is not the address of a gateway. Write it like http://127.0.0.1:7700.", address=address
            )
        self._address = address.rstrip("/")
        self._connection_class = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._server = parts.netloc
        self._path = parts.path.rstrip("/")
        self._lock = Lock()
        self._idle: list[HTTPConnection] = []
        self._signer = RequestSigner(keys) if keys is not None else None

    def find(self, request: SearchRequest) -> SearchResults:
        """Return a page of search results."""
        return self._answer("/find", request, SearchResults)

    def complete(self, prefix: str) -> list[str]:
        """Return completions of a query."""
        return self._answer("/complete", CompletionRequest(prefix=prefix[:LONGEST_PREFIX]), Completions).completions

    __call__ = find

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            while self._idle:
                self._idle.pop().close()

    def _answer(self, path: str, request: BaseModel, kind: type[Answer]) -> Answer:
        status, body = self._signed_post(path, request.model_dump_json().encode())
        try:
            if status == HTTPStatus.OK:
                return kind.model_validate_json(body)
            message = str(json.loads(body)["error"])
        except (ValidationError, ValueError, KeyError, TypeError) as error:
            raise TarantulaError(
                "The server at {address} is not a gateway of this version.", address=self._address
            ) from error
        raise ConflictError(message) if status == HTTPStatus.SERVICE_UNAVAILABLE else TarantulaError(message)

    def _signed_post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Send a request, a second time if the clock of the gateway differs; return the status and the body."""
        if self._signer is None:
            return self._post(path, body, "")[:2]
        for _ in range(2):
            signature = self._signer.sign(self._address, path, body)
            status, answer, header = self._post(path, body, signature.header if signature else "")
            try:
                if self._signer.verify(self._address, signature, header, status, answer):
                    break
            except SignatureRefused as error:
                raise TarantulaError(str(error)) from error
        return status, answer

    def _post(self, path: str, body: bytes, signature: str) -> tuple[int, bytes, str | None]:
        try:
            # An idle connection may have been closed by the gateway; repeating the request is safe.
            while (idle := self._idle_connection()) is not None:
                with suppress(ConnectionError, HTTPException):
                    return self._exchange(idle, path, body, signature)
            fresh = self._connection_class(self._server, timeout=ANSWER_TIMEOUT_SECONDS)
            return self._exchange(fresh, path, body, signature)
        except (OSError, HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise ConflictError(
                "The gateway at {address} does not answer ({reason}). Start it with `tarantula gateway`.",
                address=self._address,
                reason=reason,
            ) from error

    def _exchange(
        self, connection: HTTPConnection, path: str, body: bytes, signature: str
    ) -> tuple[int, bytes, str | None]:
        headers = {"Content-Type": "application/json", **({SIGNATURE_HEADER: signature} if signature else {})}
        with _closed_on_error(connection):
            connection.request("POST", f"{self._path}{path}", body, headers)
            answer = connection.getresponse()
            status, content = answer.status, answer.read()
        with self._lock:
            if not answer.will_close and len(self._idle) < MOST_IDLE_CONNECTIONS:
                self._idle.append(connection)
            else:
                connection.close()
        return status, content, answer.getheader(SIGNATURE_HEADER)

    def _idle_connection(self) -> HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None


@contextmanager
def _closed_on_error(connection: HTTPConnection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise
