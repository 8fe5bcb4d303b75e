"""The process that keeps the index up to date, while a daemon runs."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from time import monotonic
from typing import Self

from tarantula import search
from tarantula.config import Config
from tarantula.life.starting import environment

COMMAND = [sys.executable, "-m", "tarantula", "index", "--beside"]
LOG = "index.log"
"""The file in the home that has what it said."""
PATIENCE = 30.0
"""Seconds after which one that ended is started again: another process may have the index."""
LAST_WORDS = 10.0
"""Seconds for its end."""

logger = logging.getLogger(__name__)


class Indexing:
    """Starts it, looks after it, and ends it; without the packages that it needs nothing is done."""

    def __init__(self, installation: Config) -> None:
        self._installation = installation
        self._process: subprocess.Popen[bytes] | None = None
        self._not_before = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(LAST_WORDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def look(self) -> None:
        """Start the process, if none is running."""
        if self._process is not None and self._process.poll() is not None:
            self._process, self._not_before = None, monotonic() + PATIENCE
        if self._process is None and monotonic() >= self._not_before and search.is_possible():
            with (self._installation.home / LOG).open("ab") as words:
                self._process = subprocess.Popen(
                    [*COMMAND, str(os.getpid())],
                    env=environment(self._installation),
                    stdin=subprocess.DEVNULL,
                    stdout=words,
                    stderr=words,
                )
