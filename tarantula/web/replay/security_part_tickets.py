"""Tickets: whoever has one may look at one item for a while. They stand in addresses, where cookies are not."""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from time import time

TICKET_SECONDS = 3600
"""Seconds."""


class TicketSigner:
    """Writes tickets, and knows its own; those of another process are nothing to it."""

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._key = secrets.token_bytes(32)
        self._clock = clock

    def write(self, urn: str) -> str:
        """Return a ticket for an item."""
        return self._signed(urn, f"{int(self._clock()) + TICKET_SECONDS:x}")

    def admit(self, ticket: str, urn: str) -> bool:
        """Whether a ticket is ours, for that item, and still good."""
        until = ticket.partition("-")[0]
        # Signed first: what somebody else wrote is not read.
        if not hmac.compare_digest(self._signed(urn, until).encode(), ticket.encode()):
            return False
        return self._clock() < int(until, 16)

    def _signed(self, urn: str, until: str) -> str:
        digest = hmac.digest(self._key, f"{until} {urn}".encode(), sha256)
        return f"{until}-{urlsafe_b64encode(digest).decode().rstrip('=')}"
