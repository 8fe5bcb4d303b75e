"""What is done beside reading, by threads of their own: levels are summed up, old events forgotten, people told."""

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
"""Seconds between two rounds."""
AGGREGATION_BUDGET_SECONDS = 0.5
"""Seconds of a round that are spent on summing up, at most."""
RETENTION_INTERVAL_SECONDS = 3600.0
"""Seconds between two looks at what is older than anybody wants it kept."""


class StreamMaintenance:
    """Does its rounds while this process is the one that reads. Who is told may keep us waiting; the rest does not."""

    def __init__(self, installation: Config, database: Database) -> None:
        self._installation = installation
        self._database = database
        self._forget_at = monotonic() + ROUND_SECONDS
        self._rounds = (_PeriodicThread("housekeeping", self._keep_house), _PeriodicThread("telling", self._tell))

    @property
    def is_wanted(self) -> bool:
        """Whether this process is the one that reads."""
        return all(rounds.is_wanted for rounds in self._rounds)

    @is_wanted.setter
    def is_wanted(self, is_wanted: bool) -> None:
        for rounds in self._rounds:
            rounds.is_wanted = is_wanted

    def start(self) -> None:
        """Begin."""
        for rounds in self._rounds:
            rounds.start()

    def close(self) -> None:
        """End, after what is under way."""
        for rounds in self._rounds:
            rounds.closing.set()
        for rounds in self._rounds:
            rounds.join()

    def _keep_house(self, closing: Event) -> None:
        until = monotonic() + AGGREGATION_BUDGET_SECONDS
        while history.aggregate_levels(self._database) and monotonic() < until and not closing.is_set():
            pass
        if monotonic() >= self._forget_at:
            self._forget_at = monotonic() + RETENTION_INTERVAL_SECONDS
            for forgot in history.apply_retention(self._database):
                logger.info("Forgotten on purpose: %s", forgot)
        with self._database.session() as session:
            alerts.judge_silence(session, int(datetime.now(UTC).timestamp() * 1_000_000))

    def _tell(self, _closing: Event) -> None:
        now = datetime.now(UTC)
        alerts.send_notifications(self._installation, self._database, now)
        send_miss_notifications(self._installation, self._database, now)


class _PeriodicThread(Thread):
    """Does something about once a second, while it is wanted."""

    def __init__(self, name: str, action: Callable[[Event], None]) -> None:
        super().__init__(name=name, daemon=True)
        self.closing = Event()
        self._work = PeriodicJob(lambda: action(self.closing), logger)
        self.is_wanted = False

    def run(self) -> None:
        """Go round and round; what goes wrong is said once."""
        while not self.closing.wait(ROUND_SECONDS):
            if self.is_wanted:
                self._work()
