"""The daemon: runs the rounds of the coordinator every second, and keeps the index and stream processes running."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from time import monotonic
from typing import Self

from sqlalchemy import select

from tarantula import __version__, search, streams
from tarantula.archive.withheld_files import WithholdingFollower
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.database_errors import display_name
from tarantula.core.errors import DatabaseUnreachableError
from tarantula.core.termination import is_terminating
from tarantula.lifecycle.fixity_schedule import FixitySchedule
from tarantula.lifecycle.notifications import check_notify_addresses, send_item_notices
from tarantula.lifecycle.processes import (
    ItemProcessStarter,
    LocalProcessStarter,
    process_environment,
    remove_command,
)
from tarantula.lifecycle.removal import interrupted_removals
from tarantula.lifecycle.rounds import DaemonClock, Rounds
from tarantula.lifecycle.schedule import ItemPlanner
from tarantula.lifecycle.supervisor import ItemSupervisor, Launcher
from tarantula.models import Source
from tarantula.store.database import open_database
from tarantula.store.homes import home_id, other_homes
from tarantula.store.liveness import host_name, is_drained

RESTART_DELAY_SECONDS = 30.0
"""Pause before a child process is restarted; another process may already do its work."""
READER_RESTART_DELAY_SECONDS = 2.0
RECOVERY_SECONDS = 20.0
"""Time after an outage of the database in which collectors without a heartbeat do not count as crashed."""
SHUTDOWN_TIMEOUT_SECONDS = 10.0
"""Time that a child process has to exit before it is killed."""

logger = logging.getLogger(__name__)


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
