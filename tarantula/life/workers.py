"""Who is at work on an item: collectors by their signs of life, a conversion by its lock."""

from __future__ import annotations

import fcntl
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Connection, delete, select

from tarantula.config import Config
from tarantula.models import Collector
from tarantula.store.leases import DEAD, clock
from tarantula.store.machine import is_running, this_machine

LOCK = ".completing"
"""The file in an item's directory that whoever completes it has locked."""


def living(connection: Connection) -> list[tuple[int, int, str]]:
    """Return the collectors that are alive, as far as can be seen from here: id, item, machine."""
    rows = connection.execute(
        select(Collector.id, Collector.item_id, Collector.host, Collector.pid).where(
            Collector.heartbeat_at > clock(connection) - timedelta(seconds=DEAD)
        )
    )
    here = this_machine()
    return [(row.id, row.item_id, row.host) for row in rows if row.host != here or is_running(row.pid)]


def collectors_of(connection: Connection) -> Counter[int]:
    """Return how many living collectors each item has."""
    return Counter(item for _, item, _ in living(connection))


def forget_dead(connection: Connection, item_id: int) -> None:
    """Remove the rows of an item's collectors that are dead."""
    alive = [identity for identity, _, _ in living(connection)]
    connection.execute(delete(Collector).where(Collector.item_id == item_id, Collector.id.not_in(alive)))


@contextmanager
def completing(installation: Config, urn: str) -> Iterator[bool]:
    """Be the one who completes an item until the end, however that comes; say whether one is."""
    path = installation.items / urn / LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        yield _lock(file.fileno())


def is_completing(installation: Config, urn: str) -> bool:
    """Whether somebody completes an item now."""
    path: Path = installation.items / urn / LOCK
    if not path.exists():
        return False
    with path.open("r+") as file:
        return not _lock(file.fileno())


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
