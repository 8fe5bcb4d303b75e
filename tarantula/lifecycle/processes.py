"""Processes of items: commands that are started for them, and the lock of the process that completes one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Protocol

from tarantula.core.config import Config
from tarantula.core.files import file_lock
from tarantula.core.states import ItemState
from tarantula.core.termination import sigterm_blocked

PROCESS_LOG = "daemon.log"
"""File in an item's directory with the output of its processes."""
COMPLETION_LOCK_FILE = ".completing"
"""File in an item's directory that is locked while the item is converted and archived."""


class ItemProcessStarter(Protocol):
    """Starts processes for items, and knows which of them have exited."""

    def start(self, urn: str, state: ItemState) -> None:
        """Start the process that continues an item from its state."""

    def end_all(self) -> None:
        """Have all processes that were started here hand their work over."""

    def has_exited(self, urn: str) -> bool | None:
        """Whether the process started for an item has exited; ``None`` if none was started here."""


class LocalProcessStarter:
    """Starts processes on this machine. They continue when their parent exits, unless `end_all` is called."""

    def __init__(self, installation: Config) -> None:
        self._installation = installation
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._terminated: set[int] = set()

    def start(self, urn: str, state: ItemState) -> None:
        """Start the process that continues an item from its state."""
        with sigterm_blocked():
            self.run(urn, complete_command(urn) if state == ItemState.CONVERTING else collect_command(urn))

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

    def end_all(self) -> None:
        """Send SIGTERM to the processes that are running, once to each: they hand their work over."""
        for urn in self.running():
            process = self._processes[urn]
            if process.pid not in self._terminated:
                self._terminated.add(process.pid)
                process.terminate()

    def wait_all(self, seconds: float) -> list[str]:
        """Wait until all processes have exited, at most for some seconds; return the urns of those that have not."""
        until = monotonic() + seconds
        for urn in self.running():
            with suppress(subprocess.TimeoutExpired):
                self._processes[urn].wait(max(until - monotonic(), 0.0))
        return self.running()

    def running(self) -> list[str]:
        """Return the urns whose processes are running; forget those that have exited."""
        return [urn for urn in list(self._processes) if self.has_exited(urn) is False]


def collect_command(urn: str) -> list[str]:
    """Return the command that collects an item, whatever its publication is called."""
    return [sys.executable, "-m", "scrapy", "crawl", "publication", "-a", f"item={urn}"]


def complete_command(urn: str) -> list[str]:
    """Return the command that converts and archives an item."""
    return [sys.executable, "-m", "tarantula", "item", "resume", urn, "--unaudited"]


def convert_command(urn: str) -> list[str]:
    """Return the command that converts an item again."""
    return [sys.executable, "-m", "tarantula", "item", "convert", urn, "--unaudited"]


def export_command(urn: str, form: str, partial: bool = False) -> list[str]:
    """Return the command that exports an item, replacing an earlier export; with *partial* also if incomplete."""
    options = ["--format", form, "--force", "--unaudited", *(["--partial"] if partial else [])]
    return [sys.executable, "-m", "tarantula", "item", "export", urn, *options]


def remove_command(urn: str, force: bool = False) -> list[str]:
    """Return the command that removes an item, or continues its removal; with *force* also if others lose bodies."""
    return [sys.executable, "-m", "tarantula", "item", "remove", urn, "--unaudited", *(["--force"] if force else [])]


def process_environment(installation: Config) -> dict[str, str]:
    """Return the environment variables of a process of this installation."""
    return {**os.environ, "SCRAPY_SETTINGS_MODULE": "tarantula.settings", "TARANTULA_HOME": str(installation.home)}


@contextmanager
def completion_lock(installation: Config, urn: str) -> Iterator[bool]:
    """Lock the completion of an item; yield whether the lock was free. The lock ends with the process."""
    path = installation.items / urn / COMPLETION_LOCK_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with file_lock(path, remove=True) as is_locked:
        yield is_locked


def is_completing(installation: Config, urn: str) -> bool:
    """Whether a process holds the completion lock of an item."""
    path = installation.items / urn / COMPLETION_LOCK_FILE
    if not path.exists():
        return False
    try:
        with file_lock(path, remove=True) as is_free:
            return not is_free
    except FileNotFoundError:
        # The item was removed meanwhile.
        return False
