"""Who is told that a source is not found any more."""

from __future__ import annotations

from datetime import datetime
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.publications.fields import split_words
from tarantula.publications.notifications import (
    CLAIM_TIMEOUT,
    SEND_BUDGET_SECONDS,
    NotificationMessage,
    is_notice_due,
    pending_addresses,
    postpone_notice,
    send_message,
)
from tarantula.streams.sources.registry import config_of
from tarantula.tables.publications import Source, SourceState

MISSING_TITLE = "{name} is not found any more"
NOTIFICATION_TYPE = "warning"
"""How Apprise marks it."""


class MissNotification(NamedTuple):
    """What is told of a source, and to whom."""

    message: NotificationMessage
    addresses: list[str]
    source_id: int
    news: dict[str, Any]
    """As it stands in the row while it is being told."""


def send_miss_notifications(installation: Config, database: Database, now: datetime) -> int:
    """Send what is to be told by now; return how many messages there were. It may take a while: use a thread."""
    count, until = 0, monotonic() + SEND_BUDGET_SECONDS
    while monotonic() < until and (told := _take(installation, database, now)) is not None:
        count += 1
        deaf = [address for address in told.addresses if not send_message(told.message, address)]
        with database.session() as session:
            state = session.get(SourceState, told.source_id, with_for_update=True)
            # Meanwhile it may have been found again, or there may be newer news.
            if state is not None and state.news == told.news:
                state.news = postpone_notice(told.news, told.addresses, deaf, now)
    return count


def _take(installation: Config, database: Database, now: datetime) -> MissNotification | None:
    """Take the next message; of many who look, one has it, and has it only for a while."""
    chosen = select(SourceState).where(SourceState.news.is_not(None))
    with database.reading() as session:
        due = [state.source_id for state in session.scalars(chosen) if is_notice_due(state.news, now)]
    if not due:
        return None
    with database.session() as session:
        state = session.scalar(chosen.where(SourceState.source_id == due[0]).with_for_update(skip_locked=True))
        if state is None or not is_notice_due(state.news, now):
            return None
        state.news = {**(state.news or {}), "after": (now + CLAIM_TIMEOUT).isoformat()}
        source = session.get_one(Source, state.source_id)
        # Of a private source only its owner's addresses hear.
        everywhere = [] if source.is_private else split_words(installation.notify)
        wanted = dict.fromkeys([*config_of(source).notify, *everywhere])
        message = NotificationMessage(MISSING_TITLE.format(name=source.name), str(state.news["why"]), NOTIFICATION_TYPE)
        return MissNotification(message, pending_addresses(state.news, wanted), state.source_id, state.news)
