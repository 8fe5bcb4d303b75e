"""Processes of their own: a collector for an item that is to be collected, or somebody who completes one."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Protocol

from tarantula.core.config import Config
from tarantula.core.states import ItemState

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
