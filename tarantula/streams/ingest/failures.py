"""Failures of sources, and the maintenance that closes, retries and forgets what is due."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from threading import Event, Thread
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.messages import Message, join_messages
from tarantula.core.process import PeriodicJob
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
from tarantula.streams import alerts, history
from tarantula.streams.adapters.base import DoubtfulText
from tarantula.streams.sources.config import SourceConfig, SourceStatus
from tarantula.streams.sources.registry import config_of

logger = logging.getLogger(__name__)

ROUND_SECONDS = 1.0
AGGREGATION_BUDGET_SECONDS = 0.5
"""Maximum time per round for aggregating levels."""
RETENTION_INTERVAL_SECONDS = 3600.0


IMMEDIATE_STATUSES = frozenset({SourceStatus.REFUSED, SourceStatus.DOUBTFUL})
MAX_SENTENCES = 5
"""Maximum number of sentences in the status of a source."""
MISSING_TITLE = "{name} can no longer be found"
NOTIFICATION_TYPE = "warning"
"""Apprise's notification type."""


class SourceStatusTracker:
    """Applies the outcome of one reading to the status of a source."""

    def __init__(self, state: SourceState, config: SourceConfig, at: int) -> None:
        self._state = state
        self._config = config
        self._at = at
        self.is_changed = False
        """Whether the status or its sentence changed."""

    @property
    def status(self) -> SourceStatus:
        return SourceStatus(self._state.status)

    @property
    def sentence(self) -> str:
        """Description of the problem; empty if there is none."""
        return self._state.sentence

    def read(self, missing: Mapping[str, str], doubts: Sequence[DoubtfulText]) -> None:
        """Record a reading, with the fields that were missing and the texts in doubt."""
        sentences = [Message("{field}: {why}", field=doubt.field, why=doubt.why) for doubt in doubts] + _by_reason(
            missing
        )
        if not sentences:
            self._state.misses, self._state.news = 0, None
            self._set(SourceStatus.READ, "")
            return
        more = len(sentences) - MAX_SENTENCES
        shown = [
            *dict.fromkeys(sentences[:MAX_SENTENCES]),
            *([Message("And {more} more.", more=more)] if more > 0 else []),
        ]
        self.missed(SourceStatus.DOUBTFUL if doubts else SourceStatus.MISSING, join_messages(shown))

    def missed(self, status: SourceStatus, sentence: str) -> None:
        """Record a failed or incomplete reading."""
        state = self._state
        state.misses += 1
        if state.status == SourceStatus.NEW or status in IMMEDIATE_STATUSES or state.misses >= self._config.misses:
            self._set(status, sentence)
        if state.misses == self._config.misses:
            # Recipients are determined when the message is sent: the addresses may have changed by then.
            state.news = {"why": sentence, "status": status, "at": self._at}
            self.is_changed = True

    def _set(self, status: SourceStatus, sentence: str) -> None:
        self.is_changed |= (self._state.status, self._state.sentence) != (status, sentence)
        self._state.status, self._state.sentence = status, sentence


def _by_reason(missing: Mapping[str, str]) -> list[str]:
    """Return the reasons why fields are missing, each with the fields that it applies to."""
    reasons: dict[str, list[str]] = {}
    for key, why in missing.items():
        reasons.setdefault(why, []).append(key)
    return [Message("{keys}: {why}", keys=", ".join(keys), why=why) for why, keys in reasons.items()]


class MissNotification(NamedTuple):
    """A message about a source, and its recipients."""

    message: NotificationMessage
    addresses: list[str]
    source_id: int
    news: dict[str, Any]
    """Content of `SourceState.news` while the message is being sent."""


def send_miss_notifications(installation: Config, database: Database, now: datetime) -> int:
    """Send due notifications of missing values; return their number. Blocks on the network: run it in a thread."""
    count, until = 0, monotonic() + SEND_BUDGET_SECONDS
    while monotonic() < until and (notice := _claim(installation, database, now)) is not None:
        count += 1
        failed = [address for address in notice.addresses if not send_message(installation, notice.message, address)]
        with database.session() as session:
            state = session.get(SourceState, notice.source_id, with_for_update=True)
            # The source may have been read again, or have a newer notification, in the meantime.
            if state is not None and state.news == notice.news:
                state.news = postpone_notice(notice.news, notice.addresses, failed, now)
    return count


def _claim(installation: Config, database: Database, now: datetime) -> MissNotification | None:
    """Claim the next due notification for a limited time, so that only one process sends it."""
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
        # Notifications of a private source go only to the addresses in its own configuration.
        shared = [] if source.is_private else split_words(installation.notify)
        addresses = dict.fromkeys([*config_of(source).notify, *shared])
        message = NotificationMessage(MISSING_TITLE.format(name=source.name), str(state.news["why"]), NOTIFICATION_TYPE)
        return MissNotification(message, pending_addresses(state.news, addresses), state.source_id, state.news)


class StreamMaintenance:
    """Runs maintenance while this process is the active reader; notifications, which can be slow, on another thread."""

    def __init__(self, installation: Config, database: Database) -> None:
        self._installation = installation
        self._database = database
        self._retention_at = monotonic() + ROUND_SECONDS
        self._threads = (_PeriodicThread("maintenance", self._maintain), _PeriodicThread("notifications", self._notify))

    @property
    def is_enabled(self) -> bool:
        """Whether this process is the active reader."""
        return all(thread.is_enabled for thread in self._threads)

    @is_enabled.setter
    def is_enabled(self, is_enabled: bool) -> None:
        for thread in self._threads:
            thread.is_enabled = is_enabled

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop both threads after their current round."""
        for thread in self._threads:
            thread.closing.set()
        for thread in self._threads:
            thread.join()

    def _maintain(self, closing: Event) -> None:
        until = monotonic() + AGGREGATION_BUDGET_SECONDS
        while history.aggregate_levels(self._database) and monotonic() < until and not closing.is_set():
            pass
        if monotonic() >= self._retention_at:
            self._retention_at = monotonic() + RETENTION_INTERVAL_SECONDS
            for deleted in history.apply_retention(self._database):
                logger.info("Deleted by retention: %s", deleted)
        with self._database.session() as session:
            alerts.judge_silence(session, int(datetime.now(UTC).timestamp() * 1_000_000))

    def _notify(self, _closing: Event) -> None:
        now = datetime.now(UTC)
        alerts.send_notifications(self._installation, self._database, now)
        send_miss_notifications(self._installation, self._database, now)


class _PeriodicThread(Thread):
    """Runs a job once per round while it is enabled."""

    def __init__(self, name: str, action: Callable[[Event], None]) -> None:
        super().__init__(name=name, daemon=True)
        self.closing = Event()
        self._job = PeriodicJob(lambda: action(self.closing), logger)
        self.is_enabled = False

    def run(self) -> None:
        while not self.closing.wait(ROUND_SECONDS):
            if self.is_enabled:
                self._job()
