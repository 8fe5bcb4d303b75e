"""The processes that people start from here; they outlive the pages."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tarantula.config import Config
from tarantula.errors import TarantulaError
from tarantula.life.starting import ProcessStarter
from tarantula.management.desk import Desk
from tarantula.states import ItemState


def start(desk: Desk, publication: str, urn: str, state: ItemState) -> None:
    """Start the process that takes an item on from its state, as a daemon does."""
    starter = _starter(desk.installation.home)
    # Whoever has ended meanwhile is let go.
    starter.running()
    try:
        starter.start(publication, urn, state)
    except OSError as error:
        raise TarantulaError(
            f"No process could be started for {urn} ({error.strerror}). A daemon tries it again."
        ) from error


@cache
def _starter(home: Path) -> ProcessStarter:
    return ProcessStarter(Config(home=home))
