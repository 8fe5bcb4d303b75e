"""Messages through Apprise. What cannot be sent is logged, tried again for a while, and harms nothing.

What is still to be told is kept as JSON beside what it is about: who was told already, how often it was tried, and
when it is tried again.
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
"""How often an address is tried."""
FIRST_RETRY_PAUSE = timedelta(minutes=1)
"""Before the second time; each further pause is twice as long."""
CLAIM_TIMEOUT = timedelta(minutes=5)
"""After which somebody else tells it, if whoever took it has died."""
SEND_BUDGET_SECONDS = 5.0
"""Seconds after which a call begins no further message: whoever calls has other things to do."""


class NotificationMessage(NamedTuple):
    """What is told."""

    title: str
    body: str
    kind: str
    """How Apprise marks it: info, success, warning, failure."""


def send_message(message: NotificationMessage, address: str) -> bool:
    """Send a message to one address; say whether it went."""
    plugin = apprise_plugin(address)
    try:
        sent = plugin is not None and plugin.notify(title=message.title, body=message.body, notify_type=message.kind)
    except Exception:
        # Apprise speaks to a hundred services, each with failures of its own.
        logger.exception("A notification failed.")
        sent = False
    if not sent:
        shown = plugin.url(privacy=True) if plugin is not None else address.partition("://")[0]
        logger.warning("%s could not be told that %s.", shown, message.title)
    return bool(sent)


def is_notice_due(news: dict[str, Any] | None, now: datetime) -> bool:
    """Whether there is something to be told by now."""
    return news is not None and datetime.fromisoformat(news.get("after") or now.isoformat()) <= now


def pending_addresses(news: dict[str, Any], wanted: Iterable[str]) -> list[str]:
    """Return those of some addresses that were not told yet, each once."""
    told = news.get("told", ())
    return [address for address in dict.fromkeys(wanted) if _digest(address) not in told]


def postpone_notice(
    news: dict[str, Any], tried: Iterable[str], deaf: Iterable[str], now: datetime
) -> dict[str, Any] | None:
    """Return what is left to be told, and when; nothing after the last try."""
    tries, away = news.get("tries", 0) + 1, set(deaf)
    if tries >= MAX_TRIES or not away:
        return None
    # Only their digests: an address may hold a password, and be somebody else's.
    heard = [_digest(address) for address in tried if address not in away]
    return {
        **news,
        "told": [*news.get("told", ()), *heard],
        "deaf": service_names(away),
        "tries": tries,
        "after": (now + FIRST_RETRY_PAUSE * 2 ** (tries - 1)).isoformat(),
    }


def service_names(addresses: Iterable[str]) -> list[str]:
    """Return by which services people are told, as ``mailto``: what follows in an address may be a password."""
    return sorted({address.partition("://")[0] for address in addresses})


def _digest(address: str) -> str:
    return sha256(address.encode()).hexdigest()[:16]
