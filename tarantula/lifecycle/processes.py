"""Processes of an item: start them, list those that are alive, lock the completion, read their logs."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from sqlalchemy import Connection, select

from tarantula.core.config import Config
from tarantula.core.states import ItemState
from tarantula.models import Collector
from tarantula.store.liveness import is_alive, is_running, machine_id, remove_collectors

PROCESS_LOG = "daemon.log"
"""The file in an item's directory that has what its processes said."""


class ItemProcessStarter(Protocol):
    """Starts processes, and knows which of its own are gone."""

    def start(self, publication: str, urn: str, state: ItemState) -> None:
        """Start the process that takes an item on from its state."""

    def is_gone(self, urn: str) -> bool | None:
        """Whether the process that was started for an item has ended; nothing if none was."""


class LocalProcessStarter:
    """Starts them on this machine. They outlive whoever started them."""

    def __init__(self, installation: Config) -> None:
        self._installation = installation
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, publication: str, urn: str, state: ItemState) -> None:
        """Start the process that takes an item on from its state."""
        self.run(urn, complete_command(urn) if state == ItemState.CONVERTING else collect_command(publication, urn))

    def run(self, urn: str, command: list[str]) -> None:
        """Start a process that does something to an item; what it says is in the item's directory."""
        directory = self._installation.items / urn
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / PROCESS_LOG).open("ab") as words:
            self._processes[urn] = subprocess.Popen(
                command,
                env=process_environment(self._installation),
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                start_new_session=True,
            )

    def is_gone(self, urn: str) -> bool | None:
        """Whether the process that was started for an item has ended; nothing if none was."""
        process = self._processes.get(urn)
        if process is None:
            return None
        if process.poll() is not None:
            del self._processes[urn]
            return True
        return False

    def running(self) -> list[str]:
        """Return the items whose processes are running, and let go of those that ended."""
        return [urn for urn in list(self._processes) if self.is_gone(urn) is False]


def collect_command(publication: str, urn: str) -> list[str]:
    """Return the command that collects an item."""
    return [sys.executable, "-m", "scrapy", "crawl", publication, "-a", f"item={urn}"]


def complete_command(urn: str) -> list[str]:
    """Return the command that converts and archives an item."""
    return [sys.executable, "-m", "tarantula", "item", "resume", urn]


def convert_command(urn: str) -> list[str]:
    """Return the command that makes the copy of an item anew."""
    return [sys.executable, "-m", "tarantula", "item", "convert", urn]


def export_command(urn: str, form: str) -> list[str]:
    """Return the command that writes an item for deposit, in the place of what is there."""
    return [sys.executable, "-m", "tarantula", "item", "export", urn, "--format", form, "--force"]


def process_environment(installation: Config) -> dict[str, str]:
    """Return what such a process must know."""
    return {**os.environ, "SCRAPY_SETTINGS_MODULE": "tarantula.settings", "TARANTULA_HOME": str(installation.home)}


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


TAIL_BYTES = 1 << 16
"""Bytes of a log, from its end, that are looked at."""


def read_log_tail(directory: Path, lines: int) -> list[str]:
    """Return the last lines of the log in a directory that was written to last."""
    logs = [(path.stat().st_mtime, path) for path in directory.glob("*.log")]
    if not logs:
        return []
    with max(logs)[1].open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - TAIL_BYTES, 0))
        words = file.read(TAIL_BYTES).decode("utf-8", "replace").splitlines()
    return (words if size <= TAIL_BYTES else words[1:])[-lines:]
