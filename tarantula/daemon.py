"""The clock of the daemon: calls the coordinator, again and again."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from apscheduler.schedulers.background import BackgroundScheduler

from tarantula import __version__
from tarantula.config import Config
from tarantula.coordinator import Coordinator
from tarantula.db import open_database
from tarantula.db_errors import shown
from tarantula.life.beside import indexing, reading
from tarantula.life.starting import ProcessStarter
from tarantula.life.telling import check_addresses
from tarantula.patient import Patient

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
