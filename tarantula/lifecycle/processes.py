"""Who is at work on an item: collectors by their signs of life, a conversion by its lock."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from sqlalchemy import Connection, select

from tarantula.core.config import Config
from tarantula.store.liveness_part_collectors import is_alive, remove_collectors
from tarantula.store.liveness_part_machine import is_running, machine_id
from tarantula.tables.publications import Collector

logger = logging.getLogger(__name__)

COMPLETION_LOCK_FILE = ".completing"
"""The file in an item's directory that whoever completes it has locked."""


class LiveCollector(NamedTuple):
    """A collector that is alive."""

    id: int
    item_id: int | None
    host: str
    pid: int


def live_collectors(connection: Connection) -> list[LiveCollector]:
    """Return the collectors that are alive, as far as can be seen from here."""
    rows = connection.execute(
        select(Collector.id, Collector.item_id, Collector.host, Collector.pid).where(is_alive(connection))
    )
    here = machine_id()
    return [LiveCollector(*row) for row in rows if row.host != here or is_running(row.pid)]


def has_collector(connection: Connection, item_id: int) -> bool:
    """Whether a living collector is at work on an item."""
    return any(worker.item_id == item_id for worker in live_collectors(connection))


def remove_dead_collectors(connection: Connection, item_id: int) -> None:
    """Remove the rows of an item's collectors that are dead."""
    alive = [worker.id for worker in live_collectors(connection)]
    remove_collectors(connection, (Collector.item_id == item_id) & Collector.id.not_in(alive))


def kill_collectors(workers: Iterable[LiveCollector]) -> None:
    """End those of some collectors that run on this machine, whatever they do."""
    for worker in workers:
        if worker.host == machine_id():
            logger.warning("The collector with process id %d does not obey, and is killed.", worker.pid)
            with suppress(ProcessLookupError, PermissionError):
                os.kill(worker.pid, signal.SIGKILL)


@contextmanager
def completion_lock(installation: Config, urn: str) -> Iterator[bool]:
    """Be the one who completes an item until the end, however that comes; say whether one is."""
    path = installation.items / urn / COMPLETION_LOCK_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        alone = _lock(file.fileno())
        try:
            yield alone
        finally:
            if alone:
                path.unlink(missing_ok=True)


def is_completing(installation: Config, urn: str) -> bool:
    """Whether somebody completes an item now."""
    try:
        with (installation.items / urn / COMPLETION_LOCK_FILE).open("r+") as file:
            return not _lock(file.fileno())
    except FileNotFoundError:
        return False


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
