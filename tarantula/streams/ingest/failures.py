"""Failed readings: when the status of a source changes, and the notification that its value is missing.

One failed reading changes nothing. After as many in a row as the source configures (`misses`), the status shows the
problem and one notification is queued. A source that was never read, a refusal by a rule and a doubtful text are shown
at once, because waiting would not help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Source, SourceState
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
from tarantula.streams.adapters.base import DoubtfulText
from tarantula.streams.sources.config import SourceConfig, SourceStatus
from tarantula.streams.sources.registry import config_of

IMMEDIATE_STATUSES = frozenset({SourceStatus.REFUSED, SourceStatus.DOUBTFUL})
MAX_SENTENCES = 5
"""Sentences that are said of one reading."""


class SourceStatusTracker:
    """Moves a source's state."""

    def __init__(self, state: SourceState, config: SourceConfig, at: int) -> None:
        self._state = state
        self._config = config
        self._at = at
        self.is_news = False
        """Whether something is said that was not said before."""

    @property
    def status(self) -> SourceStatus:
        """What is said now."""
        return SourceStatus(self._state.status)

    @property
    def sentence(self) -> str:
        """What is wrong."""
        return self._state.sentence

    def read(self, missing: Mapping[str, str], doubts: Sequence[DoubtfulText]) -> None:
        """Hear of a reading, and of what was not in it."""
        sentences = [f"{doubt.field}: {doubt.why}" for doubt in doubts] + _by_reason(missing)
        if not sentences:
            self._state.misses, self._state.news = 0, None
            self._say(SourceStatus.READ, "")
            return
        more = len(sentences) - MAX_SENTENCES
        told = [*dict.fromkeys(sentences[:MAX_SENTENCES]), *([f"And {more} more."] if more > 0 else [])]
        # Each on a line: they are told one by one in the language of whoever reads them.
        self.missed(SourceStatus.DOUBTFUL if doubts else SourceStatus.MISSING, "\n".join(told))

    def missed(self, status: SourceStatus, sentence: str) -> None:
        """Hear of a reading that lacked something."""
        state = self._state
        state.misses += 1
        if state.status == SourceStatus.NEW or status in IMMEDIATE_STATUSES or state.misses >= self._config.misses:
            self._say(status, sentence)
        if state.misses == self._config.misses:
            # Whom to tell is asked when it is told: the addresses may be others by then.
            state.news = {"why": sentence, "status": status, "at": self._at}
            self.is_news = True

    def _say(self, status: SourceStatus, sentence: str) -> None:
        self.is_news |= (self._state.status, self._state.sentence) != (status, sentence)
        self._state.status, self._state.sentence = status, sentence


def _by_reason(missing: Mapping[str, str]) -> list[str]:
    """Return why fields are missing; those that are for the same reason are named together."""
    reasons: dict[str, list[str]] = {}
    for key, why in missing.items():
        reasons.setdefault(why, []).append(key)
    return [f"{', '.join(keys)}: {why}" for why, keys in reasons.items()]


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
