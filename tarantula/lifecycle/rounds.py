"""Rounds of the daemon: jobs that run every second, and the time that they go by, whatever happens to the clocks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import NamedTuple

from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from tarantula.core.clock import JUMP_SECONDS, SteadyClock
from tarantula.core.database import Database
from tarantula.core.process import PeriodicJob
from tarantula.store.liveness import database_time

logger = logging.getLogger(__name__)

ROUND_SECONDS = 1.0
"""Interval of the rounds."""


def wall_clock() -> datetime:
    """Return the time of this machine, which may jump."""
    return datetime.now(UTC)


class EveryRound(BaseTrigger):  # type: ignore[misc]  # APScheduler has no type annotations.
    """Fires one round after the last. APScheduler's own trigger would make up for each second of a jump of years."""

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        return now + timedelta(seconds=ROUND_SECONDS)


class Rounds:
    """Runs jobs in background threads, each once a round; errors are logged once."""

    def __init__(self, clock: Callable[[], datetime] = wall_clock) -> None:
        self._clock = clock
        self._scheduler = BackgroundScheduler(timezone=UTC)
        self._closing = Event()
        self._watch = Thread(target=self._watch_clock, name="clock", daemon=True)

    def add(self, job: Callable[[], None]) -> None:
        """Add a job, which runs for the first time at once."""
        self._scheduler.add_job(
            PeriodicJob(job, logger), EveryRound(), next_run_time=datetime.now(UTC), misfire_grace_time=None
        )

    def start(self) -> None:
        """Start running the jobs."""
        self._scheduler.start()
        self._watch.start()

    def shutdown(self) -> None:
        """Wait for the jobs that are running, and run no more."""
        self._closing.set()
        self._watch.join()
        self._scheduler.shutdown()

    def _watch_clock(self) -> None:
        """Run the jobs now when the clock was set back; the scheduler would wait until it reaches the next round."""
        last = self._clock()
        while not self._closing.wait(ROUND_SECONDS):
            now = self._clock()
            if now < last:
                for job in self._scheduler.get_jobs():
                    job.modify(next_run_time=datetime.now(UTC))
            last = now


class RoundTime(NamedTuple):
    """The time of a round."""

    now: datetime
    """The time by which processes are supervised: that of the database, which all machines share."""
    due_by: datetime
    """Items that are due until then are created."""


class DaemonClock:
    """Compares the clock of this machine with that of the database, and both with the time since the machine's start.

    A jump counts only when it has lasted (see `SteadyClock`). While the two differ, the earlier one decides what is
    due, so that a wrong clock starts nothing early.
    """

    def __init__(self, database: Database, local: SteadyClock | None = None, shared: SteadyClock | None = None) -> None:
        self._local = local or SteadyClock()
        self._shared = shared
        if shared is None and database.engine.dialect.name == "postgresql":
            self._shared = SteadyClock(lambda: _database_seconds(database), name="The clock of the database")
        self._differs = False

    def read(self) -> RoundTime:
        """Return the time of a round that begins now."""
        local = self._local.now()
        now = self._shared.now() if self._shared is not None else local
        self._note_difference(local - now)
        return RoundTime(now, min(local, now))

    def _note_difference(self, difference: timedelta) -> None:
        differs = abs(difference) >= timedelta(seconds=JUMP_SECONDS)
        if differs and not self._differs:
            logger.warning(
                "The clock of this machine is %s %s that of the database. Items are created when both say that they "
                "are due.",
                timedelta(seconds=round(abs(difference.total_seconds()))),
                "ahead of" if difference > timedelta(0) else "behind",
            )
        elif self._differs and not differs:
            logger.info("The clocks of this machine and of the database agree again.")
        self._differs = differs


def _database_seconds(database: Database) -> float:
    with database.reading() as session:
        return database_time(session.connection()).timestamp()
