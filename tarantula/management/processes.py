"""Processes that somebody starts: the same that a daemon starts, and they outlive the pages as they outlive it."""

from __future__ import annotations

from functools import cache

from tarantula.config import Config
from tarantula.life.starting import ProcessStarter


def starter_of(installation: Config) -> ProcessStarter:
    """Return who starts processes in an installation, and knows which of them run."""
    starter = _starter(installation)
    # Those that ended are let go of.
    starter.running()
    return starter


@cache
def _starter(installation: Config) -> ProcessStarter:
    return ProcessStarter(installation)
