"""Processes of items: commands that are started for them, and the lock of the process that completes one."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from tarantula.core.config import Config
from tarantula.core.states import ItemState

PROCESS_LOG = "daemon.log"
"""File in an item's directory with the output of its processes."""
COMPLETION_LOCK_FILE = ".completing"
"""File in an item's directory that is locked while the item is converted and archived."""


class ItemProcessStarter(Protocol):
    """Starts processes for items, and knows which of them have exited."""

    def start(self, publication: str, urn: str, state: ItemState) -> None:
        """Start the process that continues an item from its state."""

    def has_exited(self, urn: str) -> bool | None:
        """Whether the process started for an item has exited; ``None`` if none was started here."""


class LocalProcessStarter:
    """Starts processes on this machine. They continue when their parent exits."""

    def __init__(self, installation: Config) -> None:
        self._installation = installation
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, publication: str, urn: str, state: ItemState) -> None:
        """Start the process that continues an item from its state."""
        self.run(urn, complete_command(urn) if state == ItemState.CONVERTING else collect_command(publication, urn))

    def run(self, urn: str, command: list[str]) -> None:
        """Start a command for an item, with its output appended to `PROCESS_LOG`."""
        directory = self._installation.items / urn
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / PROCESS_LOG).open("ab") as log:
            self._processes[urn] = subprocess.Popen(
                command,
                env=process_environment(self._installation),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def has_exited(self, urn: str) -> bool | None:
        """Whether the process started for an item has exited; ``None`` if none was started here."""
        process = self._processes.get(urn)
        if process is None:
            return None
        if process.poll() is not None:
            del self._processes[urn]
            return True
        return False

    def running(self) -> list[str]:
        """Return the urns whose processes are running; forget those that have exited."""
        return [urn for urn in list(self._processes) if self.has_exited(urn) is False]


def collect_command(publication: str, urn: str) -> list[str]:
    """Return the command that collects an item."""
    return [sys.executable, "-m", "scrapy", "crawl", publication, "-a", f"item={urn}"]


def complete_command(urn: str) -> list[str]:
    """Return the command that converts and archives an item."""
    return [sys.executable, "-m", "tarantula", "item", "resume", urn, "--unaudited"]


def convert_command(urn: str) -> list[str]:
    """Return the command that converts an item again."""
    return [sys.executable, "-m", "tarantula", "item", "convert", urn, "--unaudited"]


def export_command(urn: str, form: str) -> list[str]:
    """Return the command that exports an item in a format, replacing an earlier export."""
    return [sys.executable, "-m", "tarantula", "item", "export", urn, "--format", form, "--force", "--unaudited"]


def process_environment(installation: Config) -> dict[str, str]:
    """Return the environment variables of a process of this installation."""
    return {**os.environ, "SCRAPY_SETTINGS_MODULE": "tarantula.settings", "TARANTULA_HOME": str(installation.home)}


@contextmanager
def completion_lock(installation: Config, urn: str) -> Iterator[bool]:
    """Lock the completion of an item; yield whether the lock was free. The lock ends with the process."""
    path = installation.items / urn / COMPLETION_LOCK_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        is_locked = _try_lock(file.fileno())
        try:
            yield is_locked
        finally:
            if is_locked:
                path.unlink(missing_ok=True)


def is_completing(installation: Config, urn: str) -> bool:
    """Whether a process holds the completion lock of an item."""
    try:
        with (installation.items / urn / COMPLETION_LOCK_FILE).open("r+") as file:
            return not _try_lock(file.fileno())
    except FileNotFoundError:
        return False


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
