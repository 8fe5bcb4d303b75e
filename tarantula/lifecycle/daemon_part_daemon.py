"""The clock of the daemon: calls the coordinator, again and again."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from apscheduler.schedulers.background import BackgroundScheduler

from tarantula import __version__
from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.core.database_errors import shown
from tarantula.core.process import Patient
from tarantula.lifecycle.coordinator import Coordinator
from tarantula.lifecycle.daemon import indexing, reading
from tarantula.lifecycle.notifications import check_addresses
from tarantula.lifecycle.processes_part_starting import ProcessStarter

ROUND = 1.0
"""Seconds between two rounds."""

logger = logging.getLogger(__name__)


@contextmanager
def ticking(installation: Config) -> Iterator[None]:
    """Do one round after another, meanwhile."""
    installation.make_home()
    check_addresses(installation)
    starter = ProcessStarter(installation)
    with (
        open_database(installation) as database,
        indexing(installation) as index,
        reading(installation, database) as streams,
    ):
        coordinator = Coordinator(installation, database, starter)
        scheduler = BackgroundScheduler(timezone=UTC)
        for job in (lambda: coordinator.round(datetime.now(UTC)), coordinator.tell, index.look, streams.look):
            work, now = Patient(job, logger), datetime.now(UTC)
            scheduler.add_job(work, "interval", seconds=ROUND, next_run_time=now, misfire_grace_time=None)
        logger.info("Tarântula %s looks after %s, in %s.", __version__, shown(database.engine.url), installation.home)
        scheduler.start()
        try:
            yield
        finally:
            scheduler.shutdown()
    left = ", ".join(starter.running())
    logger.info("The daemon ends. %s", f"Still at work without it: {left}." if left else "Nothing was under way.")
