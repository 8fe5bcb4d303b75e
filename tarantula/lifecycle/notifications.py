"""Who is told what became of an item."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.models import Document, Item
from tarantula.publications.fields import check_notification_address, split_words
from tarantula.publications.notifications import (
    NotificationMessage,
    is_notice_due,
    pending_addresses,
    postpone_notice,
    send_message,
)
from tarantula.publications.registry import config_of
from tarantula.store.listings import IS_COLLECTED
from tarantula.store.transitions import ItemNotice

NOTICE_TITLES = {
    ItemNotice.ENDED: "{urn} is archived",
    ItemNotice.INTERRUPTED: "{urn} was interrupted",
    ItemNotice.ATTENTION: "{urn} needs attention",
}
APPRISE_KINDS = {ItemNotice.ENDED: "success", ItemNotice.INTERRUPTED: "warning", ItemNotice.ATTENTION: "failure"}
"""How Apprise marks them."""


class PendingNotice(NamedTuple):
    """What is told of an item, and to whom."""

    message: NotificationMessage
    addresses: list[str]
    """Those that have not been told yet."""
    urn: str
    news: dict[str, Any]
    """As the item had it."""


def check_notify_addresses(installation: Config) -> None:
    """Refuse addresses of the installation that nothing could be sent to."""
    for address in split_words(installation.notify):
        try:
            check_notification_address(address)
        except ValueError as error:
            raise TarantulaError(f"TARANTULA_NOTIFY: {error}") from error


def send_item_notices(
    installation: Config, database: Database, urn: str | None = None, now: datetime | None = None
) -> int:
    """Send what is to be told of an item, or of all, by now; return how many messages there were."""
    count, now = 0, now or datetime.now(UTC)
    while (told := _take(installation, database, urn, now)) is not None:
        count += 1
        deaf = [address for address in told.addresses if not send_message(told.message, address)]
        if deaf:
            _tell_later(database, told, deaf, now)
    return count


def _take(installation: Config, database: Database, urn: str | None, now: datetime) -> PendingNotice | None:
    """Take the next message; of many who look, one has it."""
    chosen = select(Item).where(Item.news.is_not(None))
    if urn is not None:
        chosen = chosen.where(Item.urn == urn)
    with database.reading() as session:
        due = [item.id for item in session.scalars(chosen.order_by(Item.id)) if is_notice_due(item.news, now)]
    if not due:
        return None
    with database.session() as session:
        item = session.scalar(chosen.where(Item.id == due[0]).with_for_update(of=Item, skip_locked=True))
        if item is None or not is_notice_due(item.news, now):
            return None
        told = _told(session, item, item.news or {}, split_words(installation.notify))
        item.news = None
        return told


def _tell_later(database: Database, told: PendingNotice, deaf: list[str], now: datetime) -> None:
    """Leave word for the next time, unless it was the last, or there is newer news."""
    left = postpone_notice(told.news, told.addresses, deaf, now)
    if left is None:
        return
    with database.session() as session:
        item = session.scalar(select(Item).where(Item.urn == told.urn).with_for_update(of=Item))
        if item is not None and item.news is None:
            item.news = left


def _told(session: Session, item: Item, news: dict[str, Any], everywhere: Iterable[str]) -> PendingNotice:
    kind = ItemNotice(news["kind"])
    documents, size = session.execute(
        select(func.count(), func.sum(Document.size)).where(Document.item_id == item.id, IS_COLLECTED)
    ).one()
    collected = f"{documents:,} document{'' if documents == 1 else 's'} collected, {int(size or 0):,} bytes."
    addresses = pending_addresses(news, [*config_of(item.publication).notify, *everywhere])
    body = " ".join(part for part in (news["why"], collected) if part)
    return PendingNotice(
        NotificationMessage(NOTICE_TITLES[kind].format(urn=item.urn), body, APPRISE_KINDS[kind]),
        addresses,
        item.urn,
        news,
    )
