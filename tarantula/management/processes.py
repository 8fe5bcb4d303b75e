"""Processes that somebody starts: the same that a daemon starts, and they outlive the pages as they outlive it."""

from __future__ import annotations

from functools import cache

from tarantula.config import Config
from tarantula.errors import TarantulaError
from tarantula.life.starting import ProcessStarter
from tarantula.management.desk import Desk
from tarantula.states import ItemState


def start(desk: Desk, publication: str, urn: str, state: ItemState) -> None:
    """Start the process that takes an item on from its state, as a daemon does."""
    try:
        starter_of(desk.installation).start(publication, urn, state)
    except OSError as error:
        raise TarantulaError(
            f"No process could be started for {urn} ({error.strerror}). A daemon tries it again."
        ) from error


def starter_of(installation: Config) -> ProcessStarter:
    """Return who starts processes in an installation, and knows which of them run."""
    starter = _starter(installation)
    # Those that ended are let go of.
    starter.running()
    return starter


@cache
def _starter(installation: Config) -> ProcessStarter:
    return ProcessStarter(installation)
