"""Who is told that a source is not found any more."""

from __future__ import annotations

from datetime import datetime
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.publications.fields import split_words
from tarantula.publications.notifications import LEASE, PATIENCE, Message, is_due, put_off, send, still_to_tell
from tarantula.streams.sources.registry import config_of
from tarantula.tables.publications import Source, SourceState

TITLE = "{name} is not found any more"
KIND = "warning"
"""How Apprise marks it."""


class Told(NamedTuple):
    """What is told of a source, and to whom."""

    message: Message
    addresses: list[str]
    source_id: int
    news: dict[str, Any]
    """As it stands in the row while it is being told."""


def tell_misses(installation: Config, database: Database, now: datetime) -> int:
    """Send what is to be told by now; return how many messages there were. It may take a while: use a thread."""
    count, until = 0, monotonic() + PATIENCE
    while monotonic() < until and (told := _take(installation, database, now)) is not None:
        count += 1
        deaf = [address for address in told.addresses if not send(told.message, address)]
        with database.session() as session:
            state = session.get(SourceState, told.source_id, with_for_update=True)
            # Meanwhile it may have been found again, or there may be newer news.
            if state is not None and state.news == told.news:
                state.news = put_off(told.news, told.addresses, deaf, now)
    return count


def _take(installation: Config, database: Database, now: datetime) -> Told | None:
    """Take the next message; of many who look, one has it, and has it only for a while."""
    chosen = select(SourceState).where(SourceState.news.is_not(None))
    with database.reading() as session:
        due = [state.source_id for state in session.scalars(chosen) if is_due(state.news, now)]
    if not due:
        return None
    with database.session() as session:
        state = session.scalar(chosen.where(SourceState.source_id == due[0]).with_for_update(skip_locked=True))
        if state is None or not is_due(state.news, now):
            return None
        state.news = {**(state.news or {}), "after": (now + LEASE).isoformat()}
        source = session.get_one(Source, state.source_id)
        # Of a private source only its owner's addresses hear.
        everywhere = [] if source.is_private else split_words(installation.notify)
        wanted = dict.fromkeys([*config_of(source).notify, *everywhere])
        message = Message(TITLE.format(name=source.name), str(state.news["why"]), KIND)
        return Told(message, still_to_tell(state.news, wanted), state.source_id, state.news)
