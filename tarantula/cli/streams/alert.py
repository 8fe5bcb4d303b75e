"""``tarantula stream alert``: what somebody wants to be told of a source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from sqlalchemy.orm import Session

from tarantula.cli.terminal import console, local_time, table, write_json
from tarantula.core.database import open_database
from tarantula.core.errors import TarantulaError
from tarantula.core.times import format_duration, parse_moment
from tarantula.models import Source
from tarantula.services.streams.alerts import AlertRow, alert_row, firing_row
from tarantula.streams.alerts import registry
from tarantula.streams.alerts.config import read_alert
from tarantula.streams.alerts.replay import DryRun, dry_run_config
from tarantula.streams.sources import registry as sources

app = typer.Typer(
    help="What somebody wants to be told: conditions on the values of a source.",
    no_args_is_help=True,
    add_completion=False,
)

DRY_RUN_DAYS = 30
Number = Annotated[int, typer.Argument(metavar="NUMBER", help="The alert.")]
Json = Annotated[bool, typer.Option("--json", help="For a program to read.")]
Name = Annotated[str | None, typer.Option("--name", help="What people call it; the condition unless told.")]
Margin = Annotated[
    str | None, typer.Option("--margin", help="How far numbers have to come back before it may fire again.")
]
Hold = Annotated[str | None, typer.Option("--hold", help="For how long it has to be true before it fires: 10m.")]
Pause = Annotated[str | None, typer.Option("--pause", help="The least time between two firings: 1h.")]
AtFirst = Annotated[
    bool | None, typer.Option("--at-first/--not-at-first", help="Fire also if it is true from the first.")
]
Notify = Annotated[
    list[str] | None, typer.Option("--notify", metavar="'A;B'", help="Whom to tell: addresses of Apprise.")
]
On = Annotated[bool | None, typer.Option("--on/--off", help="Whether it is watched.")]
Owner = Annotated[str, typer.Option("--owner", help="The account whose it is; the installation's own unless told.")]


@app.command()
def add(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="What is watched, as weather.lisboa.")],
    condition: Annotated[str, typer.Argument(metavar="CONDITION", help="When it fires, as 'temperature > 30'.")],
    name: Name = None,
    margin: Margin = None,
    hold: Hold = None,
    pause: Pause = None,
    at_first: AtFirst = None,
    notify: Notify = None,
    owner: Owner = "",
) -> None:
    """Be told of something from now on."""
    values = _given(
        condition=condition, name=name, margin=margin, hold=hold, pause=pause, at_first=at_first, notify=notify
    )
    with _session() as session:
        alert = registry.add_alert(session, source, values, owner, owner or None)
        row = alert_row(alert, session.get_one(Source, alert.source_id))
    print(f"Alert {row.id} watches {row.source}: {row.condition}")


@app.command("list")
def list_all(
    source: Annotated[str | None, typer.Argument(metavar="[SOURCE]", help="Only those on this source.")] = None,
    owner: Annotated[str | None, typer.Option("--owner", help="Only those of this account.")] = None,
    as_json: Json = False,
) -> None:
    """Show every alert."""
    with open_database() as database, database.reading() as session:
        found = registry.list_alerts(session, None, source)
        rows = [alert_row(alert, one) for alert, one in found if owner is None or alert.owner == owner]
    if as_json:
        write_json([row.model_dump(mode="json") for row in rows])
        return
    drawn = table("number", "source", "owner", "name", "condition", "on", numbers=("number",))
    for row in rows:
        drawn.add_row(str(row.id), row.source, row.owner, row.name, row.condition, "yes" if row.on else "no")
    console().print(drawn)


@app.command()
def show(number: Number, as_json: Json = False) -> None:
    """Show one alert."""
    with open_database() as database, database.reading() as session:
        alert = registry.get_alert(session, number)
        row = alert_row(alert, session.get_one(Source, alert.source_id))
    if as_json:
        write_json(row.model_dump(mode="json"))
        return
    drawn = table("field", "value")
    for field, value in _shown(row).items():
        drawn.add_row(field, value)
    console().print(drawn)


@app.command()
def edit(
    number: Number,
    condition: Annotated[str | None, typer.Option("--condition", help="When it fires.")] = None,
    name: Name = None,
    margin: Margin = None,
    hold: Hold = None,
    pause: Pause = None,
    at_first: AtFirst = None,
    notify: Notify = None,
    on: On = None,
) -> None:
    """Change an alert; if it looks for something else, it begins anew."""
    changes = _given(
        condition=condition, name=name, margin=margin, hold=hold, pause=pause, at_first=at_first, notify=notify, on=on
    )
    if not changes:
        raise TarantulaError("Say what is to change: --condition, --margin, --off, or another option.")
    with _session() as session:
        alert = registry.edit_alert(session, number, changes)
        row = alert_row(alert, session.get_one(Source, alert.source_id))
    print(f"Alert {row.id} {'watches' if row.on else 'is off for'} {row.source}: {row.condition}")


@app.command()
def remove(number: Number, yes: Annotated[bool, typer.Option("--yes", help="Do not ask once more.")] = False) -> None:
    """Remove an alert, with what it fired."""
    with open_database() as database:
        with database.reading() as session:
            name = registry.get_alert(session, number).name
        if not yes:
            typer.confirm(f"Remove the alert {number}, {name}?", abort=True)
        with database.session() as session:
            registry.remove_alert(session, number)
    print(f"Alert {number} is removed.")


@app.command("test")
def try_out(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The number of an alert, or a source.")],
    condition: Annotated[str | None, typer.Argument(metavar="[CONDITION]", help="On that source.")] = None,
    begin: Annotated[str | None, typer.Option("--from", help="Since when; thirty days ago unless told.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Until when; now unless told.")] = None,
    margin: Margin = None,
    hold: Hold = None,
    pause: Pause = None,
    at_first: AtFirst = None,
    as_json: Json = False,
) -> None:
    """Say when an alert would have fired in the past; nothing is stored."""
    began, ended = _stretch(begin, end)
    values = _given(condition=condition, margin=margin, hold=hold, pause=pause, at_first=at_first)
    with open_database() as database, database.reading() as session:
        done = _tried(session, target, values, began, ended)
    if as_json:
        write_json(done.model_dump(mode="json"))
        return
    drawn = table("when", "row", "why")
    for one in done.fired:
        drawn.add_row(local_time(one.at), one.row, one.why)
    console().print(drawn)
    for note in done.notes:
        print(note)
    print(f"It would have fired {done.count} times in {done.moments} moments.")


@app.command()
def fired(
    number: Annotated[int | None, typer.Argument(metavar="[NUMBER]", help="Only of this alert.")] = None,
    unseen: Annotated[bool, typer.Option("--unseen", help="Only those that were not dismissed.")] = False,
    owner: Annotated[str | None, typer.Option("--owner", help="Only of the alerts of this account.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many, the latest first.")] = 100,
    as_json: Json = False,
) -> None:
    """Show what fired, the latest first, and why."""
    with open_database() as database, database.reading() as session:
        found = registry.list_firings(session, owner, alert=number, unseen=True if unseen else None, limit=limit)
        rows = [firing_row(one) for one in found]
    if as_json:
        write_json([row.model_dump(mode="json") for row in rows])
        return
    drawn = table("when", "alert", "source", "row", "why", numbers=("alert",))
    for row in rows:
        why = "\n".join(filter(None, (row.why, row.untold)))
        drawn.add_row(local_time(row.at), str(row.alert), row.source, row.row, why)
    console().print(drawn)


@contextmanager
def _session() -> Iterator[Session]:
    with open_database() as database, database.session() as session:
        yield session


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _shown(row: AlertRow) -> dict[str, str]:
    times = {
        name: format_duration(value) if value else "" for name, value in (("hold", row.hold), ("pause", row.pause))
    }
    return {
        "source": row.source,
        "owner": row.owner,
        "name": row.name,
        "condition": row.condition,
        "margin": row.margin,
        **times,
        "at first": "yes" if row.at_first else "no",
        # Addresses carry passwords: only the beginning is shown.
        "notify": "; ".join(address.partition("://")[0] for address in row.notify),
        "on": "yes" if row.on else "no",
    }


def _stretch(begin: str | None, end: str | None) -> tuple[int, int]:
    try:
        ended = parse_moment(end) or datetime.now(UTC)
        began = parse_moment(begin) or ended - timedelta(days=DRY_RUN_DAYS)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
    if began >= ended:
        raise TarantulaError("A dry run goes from one moment to a later one.")
    return int(began.timestamp() * 1_000_000), int(ended.timestamp() * 1_000_000)


def _tried(session: Session, target: str, values: dict[str, Any], begin: int, end: int) -> DryRun:
    """Try out a stored alert, perhaps with other values, or one that need not be stored."""
    if "condition" in values:
        source = sources.get(session, target)
    elif target.isdecimal():
        alert = registry.get_alert(session, int(target))
        source = session.get_one(Source, alert.source_id)
        values = {**registry.alert_config(alert).model_dump(mode="json", exclude={"understood"}), **values}
    else:
        raise TarantulaError("Name an alert by its number, or a source and a condition.")
    return dry_run_config(
        session, source, registry.with_typed_literals(session, source, read_alert(values)), begin, end
    )
