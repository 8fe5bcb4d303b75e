"""Signatures of requests and answers between clients, gateways and barrels, which share a key.

A request has the header ``Tarantula-Signature: KEY TIME NONCE MAC``, its answer ``Tarantula-Signature: TIME MAC``. The
MAC is an HMAC-SHA256 over the time, the nonce of the request, the path or the status, and the body. A request is
accepted once, and within some seconds of its time. A server whose clock differs says so in a signed answer; the client
then signs again with the server's time, so that a clock that is wrong, or set, only costs one more request.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from time import monotonic, time
from typing import NamedTuple, Protocol
from uuid import uuid4

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message

SIGNATURE_HEADER = "tarantula-signature"
TIME_TOLERANCE_SECONDS = 30
"""Difference between the time of a request and the server's clock."""
KEY_CHECK_SECONDS = 1.0
"""Interval between two checks whether the key file was changed."""
SHORTEST_KEY = 32
"""Characters of a key."""
REQUEST, ANSWER = b"request", b"answer"


class SignatureRefused(Exception):
    """A request or an answer without a valid signature."""


class SearchKeySettings(Protocol):
    """Settings of an installation: `tarantula.core.config.Config`."""

    search_key: str

    @property
    def search_key_path(self) -> Path: ...

    def make_home(self) -> object: ...


