"""``tarantula verify``: read the stored files of items back, and report what is missing or damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from pydantic_core import to_jsonable_python
from rich.filesize import decimal

from tarantula.archive.damage import DamagedBody
from tarantula.archive.fixity import ItemCheck, ReadRate, no_limit
from tarantula.cli.terminal import Json, console, ending_early, progress_phases, table, write_json
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.output import SafeConsole
from tarantula.core.termination import EXIT_INCOMPLETE
from tarantula.core.times import parse_duration, parse_moment
from tarantula.services import fixity
from tarantula.services.context import local_context
from tarantula.services.fixity import MAX_DAMAGE


def verify(
    urns: Annotated[list[str] | None, typer.Argument(metavar="[URN]...", help="The items; default all.")] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate", metavar="MB/S", min=0.001, help="Megabytes to read per second; default all that the disk gives."
        ),
    ] = None,
    since: Annotated[
        str,
        typer.Option(
            "--since",
            metavar="TIME",
            help="Skip files that were verified after this moment, or within this duration, as 12h.",
        ),
    ] = "",
    full: Annotated[
        bool, typer.Option("--full", help="Decompress every record, also of files whose digest is as stored.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Read the stored files of items back, and compare them with the database."""
    begin = datetime.now(UTC)
    limiter = ReadRate(rate) if rate else no_limit
    known = _moment(since, begin)
    again = " ".join(["tarantula verify", *(urns or ()), "--since", (known or begin).isoformat(timespec="seconds")])
    unfinished = f"Not all files were read. Continue with `{again}`."
    with ending_early(unfinished), local_context() as context, progress_phases() as phase:
        results = fixity.verify(context, urns or (), known, limiter, lambda urn: phase(f"Verifying {urn}"), full)
        damage = {one.urn: fixity.item_damage(context, one.urn) for one in results if one.lost_bodies}
    if as_json:
        write_json([_as_dict(one, damage.get(one.urn, [])) for one in results])
    else:
        _draw(results, damage)
    # An item that is named is to be read; of all items, those that grow or are in another home are left out.
    if not all(one.is_whole if urns else one.is_sound for one in results):
        raise typer.Exit(EXIT_INCOMPLETE)


def _moment(text: str, now: datetime) -> datetime | None:
    try:
        if text and "-" not in text:
            return now - timedelta(seconds=parse_duration(text) or 0)
        return parse_moment(text, Config().zone)
    except ValueError as error:
        raise TarantulaError(str(error)) from error


def _as_dict(check: ItemCheck, damage: list[DamagedBody]) -> dict[str, Any]:
    return {
        **asdict(check),
        "whole": check.is_whole,
        "damage": to_jsonable_python(damage),
        "damage_left_out": max(check.lost_bodies - len(damage), 0),
    }


def _draw(results: list[ItemCheck], damage: dict[str, list[DamagedBody]]) -> None:
    screen = console()
    drawn = table("item", "files", "verified", "missing", "damaged", "size", "lost bodies", "remarks", whole="item",
                  numbers=("files", "verified", "missing", "damaged", "size", "lost bodies"))  # fmt: skip
    for check in results:
        drawn.add_row(
            check.urn,
            f"{len(check.files) + check.already:,}",
            *(f"{check.count(state):,}" for state in fixity.CHECKED_STATES),
            decimal(check.bytes),
            f"{check.lost_bodies:,}",
            " ".join(_remarks(check)),
        )
    screen.print(drawn)
    for check in results:
        for sentence in check.unreadable:
            screen.print(f"{check.urn}: {sentence}", style="red")
        for file in check.files:
            if file.problem:
                screen.print(f"{check.urn}/{file.name}: {file.problem} {file.lost:,} records are lost.", style="red")
        for row in damage.get(check.urn, []):
            _draw_damage(screen, row)
        if check.lost_bodies > MAX_DAMAGE:
            screen.print(f"{check.urn}: {check.lost_bodies - MAX_DAMAGE:,} further lost bodies are not listed.")


def _remarks(check: ItemCheck) -> Iterator[str]:
    if check.elsewhere:
        yield f"Not checked here: {check.elsewhere}"
    if check.already:
        yield f"{check.already:,} were verified before."
    if check.unread:
        yield f"Not closed, and not read: {', '.join(check.unread)}."
    if check.unknown:
        yield f"The database does not know {', '.join(check.unknown)}."


def _draw_damage(screen: SafeConsole, row: DamagedBody) -> None:
    screen.print(f"  {row.problem}: {row.url}", style="red")
    for other in row.others:
        screen.print(f"    the same body: {other.urn}, {other.url}")
    if not row.others:
        screen.print("    no other capture has the same body")
