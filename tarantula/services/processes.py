"""The processes that people start from here: the same that a daemon starts. They outlive the pages."""

from __future__ import annotations

from functools import cache

from tarantula.core.config import Config
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.states import ItemState
from tarantula.lifecycle.processes import LocalProcessStarter, collect_command, complete_command
from tarantula.services.context import ServiceContext


def start(context: ServiceContext, publication: str, urn: str, state: ItemState) -> None:
    """Start the process that takes an item on from its state, as a daemon does."""
    run(context, urn, complete_command(urn) if state == ItemState.CONVERTING else collect_command(publication, urn))


def run(context: ServiceContext, urn: str, command: list[str]) -> None:
    """Start a process that does something to an item."""
    starter = _starter(context.installation)
    # Whoever has ended meanwhile is let go.
    starter.running()
    try:
        starter.run(urn, command)
    except OSError as error:
        raise TarantulaError(
            f"No process could be started for {urn} ({error.strerror}). A daemon tries it again."
        ) from error


def check_free(context: ServiceContext, urn: str) -> None:
    """Refuse to start a second process for an item while the first one is at work."""
    if _starter(context.installation).is_gone(urn) is False:
        raise ConflictError(f"Somebody is at work on item {urn} already.")


@cache
def _starter(installation: Config) -> LocalProcessStarter:
    return LocalProcessStarter(installation)
