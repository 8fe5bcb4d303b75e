"""Notifications, through Apprise. What cannot be sent is logged, and harms nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import NamedTuple

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
KINDS = {News.ENDED: "success", News.INTERRUPTED: "warning", News.ATTENTION: "failure"}
"""How Apprise marks them."""


class Message(NamedTuple):
    """What is told, and to whom."""

    kind: News
    title: str
    body: str
    addresses: list[str]


def check_addresses(installation: Config) -> None:
    """Refuse addresses of the installation that nothing could be sent to."""
    for address in split_words(installation.notify):
        try:
            check_address(address)
        except ValueError as error:
            raise TarantulaError(f"TARANTULA_NOTIFY: {error}") from error


def tell(installation: Config, database: Database, urn: str | None = None) -> int:
    """Send what is to be told of an item, or of all; return how many messages there were."""
    told = 0
    while (message := _take(installation, database, urn)) is not None:
        told += 1
        for address in message.addresses:
            send(message, address)
    return told


def send(message: Message, address: str) -> None:
    """Send a message to one address."""
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


def _take(installation: Config, database: Database, urn: str | None) -> Message | None:
    """Take the next message; of many who look, one has it."""
    chosen = select(Item).where(Item.news.is_not(None))
    if urn is not None:
        chosen = chosen.where(Item.urn == urn)
    with database.reading() as session:
        if session.scalar(chosen) is None:
            return None
    with database.session() as session:
        item = session.scalar(chosen.order_by(Item.id).limit(1).with_for_update(of=Item, skip_locked=True))
        if item is None or item.news is None:
            return None
        message = _message(session, item, item.news, split_words(installation.notify))
        item.news = None
        return message


def _message(session: Session, item: Item, news: dict[str, str], everywhere: Iterable[str]) -> Message:
    kind = News(news["kind"])
    documents, size = session.execute(
        select(func.count(), func.sum(Document.size)).where(Document.item_id == item.id, IS_COLLECTED)
    ).one()
    collected = f"{documents:,} document{'' if documents == 1 else 's'} collected, {int(size or 0):,} bytes."
    addresses = dict.fromkeys([*config_of(item.publication).notify, *everywhere])
    body = " ".join(part for part in (news["why"], collected) if part)
    return Message(kind, HEADINGS[kind].format(urn=item.urn), body, list(addresses))
