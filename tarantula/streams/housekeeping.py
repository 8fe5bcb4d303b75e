"""What is done beside reading, by a thread of its own: levels are summed up, people are told, old events forgotten."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from threading import Event, Thread
from time import monotonic

from tarantula.config import Config
from tarantula.db import Database
from tarantula.patient import Patient
from tarantula.streams import alerts, history
from tarantula.streams.telling import tell_misses

logger = logging.getLogger(__name__)

ROUND = 1.0
"""Seconds between two rounds."""
SUMMING = 0.5
"""Seconds of a round that are spent on summing up, at most."""
FORGETTING = 3600.0
"""Seconds between two looks at what is older than anybody wants it kept."""


class Housekeeping:
    """Does a round about once a second, while this process is the one that reads."""

    def __init__(self, installation: Config, database: Database) -> None:
        self._installation = installation
        self._database = database
        self._closing = Event()
        self._thread = Thread(target=self._run, name="housekeeping", daemon=True)
        self._forget_at = monotonic() + ROUND
        self.is_wanted = False

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End, after what is under way."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        work = Patient(self._round, logger)
        while not self._closing.wait(ROUND):
            if self.is_wanted:
                work()

    def _round(self) -> None:
        until = monotonic() + SUMMING
        while history.sum_up(self._database) and monotonic() < until and not self._closing.is_set():
            pass
        if monotonic() >= self._forget_at:
            self._forget_at = monotonic() + FORGETTING
            for forgot in history.forget(self._database):
                logger.info("Forgotten on purpose: %s", forgot)
        now = datetime.now(UTC)
        with self._database.session() as session:
            alerts.judge_silence(session, int(now.timestamp() * 1_000_000))
        alerts.tell(self._installation, self._database, now)
        tell_misses(self._installation, self._database, now)
