"""Background threads of the reader: aggregate levels, apply retention, judge silences, send notifications."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Event, Thread
from time import monotonic

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.process import PeriodicJob
from tarantula.streams import alerts, history
from tarantula.streams.ingest.failures import send_miss_notifications

logger = logging.getLogger(__name__)

ROUND_SECONDS = 1.0
AGGREGATION_BUDGET_SECONDS = 0.5
"""Maximum time per round for aggregating levels."""
RETENTION_INTERVAL_SECONDS = 3600.0


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
