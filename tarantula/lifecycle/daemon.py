"""The daemon: rounds of jobs that start, watch and end items, whatever happens to the clocks."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple, Self

from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger
from sqlalchemy import select

from tarantula import __version__, search, streams
from tarantula.archive.withheld_files import WithholdingFollower
from tarantula.core.config import Config
from tarantula.core.database import Database, display_name
from tarantula.core.errors import DatabaseUnreachableError
from tarantula.core.process import PeriodicJob
from tarantula.core.termination import is_terminating
from tarantula.core.times import JUMP_SECONDS, SteadyClock
from tarantula.lifecycle.notifications import check_notify_addresses, send_item_notices
from tarantula.lifecycle.processes import (
    ItemProcessStarter,
    LocalProcessStarter,
    process_environment,
    remove_command,
)
from tarantula.lifecycle.removal import interrupted_removals
from tarantula.lifecycle.schedule import ItemPlanner
from tarantula.lifecycle.supervisor import ItemSupervisor, Launcher
from tarantula.lifecycle.verification import FixitySchedule
from tarantula.models import Source
from tarantula.store.database import open_database
from tarantula.store.homes import home_id, other_homes
from tarantula.store.liveness import database_time, host_name, is_drained

RESTART_DELAY_SECONDS = 30.0
"""Pause before a child process is restarted; another process may already do its work."""
READER_RESTART_DELAY_SECONDS = 2.0
RECOVERY_SECONDS = 20.0
"""Time after an outage of the database in which collectors without a heartbeat do not count as crashed."""
SHUTDOWN_TIMEOUT_SECONDS = 10.0
"""Time that a child process has to exit before it is killed."""

logger = logging.getLogger(__name__)
ROUND_SECONDS = 1.0
"""Interval of the rounds."""


class Coordinator:
    """The work of the daemon. Each step reads the database and can be repeated by any daemon."""

    def __init__(self, installation: Config, database: Database, starter: ItemProcessStarter) -> None:
        self._installation = installation
        self._database = database
        self._planner = ItemPlanner(installation, database)
        self._supervisor = ItemSupervisor(installation, database, starter)
        self._launcher = Launcher(installation, database, starter)
        self._supervise_after = 0.0

    def run(self, clock: DaemonClock) -> None:
        """Run a round at the time of a clock."""
        with self._noting_outage():
            self.round(*clock.read())

    def round(self, now: datetime, due_by: datetime | None = None) -> None:
        """Create the items that are due, supervise those without a process, and start processes.

        Items are due by *due_by*, by default *now*.
        """
        with self._noting_outage():
            self._planner.plan(due_by or now)
            if monotonic() >= self._supervise_after:
                self._supervisor.check(now)
            self._launcher.launch(now)

    @contextmanager
    def _noting_outage(self) -> Iterator[None]:
        try:
            yield
        except DatabaseUnreachableError:
            self._supervise_after = monotonic() + RECOVERY_SECONDS
            raise

    def send_notices(self) -> None:
        """Send the pending notifications of all items."""
        send_item_notices(self._installation, self._database)


class RemovalRestarter:
    """Starts a process for each item whose removal was interrupted."""

    def __init__(self, installation: Config, database: Database, starter: LocalProcessStarter) -> None:
        self._installation = installation
        self._database = database
        self._starter = starter
        self._not_before: dict[str, float] = {}

    def check(self) -> None:
        """Continue interrupted removals; one that fails is tried again after a while."""
        if not _is_in_service(self._database):
            return
        for urn in interrupted_removals(self._installation, self._database):
            if self._starter.has_exited(urn) is not False and monotonic() >= self._not_before.get(urn, 0.0):
                self._not_before[urn] = monotonic() + RESTART_DELAY_SECONDS
                logger.info("The removal of %s was interrupted: it is continued.", urn)
                self._starter.run(urn, remove_command(urn))


class ChildProcess:
    """A `tarantula` command that runs as long as the daemon, if the packages that it needs are installed."""

    def __init__(
        self,
        installation: Config,
        arguments: list[str],
        log: str,
        is_wanted: Callable[[], bool],
        restart_delay: float,
    ) -> None:
        self._installation = installation
        self._arguments = arguments
        self._log = log
        self._is_wanted = is_wanted
        self._restart_delay = restart_delay
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ending = False
        self._not_before = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(SHUTDOWN_TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def ensure_running(self) -> None:
        """Start the process if it is wanted and the restart delay is over; end it if it is not wanted any more."""
        if self._process is not None and self._process.poll() is not None:
            self._process, self._not_before = None, monotonic() + self._restart_delay
        is_wanted = self._is_wanted()
        if self._process is not None and not is_wanted and not self._is_ending:
            self._is_ending = True
            self._process.terminate()
        if self._process is None and monotonic() >= self._not_before and is_wanted:
            self._is_ending = False
            with (self._installation.home / self._log).open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tarantula", *self._arguments, "--beside", str(os.getpid())],
                    env=process_environment(self._installation),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )


def index_process(installation: Config, database: Database) -> ChildProcess:
    """Return the process that keeps the search index up to date."""
    return ChildProcess(
        installation,
        ["index"],
        "index.log",
        lambda: search.is_available() and _is_in_service(database),
        RESTART_DELAY_SECONDS,
    )


def reader_process(installation: Config, database: Database) -> ChildProcess:
    """Return the process that reads streams; it is started when there is a source."""

    def has_sources() -> bool:
        with database.reading() as session:
            return session.scalar(select(Source.id).limit(1)) is not None

    return ChildProcess(
        installation,
        ["stream", "read"],
        "streams.log",
        lambda: streams.is_available() and has_sources() and _is_in_service(database),
        READER_RESTART_DELAY_SECONDS,
    )


def _is_in_service(database: Database) -> bool:
    with database.reading() as session:
        return not is_drained(session.connection(), host_name())


@contextmanager
def running_daemon(installation: Config) -> Iterator[None]:
    """Run the daemon's jobs in background threads until the context ends.

    After SIGTERM its processes hand their work over; otherwise they continue, and the next daemon supervises them.
    """
    installation.make_home()
    check_notify_addresses(installation)
    starter = LocalProcessStarter(installation)
    with (
        open_database(installation) as database,
        index_process(installation, database) as index,
        reader_process(installation, database) as reader,
        FixitySchedule(installation, database),
    ):
        database.log_outages()
        coordinator = Coordinator(installation, database, starter)
        clock = DaemonClock(database)
        rounds = Rounds()
        for job in (
            lambda: coordinator.run(clock),
            coordinator.send_notices,
            RemovalRestarter(installation, database, starter).check,
            WithholdingFollower(installation, database).check,
            index.ensure_running,
            reader.ensure_running,
        ):
            rounds.add(job)
        logger.info(
            "Tarântula %s runs on %s, with home %s.", __version__, display_name(database.engine.url), installation.home
        )
        _log_other_homes(installation, database)
        rounds.start()
        try:
            yield
        finally:
            if is_terminating():
                starter.end_all()
            rounds.shutdown()
    if is_terminating():
        # Also those that the last round started.
        starter.end_all()
        starter.wait_all(SHUTDOWN_TIMEOUT_SECONDS)
    running = ", ".join(starter.running())
    logger.info("The daemon stops. %s", f"These items continue: {running}." if running else "No item is in progress.")


def _log_other_homes(installation: Config, database: Database) -> None:
    """Register this home, and log that items in other homes are not worked on."""
    with database.session() as session:
        home_id(installation, session.connection())
        others = other_homes(session, installation)
    if others:
        logger.warning(
            "This database also has items in other homes: %s. They are left to the daemons there.", "; ".join(others)
        )


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
