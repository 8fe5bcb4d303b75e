"""The daemon: runs the rounds of the coordinator every second, and keeps the index and stream processes running."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from time import monotonic
from typing import Self

from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import select

from tarantula import __version__, search, streams
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.database_errors import display_name
from tarantula.core.process import PeriodicJob
from tarantula.lifecycle.notifications import check_notify_addresses, send_item_notices
from tarantula.lifecycle.processes import ItemProcessStarter, LocalProcessStarter, process_environment
from tarantula.lifecycle.schedule import ItemPlanner
from tarantula.lifecycle.supervisor import ItemSupervisor, Launcher
from tarantula.models import Source
from tarantula.store.database import open_database

ROUND_SECONDS = 1.0
"""Interval of the rounds."""
RESTART_DELAY_SECONDS = 30.0
"""Pause before a child process is restarted; another process may already do its work."""
READER_RESTART_DELAY_SECONDS = 2.0
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

    def round(self, now: datetime) -> None:
        """Create the items that are due, supervise those without a process, and start processes."""
        self._planner.plan(now)
        self._supervisor.check(now)
        self._launcher.launch(now)

    def send_notices(self) -> None:
        """Send the pending notifications of all items."""
        send_item_notices(self._installation, self._database)


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
        """Start the process if it is not running, it is wanted, and the restart delay is over."""
        if self._process is not None and self._process.poll() is not None:
            self._process, self._not_before = None, monotonic() + self._restart_delay
        if self._process is None and monotonic() >= self._not_before and self._is_wanted():
            with (self._installation.home / self._log).open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tarantula", *self._arguments, "--beside", str(os.getpid())],
                    env=process_environment(self._installation),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )


def index_process(installation: Config) -> ChildProcess:
    """Return the process that keeps the search index up to date."""
    return ChildProcess(installation, ["index"], "index.log", search.is_available, RESTART_DELAY_SECONDS)


def reader_process(installation: Config, database: Database) -> ChildProcess:
    """Return the process that reads streams; it is started when there is a source."""

    def has_sources() -> bool:
        with database.reading() as session:
            return session.scalar(select(Source.id).limit(1)) is not None

    return ChildProcess(
        installation,
        ["stream", "read"],
        "streams.log",
        lambda: streams.is_available() and has_sources(),
        READER_RESTART_DELAY_SECONDS,
    )


@contextmanager
def running_daemon(installation: Config) -> Iterator[None]:
    """Run the daemon's jobs in background threads until the context ends."""
    installation.make_home()
    check_notify_addresses(installation)
    starter = LocalProcessStarter(installation)
    with (
        open_database(installation) as database,
        index_process(installation) as index,
        reader_process(installation, database) as reader,
    ):
        coordinator = Coordinator(installation, database, starter)
        scheduler = BackgroundScheduler(timezone=UTC)
        jobs: tuple[Callable[[], None], ...] = (
            lambda: coordinator.round(datetime.now(UTC)),
            coordinator.send_notices,
            index.ensure_running,
            reader.ensure_running,
        )
        for job in jobs:
            work, now = PeriodicJob(job, logger), datetime.now(UTC)
            scheduler.add_job(work, "interval", seconds=ROUND_SECONDS, next_run_time=now, misfire_grace_time=None)
        logger.info(
            "Tarântula %s runs on %s, with home %s.", __version__, display_name(database.engine.url), installation.home
        )
        scheduler.start()
        try:
            yield
        finally:
            scheduler.shutdown()
    running = ", ".join(starter.running())
    logger.info("The daemon stops. %s", f"These items continue: {running}." if running else "No item is in progress.")
