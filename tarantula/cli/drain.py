"""``tarantula drain``: empty a machine before a reboot, and take it into service again."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from tarantula.cli.terminal import Json, console, local_time, table, write_json
from tarantula.core.termination import EXIT_INCOMPLETE
from tarantula.services import machines
from tarantula.services.context import ServiceContext, local_context
from tarantula.services.machines import MachineProcess

POLL_SECONDS = 0.2


def drain(
    host: Annotated[str | None, typer.Argument(metavar="HOST", help="The machine; default this one.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take the machine into service again.")] = False,
    show: Annotated[bool, typer.Option("--list", help="List the machines that are being emptied.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0, help="How long to wait until it is empty.")
    ] = 60.0,
    as_json: Json = False,
) -> None:
    """Empty a machine: its processes hand their work over to other machines, and none is started on it."""
    host = host or machines.this_host()
    with local_context() as context:
        if show:
            _list(context, as_json)
        elif undo:
            machines.undo_drain(context, host)
            print(f"{host} is in service again.")
        else:
            machines.drain(context, host)
            _report(host, _wait(context, host, timeout), as_json)


def _wait(context: ServiceContext, host: str, timeout: float) -> list[MachineProcess]:
    """Wait until a machine is empty, at most for some seconds; return the processes that are left."""
    until, shown = time.monotonic() + timeout, ""
    while (left := _left(context, host)) and time.monotonic() < until:
        if (line := f"Waiting for {_names(left)} on {host}.") != shown:
            typer.echo(line, err=True)
        shown = line
        time.sleep(POLL_SECONDS)
    return left


def _left(context: ServiceContext, host: str) -> list[MachineProcess]:
    return machines.processes_on(context, host) + machines.hand_started(context, host)


def _report(host: str, left: list[MachineProcess], as_json: bool) -> None:
    if as_json:
        write_json({"host": host, "processes": [one.model_dump() for one in left]})
    elif left:
        print(f"{host} is not empty yet: {_names(left)}. Nothing new is started on it.")
        if kept := [one for one in left if not one.hands_over]:
            print(f"Commands that were started by hand do not hand over: {_names(kept)}. Wait for them, or end them.")
    else:
        print(f"{host} is empty. `tarantula drain --undo {host}` takes it into service again.")
    if left:
        raise typer.Exit(EXIT_INCOMPLETE)


def _list(context: ServiceContext, as_json: bool) -> None:
    rows = machines.list_drained(context)
    if as_json:
        write_json([row.model_dump(mode="json") for row in rows])
        return
    drawn = table("machine", "since", "by", "still running")
    for row in rows:
        drawn.add_row(row.host, local_time(row.since), row.by, _names(row.processes) or "nothing")
    console().print(drawn)


def _names(processes: list[MachineProcess]) -> str:
    return ", ".join(one.work if one.pid is None else f"{one.work} (process {one.pid})" for one in processes)
