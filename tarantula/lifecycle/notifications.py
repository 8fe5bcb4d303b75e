"""Notifications about items that ended, were interrupted or need attention."""

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
"""Message types of Apprise."""


class PendingNotice(NamedTuple):
    """A notification about an item that this process has claimed."""

    message: NotificationMessage
    addresses: list[str]
    """Addresses that were not reached yet."""
    urn: str
    stored: dict[str, Any]
    """The JSON of `Item.news`."""


def check_notify_addresses(installation: Config) -> None:
    """Raise an error if an address in ``TARANTULA_NOTIFY`` is invalid."""
    for address in split_words(installation.notify):
        try:
            check_notification_address(address)
        except ValueError as error:
            raise TarantulaError("TARANTULA_NOTIFY: {error}", error=error) from error


def send_item_notices(
    installation: Config, database: Database, urn: str | None = None, now: datetime | None = None
) -> int:
    """Send the due notifications of one item, or of all; return their number."""
    count, now = 0, now or datetime.now(UTC)
    while (notice := _claim(installation, database, urn, now)) is not None:
        count += 1
        failed = [address for address in notice.addresses if not send_message(installation, notice.message, address)]
        if failed:
            _store_retry(database, notice, failed, now)
    return count


def _claim(installation: Config, database: Database, urn: str | None, now: datetime) -> PendingNotice | None:
    """Remove the next due notification from its row and return it; of several processes, one gets it."""
    pending = select(Item).where(Item.news.is_not(None))
    if urn is not None:
        pending = pending.where(Item.urn == urn)
    with database.reading() as session:
        due = [item.id for item in session.scalars(pending.order_by(Item.id)) if is_notice_due(item.news, now)]
    if not due:
        return None
    with database.session() as session:
        item = session.scalar(pending.where(Item.id == due[0]).with_for_update(of=Item, skip_locked=True))
        if item is None or not is_notice_due(item.news, now):
            return None
        notice = _notice(session, item, item.news or {}, split_words(installation.notify))
        item.news = None
        return notice


def _store_retry(database: Database, notice: PendingNotice, failed: list[str], now: datetime) -> None:
    """Store the notification for a retry, unless this was the last try or the row has a newer one."""
    retry = postpone_notice(notice.stored, notice.addresses, failed, now)
    if retry is None:
        return
    with database.session() as session:
        item = session.scalar(select(Item).where(Item.urn == notice.urn).with_for_update(of=Item))
        if item is not None and item.news is None:
            item.news = retry


def _notice(session: Session, item: Item, stored: dict[str, Any], everywhere: Iterable[str]) -> PendingNotice:
    kind = ItemNotice(stored["kind"])
    documents, size = session.execute(
        select(func.count(), func.sum(Document.size)).where(Document.item_id == item.id, IS_COLLECTED)
    ).one()
    collected = f"{documents:,} document{'' if documents == 1 else 's'} collected, {int(size or 0):,} bytes."
    addresses = pending_addresses(stored, [*config_of(item.publication).notify, *everywhere])
    body = " ".join(part for part in (stored["why"], collected) if part)
    return PendingNotice(
        NotificationMessage(NOTICE_TITLES[kind].format(urn=item.urn), body, APPRISE_KINDS[kind]),
        addresses,
        item.urn,
        stored,
    )
