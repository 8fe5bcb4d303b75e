"""``tarantula stream alert``: conditions on the values of a source, and what fired."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from tarantula.cli.terminal import Json, Yes, console, local_time, table, write_json, yes_or_no
from tarantula.core.errors import TarantulaError
from tarantula.core.times import format_duration, parse_moment
from tarantula.services.context import ServiceContext, local_context
from tarantula.services.streams import alerts
from tarantula.services.streams.alerts import AlertRow
from tarantula.streams.alerts import registry
from tarantula.streams.alerts.replay import DryRun

app = typer.Typer(
    help="Alerts: conditions on the values of a source.",
    no_args_is_help=True,
    add_completion=False,
)

Number = Annotated[int, typer.Argument(metavar="NUMBER", help="The alert.")]
Name = Annotated[str | None, typer.Option("--name", help="Name; default the condition.")]
Margin = Annotated[
    str | None, typer.Option("--margin", help="Hysteresis: how far a number must return before it can fire again.")
]
Hold = Annotated[str | None, typer.Option("--hold", help="How long the condition must hold before it fires: 10m.")]
Pause = Annotated[str | None, typer.Option("--pause", help="Minimum time between two firings: 1h.")]
AtFirst = Annotated[
    bool | None, typer.Option("--at-first/--not-at-first", help="Fire if the condition is true at the first value.")
]
Notify = Annotated[
    list[str] | None, typer.Option("--notify", metavar="'A;B'", help="Who is notified: Apprise addresses.")
]
On = Annotated[bool | None, typer.Option("--on/--off", help="Whether it is enabled.")]
Owner = Annotated[str, typer.Option("--owner", help="The account that owns it; default the installation itself.")]


@app.command()
def add(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The source, as weather.lisboa.")],
    condition: Annotated[str, typer.Argument(metavar="CONDITION", help="The condition, as 'temperature > 30'.")],
    name: Name = None,
    margin: Margin = None,
    hold: Hold = None,
    pause: Pause = None,
    at_first: AtFirst = None,
    notify: Notify = None,
    owner: Owner = "",
) -> None:
    """Add an alert to a source."""
    values = _given(
        condition=condition, name=name, margin=margin, hold=hold, pause=pause, at_first=at_first, notify=notify
    )
    with local_context() as context:
        row = alerts.add_alert(context, source, values, owner)
    print(f"Alert {row.id} watches {row.source}: {row.condition}")


@app.command("list")
def list_all(
    source: Annotated[str | None, typer.Argument(metavar="[SOURCE]", help="Only alerts on this source.")] = None,
    owner: Annotated[str | None, typer.Option("--owner", help="Only alerts of this account.")] = None,
    as_json: Json = False,
) -> None:
    """List all alerts."""
    with local_context() as context:
        rows = [row for row in alerts.list_alerts(context, source) if owner in (None, row.owner)]
    if as_json:
        write_json([row.masked().model_dump(mode="json") for row in rows])
        return
    drawn = table("number", "source", "owner", "name", "condition", "on", numbers=("number",))
    for row in rows:
        drawn.add_row(str(row.id), row.source, row.owner, row.name, row.condition, yes_or_no(row.on))
    console().print(drawn)


@app.command()
def show(number: Number, as_json: Json = False) -> None:
    """Show one alert."""
    with local_context() as context:
        row = alerts.get_alert(context, number).masked()
    if as_json:
        write_json(row.model_dump(mode="json"))
        return
    drawn = table("field", "value")
    for field, value in _alert_fields(row).items():
        drawn.add_row(field, value)
    console().print(drawn)


@app.command()
def edit(
    number: Number,
    condition: Annotated[str | None, typer.Option("--condition", help="New condition.")] = None,
    name: Name = None,
    margin: Margin = None,
    hold: Hold = None,
    pause: Pause = None,
    at_first: AtFirst = None,
    notify: Notify = None,
    on: On = None,
) -> None:
    """Change an alert; a changed condition starts with a fresh state."""
    changes = _given(
        condition=condition, name=name, margin=margin, hold=hold, pause=pause, at_first=at_first, notify=notify, on=on
    )
    if not changes:
        raise TarantulaError("There is nothing to change: give --condition, --margin, --off, or another option.")
    with local_context() as context:
        row = alerts.edit_alert(context, number, changes)
    print(f"Alert {row.id} {'watches' if row.on else 'is off for'} {row.source}: {row.condition}")


@app.command()
def remove(number: Number, yes: Yes = False) -> None:
    """Delete an alert with its firings."""
    with local_context() as context:
        name = alerts.get_alert(context, number).name
        if not yes:
            typer.confirm(f"Delete the alert {number}, {name}?", abort=True)
        alerts.remove_alert(context, number)
    print(f"Alert {number} is removed.")


@app.command("test")
def try_out(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The number of an alert, or a source.")],
    condition: Annotated[str | None, typer.Argument(metavar="[CONDITION]", help="On that source.")] = None,
    begin: Annotated[str | None, typer.Option("--from", help="Start of the window; default thirty days ago.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="End of the window; default now.")] = None,
    margin: Margin = None,
    hold: Hold = None,
    pause: Pause = None,
    at_first: AtFirst = None,
    as_json: Json = False,
) -> None:
    """Show when an alert would have fired in the past; nothing is stored."""
    began, ended = _moment(begin), _moment(end)
    values = _given(condition=condition, margin=margin, hold=hold, pause=pause, at_first=at_first)
    with local_context() as context:
        done = _dry_run(context, target, values, began, ended)
    if as_json:
        write_json(done.model_dump(mode="json"))
        return
    drawn = table("when", "row", "why")
    for firing in done.fired:
        drawn.add_row(local_time(firing.at), firing.row, firing.why)
    console().print(drawn)
    for note in done.notes:
        print(note)
    print(f"It would have fired {done.count} times in {done.moments} moments.")


@app.command()
def fired(
    number: Annotated[int | None, typer.Argument(metavar="[NUMBER]", help="Only firings of this alert.")] = None,
    unseen: Annotated[bool, typer.Option("--unseen", help="Only firings that were not dismissed.")] = False,
    owner: Annotated[str | None, typer.Option("--owner", help="Only firings of alerts of this account.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Maximum number.")] = 100,
    as_json: Json = False,
) -> None:
    """List the firings of alerts and their reasons, newest first."""
    with local_context() as context, context.reading() as session:
        person = None if owner is None else context.owner_named(session, owner)
        found = registry.list_firings(session, person, alert=number, unseen=True if unseen else None, limit=limit)
        rows = [alerts.firing_row(record) for record in found]
    if as_json:
        write_json([row.model_dump(mode="json") for row in rows])
        return
    drawn = table("when", "alert", "source", "row", "why", numbers=("alert",), lines=True)
    for row in rows:
        why = "\n".join(filter(None, (row.why, row.untold)))
        drawn.add_row(local_time(row.at), str(row.alert), row.source, row.row, why)
    console().print(drawn)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _alert_fields(row: AlertRow) -> dict[str, str]:
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
        "at first": yes_or_no(row.at_first),
        "notify": "; ".join(row.notify),
        "on": yes_or_no(row.on),
    }


def _moment(text: str | None) -> datetime | None:
    try:
        return parse_moment(text)
    except ValueError as error:
        raise TarantulaError(str(error)) from error


def _dry_run(
    context: ServiceContext, target: str, values: dict[str, Any], begin: datetime | None, end: datetime | None
) -> DryRun:
    """Run a stored alert, perhaps with other values, or a condition on a source that is not stored."""
    if "condition" in values:
        return alerts.dry_run(context, target, values, begin, end)
    if target.isdecimal():
        return alerts.dry_run_alert(context, int(target), begin, end, values)
    raise TarantulaError("Name an alert by its number, or a source and a condition.")
