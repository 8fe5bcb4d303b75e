"""Notifications, through Apprise. What cannot be sent is logged, tried again for a while, and harms nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.config import Config
from tarantula.db import Database
from tarantula.errors import TarantulaError
from tarantula.life.moving import News
from tarantula.listings import IS_COLLECTED
from tarantula.models import Document, Item
from tarantula.publications.addresses import check_address, plugin_for
from tarantula.publications.fields import split_words
from tarantula.publications.registry import config_of

logger = logging.getLogger(__name__)

HEADINGS = {
    News.ENDED: "{urn} is archived",
    News.INTERRUPTED: "{urn} was interrupted",
    News.ATTENTION: "{urn} needs attention",
}
TRIES = 6
"""How often an address is tried."""
PAUSE = timedelta(minutes=1)
"""Before the second time; each further pause is twice as long."""
KINDS = {News.ENDED: "success", News.INTERRUPTED: "warning", News.ATTENTION: "failure"}
"""How Apprise marks them."""


class Message(NamedTuple):
    """What is told, and to whom."""

    kind: News
    title: str
    body: str
    addresses: list[str]
    """Those that have not been told yet."""
    urn: str
    news: dict[str, Any]
    """As the item had it."""


def check_addresses(installation: Config) -> None:
    """Refuse addresses of the installation that nothing could be sent to."""
    for address in split_words(installation.notify):
        try:
            check_address(address)
        except ValueError as error:
            raise TarantulaError(f"TARANTULA_NOTIFY: {error}") from error


def tell(installation: Config, database: Database, urn: str | None = None, now: datetime | None = None) -> int:
    """Send what is to be told of an item, or of all, by now; return how many messages there were."""
    told, now = 0, now or datetime.now(UTC)
    while (message := _take(installation, database, urn, now)) is not None:
        told += 1
        deaf = [address for address in message.addresses if not send(message, address)]
        if deaf:
            _tell_later(database, message, deaf, now)
    return told


def send(message: Message, address: str) -> bool:
    """Send a message to one address; say whether it went."""
    plugin = plugin_for(address)
    try:
        sent = plugin is not None and plugin.notify(
            title=message.title, body=message.body, notify_type=KINDS[message.kind]
        )
    except Exception:
        # Apprise speaks to a hundred services, each with failures of its own.
        logger.exception("A notification failed.")
        sent = False
    if not sent:
        shown = plugin.url(privacy=True) if plugin is not None else address.partition("://")[0]
        logger.warning("%s could not be told that %s.", shown, message.title)
    return bool(sent)


def _take(installation: Config, database: Database, urn: str | None, now: datetime) -> Message | None:
    """Take the next message; of many who look, one has it."""
    chosen = select(Item).where(Item.news.is_not(None))
    if urn is not None:
        chosen = chosen.where(Item.urn == urn)
    with database.reading() as session:
        due = [item.id for item in session.scalars(chosen.order_by(Item.id)) if _is_due(item.news, now)]
    if not due:
        return None
    with database.session() as session:
        item = session.scalar(chosen.where(Item.id == due[0]).with_for_update(of=Item, skip_locked=True))
        if item is None or not _is_due(item.news, now):
            return None
        message = _message(session, item, item.news or {}, split_words(installation.notify))
        item.news = None
        return message


def _is_due(news: dict[str, Any] | None, now: datetime) -> bool:
    return news is not None and datetime.fromisoformat(news.get("after") or now.isoformat()) <= now


def _tell_later(database: Database, message: Message, deaf: list[str], now: datetime) -> None:
    """Leave word for the next time, unless it was the last, or there is newer news."""
    tries = message.news.get("tries", 0) + 1
    if tries >= TRIES:
        return
    # Only their digests: an address may hold a password, and this one be of the installation alone.
    heard = [_digest(address) for address in message.addresses if address not in deaf]
    with database.session() as session:
        item = session.scalar(select(Item).where(Item.urn == message.urn).with_for_update(of=Item))
        if item is not None and item.news is None:
            item.news = {
                **message.news,
                "told": [*message.news.get("told", ()), *heard],
                "tries": tries,
                "after": (now + PAUSE * 2 ** (tries - 1)).isoformat(),
            }


def _digest(address: str) -> str:
    return sha256(address.encode()).hexdigest()[:16]


def _message(session: Session, item: Item, news: dict[str, Any], everywhere: Iterable[str]) -> Message:
    kind = News(news["kind"])
    documents, size = session.execute(
        select(func.count(), func.sum(Document.size)).where(Document.item_id == item.id, IS_COLLECTED)
    ).one()
    collected = f"{documents:,} document{'' if documents == 1 else 's'} collected, {int(size or 0):,} bytes."
    wanted = dict.fromkeys([*config_of(item.publication).notify, *everywhere])
    addresses = [address for address in wanted if _digest(address) not in news.get("told", ())]
    body = " ".join(part for part in (news["why"], collected) if part)
    return Message(kind, HEADINGS[kind].format(urn=item.urn), body, addresses, item.urn, news)
