"""Machines and the processes on them: start work on an item, drain a machine, see what runs."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.states import ACTIVE_ITEM_STATES, ItemState
from tarantula.lifecycle.processes import LocalProcessStarter, collect_command, complete_command
from tarantula.models import DrainedMachine, Item
from tarantula.services.context import ServiceContext
from tarantula.store.liveness import database_time, host_name, live_collectors

STREAM_READER = "streams"
"""Work of the process that reads streams."""


class MachineProcess(BaseModel):
    """A process that works on a machine."""

    model_config = ConfigDict(frozen=True)

    work: str
    """The item that it collects or converts; ``streams`` for the stream reader."""
    pid: int | None
    """``None`` while it is being started, and for a conversion."""
    hands_over: bool = True
    """Whether it leaves its work to other machines; not a command that was started by hand."""


class DrainedRow(BaseModel):
    """A machine that is being emptied, with the processes that still run on it."""

    model_config = ConfigDict(frozen=True)

    host: str
    since: datetime
    by: str
    processes: list[MachineProcess]


def this_host() -> str:
    """Return the name of this machine, as its processes have it in the database."""
    return host_name()


def drain(context: ServiceContext, host: str) -> None:
    """Have the processes on a machine hand their work over, and start no others there."""
    with context.changing("machine.drain", host, needed=Role.ADMINISTRATOR) as session:
        if session.get(DrainedMachine, _checked(host)) is None:
            now = database_time(session.connection())
            session.add(DrainedMachine(host=host, since=now, by=context.person.name))


def undo_drain(context: ServiceContext, host: str) -> None:
    """Take a machine into service again."""
    with context.changing("machine.undrain", host, needed=Role.ADMINISTRATOR) as session:
        row = session.get(DrainedMachine, _checked(host))
        if row is None:
            raise ConflictError(
                "The machine {host} is in service. `tarantula drain --list` shows those that are not.", host=host
            )
        session.delete(row)


def list_drained(context: ServiceContext) -> list[DrainedRow]:
    """Return the machines that are being emptied, by name."""
    with context.reading() as session:
        return drained_machines(session)


def drained_machines(session: Session) -> list[DrainedRow]:
    """Return the machines that are being emptied, within a transaction."""
    return [
        DrainedRow(host=row.host, since=row.since, by=row.by, processes=_processes_on(session, row.host))
        for row in session.scalars(select(DrainedMachine).order_by(DrainedMachine.host))
    ]


def processes_on(context: ServiceContext, host: str) -> list[MachineProcess]:
    """Return the processes of items and streams that run on a machine or are being started there."""
    with context.reading() as session:
        return _processes_on(session, host)


def hand_started(context: ServiceContext, host: str) -> list[MachineProcess]:
    """Return the commands with this home that convert or export an item again, which draining does not end.

    Those of other machines, containers and users cannot be seen from here.
    """
    if host != host_name():
        return []
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        # It may have exited, or be of another user.
        with suppress(OSError):
            work = _hand_started_work(_words(process / "cmdline"))
            if work is not None and _home_of(process) == context.installation.home.resolve():
                found.append(MachineProcess(work=work, pid=int(process.name), hands_over=False))
    return found


def _hand_started_work(words: list[str]) -> str | None:
    """Return the subcommand of a command line, if it converts or exports an item."""
    at = words.index("item") if "item" in words else 0
    if not at or Path(words[at - 1]).name != "tarantula" or not {"convert", "export"} & set(words[at + 1 : at + 2]):
        return None
    return " ".join(words[at:])


def _home_of(process: Path) -> Path:
    """Return the home of a running command, from its environment."""
    values = dict(word.partition("=")[::2] for word in _words(process / "environ"))
    return (process / "cwd").resolve().joinpath(values.get("TARANTULA_HOME") or "tarantula-home").resolve()


def _words(path: Path) -> list[str]:
    return path.read_bytes().decode(errors="replace").rstrip("\0").split("\0")


def _processes_on(session: Session, host: str) -> list[MachineProcess]:
    running = [one for one in live_collectors(session.connection()) if host_name(one.host) == host]
    urns = dict(session.execute(select(Item.id, Item.urn).where(Item.id.in_([one.item_id for one in running]))).all())
    launched = session.execute(
        select(Item.urn, Item.launched_on).where(
            Item.state.in_(ACTIVE_ITEM_STATES), Item.launched_at.is_not(None), Item.id.not_in(list(urns))
        )
    )
    return [
        *(MachineProcess(work=urns.get(one.item_id or 0, STREAM_READER), pid=one.pid) for one in running),
        *(MachineProcess(work=urn, pid=None) for urn, machine in launched if host_name(machine) == host),
    ]


def _checked(host: str) -> str:
    if not host or "/" in host or len(host) > 255:
        raise TarantulaError("{host!r} is not the name of a machine: give it as `hostname` prints it.", host=host[:80])
    return host


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