class SearchKeys:
    """The keys of an installation: the first one signs, all of them verify. A file that has changed is read again."""

    def __init__(self, installation: SearchKeySettings, *, create: bool = False) -> None:
        self.path = installation.search_key_path
        self._given = installation.search_key
        self._keys: dict[str, bytes] = {}
        self._stamp: tuple[int, int] | None = None
        self._checked_at = -KEY_CHECK_SECONDS
        if create and not self._given:
            installation.make_home()
            self._create()
        self._keys = self._derive(self._given.replace(";", " ").split()) if self._given else self.load()

    def load(self) -> dict[str, bytes]:
        """Return the keys; read the file again if it has changed."""
        if self._given or monotonic() < self._checked_at + KEY_CHECK_SECONDS:
            return self._keys
        self._checked_at = monotonic()
        try:
            status = self.path.stat()
            if (stamp := (status.st_mtime_ns, status.st_ino)) != self._stamp:
                self._keys, self._stamp = self._derive(self.path.read_text(encoding="utf-8").split()), stamp
        except FileNotFoundError:
            # A process keeps the keys that it has: the file may just be replaced.
            self._stamp = None
        except (OSError, UnicodeDecodeError) as error:
            raise TarantulaError(
                "The key file {path} cannot be read ({error}). Correct its permissions, or restore it.",
                path=self.path,
                error=getattr(error, "strerror", None) or "it is not text",
            ) from error
        return self._keys

    @property
    def first(self) -> tuple[str, bytes] | None:
        """Id and bytes of the key that signs; ``None`` if there is no key."""
        return next(iter(self.load().items()), None)

    def _derive(self, words: list[str]) -> dict[str, bytes]:
        keys = {}
        for word in words:
            if len(word) < SHORTEST_KEY:
                raise TarantulaError(
                    "A key in {source} has {length} characters; it needs at least {minimum}, as "
                    "`openssl rand -base64 32` makes them.",
                    source="TARANTULA_SEARCH_KEY" if self._given else self.path,
                    length=len(word),
                    minimum=SHORTEST_KEY,
                )
            key = sha256(b"tarantula search key " + word.encode()).digest()
            keys[sha256(key).hexdigest()[:12]] = key
        return keys

    def _create(self) -> None:
        """Write a key with permissions 0600, unless there is a file; of processes that start at once, one writes it."""
        draft = self.path.with_name(f".{self.path.name}-{uuid4()}")
        try:
            if self.path.exists():
                return
            with open(draft, "x", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(f"{secrets.token_urlsafe(32)}\n")
                file.flush()
                os.fsync(file.fileno())
            os.link(draft, self.path)
        except FileExistsError:
            pass
        except OSError as error:
            raise TarantulaError(
                "The key file {path} cannot be written ({error}). Create its directory, correct its permissions, "
                "or name another with TARANTULA_SEARCH_KEY_FILE.",
                path=self.path,
                error=error.strerror,
            ) from error
        finally:
            draft.unlink(missing_ok=True)


def _mac(key: bytes, *parts: bytes) -> str:
    return hmac.digest(key, b"\n".join(parts), "sha256").hex()


class Signature(NamedTuple):
    """The signature of a request; its parts sign the answer."""

    key: bytes
    nonce: str
    header: str


class RequestSigner:
    """Signs the requests of a client, and verifies the answers; thread-safe."""

    def __init__(self, keys: SearchKeys) -> None:
        self._keys = keys
        self._offsets: dict[str, int] = {}
        """Seconds that the clocks of servers are ahead."""

    def sign(self, server: str, path: str, body: bytes) -> Signature | None:
        """Return the signature of a request; ``None`` without a key."""
        if (first := self._keys.first) is None:
            return None
        name, key = first
        nonce, at = secrets.token_hex(12), str(int(time()) + self._offsets.get(server, 0))
        mac = _mac(key, REQUEST, at.encode(), nonce.encode(), path.encode(), body)
        return Signature(key, nonce, f"{name} {at} {nonce} {mac}")

    def verify(self, server: str, signature: Signature | None, header: str | None, status: int, body: bytes) -> bool:
        """Whether an answer is one to the request; false if it must be signed again, because the clocks differ.

        Raise `SignatureRefused` if the answer is not signed with the key of the request.
        """
        is_error = status >= HTTPStatus.BAD_REQUEST and status != HTTPStatus.UNAUTHORIZED
        if signature is None or (header is None and is_error):
            # An error that is found before the signature is read.
            return True
        at, _, mac = (header or "").partition(" ")
        expected = _mac(signature.key, ANSWER, at.encode(), signature.nonce.encode(), str(status).encode(), body)
        if not (at.isascii() and at.isdigit() and hmac.compare_digest(mac.encode(), expected.encode())):
            raise SignatureRefused(
                Message(
                    "{server} does not have the same key as this process, {path}. Copy the key file from there, "
                    "or set the same TARANTULA_SEARCH_KEY.",
                    server=server,
                    path=self._keys.path,
                )
            )
        if status != HTTPStatus.UNAUTHORIZED:
            return True
        self._offsets[server] = int(at) - int(time())
        return False


UNSIGNED = (
    "The request is not signed. Copy the key file search.key from the home of this server, "
    "or set the same TARANTULA_SEARCH_KEY."
)
OTHER_KEY = (
    "The request is signed with another key. Copy the key file search.key from the home of this server, "
    "or set the same TARANTULA_SEARCH_KEY."
)
WRONG_TIME = "The time of the request differs from this server's clock by more than {seconds} seconds."
REPEATED = "The request was received before."


class RequestVerifier:
    """Verifies the requests to a server, and signs its answers. Belongs to one event loop."""

    def __init__(self, keys: SearchKeys, *, is_required: bool = True) -> None:
        self._keys = keys
        self._is_required = is_required
        self._nonces: set[str] = set()
        self._older_nonces: set[str] = set()
        self._renewed_at = monotonic()

    def verify(self, headers: Mapping[str, str], path: str, body: bytes) -> tuple[Signature | None, str]:
        """Return the signature that the answer needs, and why the request is refused; empty if it is not."""
        header = headers.get(SIGNATURE_HEADER)
        if header is None:
            return None, UNSIGNED if self._is_required else ""
        name, _, rest = header.partition(" ")
        at, nonce, mac = ([*rest.split(" "), "", "", ""])[:3]
        key = self._keys.load().get(name)
        if key is None:
            return None, OTHER_KEY
        expected = _mac(key, REQUEST, at.encode(), nonce.encode(), path.encode(), body)
        if not hmac.compare_digest(mac.encode(), expected.encode()):
            return None, OTHER_KEY
        signature = Signature(key, nonce, header)
        # What follows was signed with the key, so its form needs no check.
        if abs(int(at) - time()) > TIME_TOLERANCE_SECONDS:
            return signature, WRONG_TIME.format(seconds=TIME_TOLERANCE_SECONDS)
        return (signature, "") if self._is_first(nonce) else (None, REPEATED)

    def sign(self, signature: Signature, status: int, body: bytes) -> str:
        """Return the header of an answer."""
        at = str(int(time()))
        mac = _mac(signature.key, ANSWER, at.encode(), signature.nonce.encode(), str(status).encode(), body)
        return f"{at} {mac}"

    def _is_first(self, nonce: str) -> bool:
        """Remember a nonce for as long as its request could be accepted; whether it is new."""
        if monotonic() > self._renewed_at + 2 * TIME_TOLERANCE_SECONDS:
            self._older_nonces, self._nonces, self._renewed_at = self._nonces, set(), monotonic()
        if nonce in self._nonces or nonce in self._older_nonces:
            return False
        self._nonces.add(nonce)
        return True
