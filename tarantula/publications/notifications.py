"""Send messages through Apprise; keep failed ones as JSON and retry them for a while.

The JSON is stored in the row that the message is about: digests of the addresses that were reached, the number of
tries, and the time of the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from tarantula.publications.fields import apprise_plugin

logger = logging.getLogger(__name__)

MAX_TRIES = 6
"""Tries for each address."""
FIRST_RETRY_PAUSE = timedelta(minutes=1)
"""Pause before the second try; each further pause is twice as long."""
CLAIM_TIMEOUT = timedelta(minutes=5)
"""Time after which another process may send a notification whose claimer has died."""
SEND_BUDGET_SECONDS = 5.0
"""Time after which a call starts no further message, so that its caller can continue."""


class NotificationMessage(NamedTuple):
    """A message to be sent."""

    title: str
    body: str
    kind: str
    """Apprise's type: info, success, warning, failure."""


def send_message(message: NotificationMessage, address: str) -> bool:
    """Send a message to one address; return whether it was sent."""
    plugin = apprise_plugin(address)
    try:
        sent = plugin is not None and plugin.notify(title=message.title, body=message.body, notify_type=message.kind)
    except Exception:
        # Apprise has plugins for a hundred services, which raise exceptions of their own.
        logger.exception("A notification failed.")
        sent = False
    if not sent:
        name = plugin.url(privacy=True) if plugin is not None else address.partition("://")[0]
        logger.warning("The notification %r could not be sent to %s.", message.title, name)
    return bool(sent)


def is_notice_due(stored: dict[str, Any] | None, now: datetime) -> bool:
    """Whether a stored notification exists and its next try is due."""
    return stored is not None and datetime.fromisoformat(stored.get("after") or now.isoformat()) <= now


def pending_addresses(stored: dict[str, Any], addresses: Iterable[str]) -> list[str]:
    """Return the addresses that were not reached yet, without duplicates."""
    reached = stored.get("told", ())
    return [address for address in dict.fromkeys(addresses) if _digest(address) not in reached]


def postpone_notice(
    stored: dict[str, Any], tried: Iterable[str], failed: Iterable[str], now: datetime
) -> dict[str, Any] | None:
    """Return the JSON of a notification that is retried later; ``None`` after the last try."""
    tries, failed = stored.get("tries", 0) + 1, set(failed)
    if tries >= MAX_TRIES or not failed:
        return None
    # Digests only: an address may contain a password, and belong to another person.
    reached = [_digest(address) for address in tried if address not in failed]
    return {
        **stored,
        "told": [*stored.get("told", ()), *reached],
        "deaf": service_names(failed),
        "tries": tries,
        "after": (now + FIRST_RETRY_PAUSE * 2 ** (tries - 1)).isoformat(),
    }


def service_names(addresses: Iterable[str]) -> list[str]:
    """Return the services of addresses, such as ``mailto``, without the rest, which may contain a password."""
    return sorted({address.partition("://")[0] for address in addresses})


def _digest(address: str) -> str:
    return sha256(address.encode()).hexdigest()[:16]
