"""Start the processes that work on an item, as the daemon does; they outlive the web server."""

from __future__ import annotations

from functools import cache

from tarantula.core.config import Config
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.states import ItemState
from tarantula.lifecycle.processes import LocalProcessStarter, collect_command, complete_command
from tarantula.services.context import ServiceContext


def start(context: ServiceContext, urn: str, state: ItemState) -> None:
    """Start the process that continues an item from its state: a collector, or the conversion."""
    run(context, urn, complete_command(urn) if state == ItemState.CONVERTING else collect_command(urn))


def run(context: ServiceContext, urn: str, command: list[str]) -> None:
    """Start a command that works on an item."""
    starter = _starter(context.installation)
    # Reaps the processes that have ended meanwhile.
    starter.running()
    try:
        starter.run(urn, command)
    except OSError as error:
        raise TarantulaError(
            "No process could be started for {urn} ({error}). A daemon tries it again.", urn=urn, error=error.strerror
        ) from error


def check_free(context: ServiceContext, urn: str) -> None:
    """Refuse a second process for an item while the first one runs."""
    if _starter(context.installation).has_exited(urn) is False:
        raise ConflictError("A process is already working on item {urn}.", urn=urn)


def end_all(installation: Config, seconds: float) -> None:
    """Have the processes that were started here hand their work over; wait for them, at most for some seconds."""
    _starter(installation).end_all()
    _starter(installation).wait_all(seconds)


@cache
def _starter(installation: Config) -> LocalProcessStarter:
    return LocalProcessStarter(installation)
