"""Send messages through Apprise; keep failed ones as JSON and retry them for a while.

The JSON is stored in the row that the message is about: digests of the addresses that were reached, the number of
tries, and the time of the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.request import getproxies

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.secrets import check_readable, mask
from tarantula.fetch.egress import LOCALHOST, EgressPolicy, NamedAddress
from tarantula.fetch.guarded_sockets import guarded_sockets
from tarantula.fetch.names import look_up
from tarantula.fetch.request import parse_proxy
from tarantula.publications.fields import apprise_plugin, redacted_logs

logger = logging.getLogger(__name__)

MAX_TRIES = 6
"""Tries for each address."""
FIRST_RETRY_PAUSE = timedelta(minutes=1)
"""Pause before the second try; each further pause is twice as long."""
CLAIM_TIMEOUT = timedelta(minutes=5)
"""Time after which another process may send a notification whose claimer has died."""
LOOPBACK = ("127.0.0.1", "::1")
SEND_BUDGET_SECONDS = 5.0
"""Time after which a call starts no further message, so that its caller can continue."""


class NotificationMessage(NamedTuple):
    """A message to be sent."""

    title: str
    body: str
    kind: str
    """Apprise's type: info, success, warning, failure."""


def notification_host(plugin: Any) -> str:
    """Return the host that a plugin of Apprise sends to; empty if it is that of a service."""
    host = getattr(plugin, "smtp_host", None) or getattr(plugin, "host", None)
    return host.strip("[]") if isinstance(host, str) else ""


def notification_policy(installation: Config, plugin: Any) -> EgressPolicy:
    """Return where messages may go: to public servers, to the address itself if it is no name, and to the proxies."""
    host, port = notification_host(plugin), getattr(plugin, "port", None)
    hosts = LOOPBACK if host == LOCALHOST else (host,)
    named = [NamedAddress(one, frozenset({port} if port else ())) for one in hosts]
    return EgressPolicy.of(installation, patterns=[*filter(NamedAddress.is_literal, named), *_proxies()])


def _proxies() -> Iterator[NamedAddress]:
    """Yield the addresses of the proxies in the environment, which Apprise uses."""
    for scheme, url in getproxies().items():
        if scheme != "no":
            proxy = parse_proxy(url)
            yield from (NamedAddress(address, frozenset({proxy.port})) for address in look_up(proxy.host))


def send_message(installation: Config, message: NotificationMessage, address: str) -> bool:
    """Send a message to one address; return whether it was sent."""
    try:
        check_readable(address)
    except TarantulaError as error:
        logger.warning("The notification %r could not be sent. %s", message.title, error)
        return False
    plugin = apprise_plugin(address)
    if plugin is None:
        logger.warning("The notification %r could not be sent to %s.", message.title, mask(address))
        return False
    with redacted_logs(address), guarded_sockets(notification_policy(installation, plugin)) as refused:
        try:
            sent = bool(plugin.notify(title=message.title, body=message.body, notify_type=message.kind))
        except Exception as error:
            # Apprise has plugins for a hundred services, which raise exceptions of their own.
            # Without a traceback: its text may have the address with its password.
            logger.error("A notification failed: %s.", type(error).__name__)
            sent = False
    if not sent:
        why = " ".join(map(str, refused))
        logger.warning(
            "The notification %r could not be sent to %s.%s", message.title, mask(address), why and f" {why}"
        )
    return sent


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
