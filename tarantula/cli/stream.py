"""``tarantula stream``: follow values on pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tarantula.cli import stream_alert, stream_history
from tarantula.cli.nouns import group
from tarantula.cli.options import given, with_fields
from tarantula.cli.screen import console, table, write_json
from tarantula.cli.stream_aside import aside
from tarantula.cli.stream_category import categories, make
from tarantula.cli.stream_fields import fields_of, pairs, seconds_of, steps_of
from tarantula.cli.stream_read import poll, read
from tarantula.cli.stream_shown import as_dict, moment, text_of
from tarantula.db import open_database
from tarantula.errors import TarantulaError
from tarantula.models import Source, SourceState
from tarantula.publications.toml import setting_value
from tarantula.streams import files, registry
from tarantula.streams.source import SourceConfig
from tarantula.streams.source import read as read_source

app = group("stream")
app.add_typer(stream_alert.app, name="alert")
stream_history.register(app)

OWN = ("name", "url", "fields", "options", "variables", "steps", "interval", "retention", "category")
"""What is not typed as it is stored."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="The source.")]
Json = Annotated[bool, typer.Option("--json", help="For a program to read.")]
Css = Annotated[
    list[str] | None,
    typer.Option("--css", metavar="FIELD=SELECTOR", help="A field, and its CSS selector."),
]
XPath = Annotated[list[str] | None, typer.Option("--xpath", metavar="FIELD=EXPRESSION", help="A field, and its XPath.")]
Place = Annotated[
    list[str] | None,
    typer.Option("--place", metavar="FIELD.PART=VALUE", help="A field, and where it is as its adapter wants it told."),
]
KindOf = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="FIELD=KIND", help="What a field is, and its unit, as 'price=money EUR'."),
]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="What else the adapter wants to know.")
]
Variable = Annotated[
    list[str] | None, typer.Option("--variable", metavar="NAME=VALUE", help="What stands in the place of {NAME}.")
]
StepOption = Annotated[
    list[str] | None, typer.Option("--step", help="What a browser does before, as 'fill #user {user}', 'click #enter'.")
]
Interval = Annotated[str | None, typer.Option("--interval", help="Between two readings: seconds, or 30s, 5m, 2h, 1d.")]
Owner = Annotated[str, typer.Option("--owner", help="The account whose it is; nobody's unless told.")]


@app.command()
@with_fields(*OWN, model=SourceConfig)
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Words with dots between them, as weather.lisboa.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Where it is read.")],
    css: Css = None,
    xpath: XPath = None,
    place: Place = None,
    kind: KindOf = None,
    settings: Set = None,
    variable: Variable = None,
    step: StepOption = None,
    interval: Interval = None,
    owner: Owner = "",
    **fields: Any,
) -> None:
    """Describe a new source."""
    changes = _changes({}, fields, css, xpath, place, kind, settings, variable, step, interval)
    config = read_source({**changes, "name": name, "url": url})
    with open_database() as database, database.session() as session:
        registry.add(session, config, owner)
    print(f"{config.name} is stored. Read it now with `tarantula stream poll {config.name}`.")


@app.command()
@with_fields(*OWN, model=SourceConfig)
def edit(
    name: Name,
    url: Annotated[str | None, typer.Option("--url", help="Another address.")] = None,
    css: Css = None,
    xpath: XPath = None,
    place: Place = None,
    kind: KindOf = None,
    settings: Set = None,
    variable: Variable = None,
    step: StepOption = None,
    interval: Interval = None,
    **fields: Any,
) -> None:
    """Change what is said of a source; its history stays."""
    with open_database() as database, database.session() as session:
        before = registry.config_of(registry.get(session, name)).model_dump(mode="json")
        changes = _changes(before, fields, css, xpath, place, kind, settings, variable, step, interval)
        registry.edit(session, name, {**changes, **({"url": url} if url is not None else {})})
    print(f"{name} is changed.")


@app.command("list")
def list_all(
    words: Annotated[list[str] | None, typer.Argument(metavar="WORDS", help="In its name, its tags.")] = None,
    below: Annotated[str, typer.Option("--below", metavar="PART", help="Those under a part of the hierarchy.")] = "",
    as_json: Json = False,
) -> None:
    """Show sources and how reading them goes, one row each."""
    with open_database() as database, database.reading() as session:
        found = {row.id for row in registry.find(session, " ".join(words or ()), most=sys.maxsize)}
        chosen = [row for row in registry.below(session, below) if row.id in found]
        rows = [(row, session.get_one(SourceState, row.id)) for row in chosen]
    if as_json:
        write_json([as_dict(source, state) for source, state in rows])
        return
    drawn = table("name", "status", "every", "last read", "last change", "what is wrong")
    for source, state in rows:
        interval = f"{registry.config_of(source).interval:g} s"
        status = "paused" if source.is_paused else state.status
        drawn.add_row(source.name, status, interval, moment(state.read_at), moment(state.event_at), state.sentence)
    console().print(drawn)


@app.command()
def show(name: Name, as_json: Json = False) -> None:
    """Show one source, field by field; secrets are not shown."""
    with open_database() as database, database.reading() as session:
        source = registry.get(session, name)
        values = as_dict(source, session.get_one(SourceState, source.id))
    if as_json:
        write_json(values)
        return
    drawn = table("field", "value")
    for field, value in values.items():
        drawn.add_row(field, text_of(value))
    console().print(drawn)


@app.command()
def remove(name: Name, yes: Annotated[bool, typer.Option("--yes", help="Do not ask once more.")] = False) -> None:
    """Remove a source for good, with everything that was read of it."""
    with open_database() as database:
        with database.reading() as session:
            registry.get(session, name)
        if not yes and typer.prompt(f"Everything that was read will be lost. Type {name} to remove it") != name:
            raise TarantulaError(f"That is not {name}: nothing was removed.")
        with database.session() as session:
            registry.remove(session, name)
    print(f"{name} is removed.")


@app.command()
def pause(name: Name) -> None:
    """Leave a source alone for now; what was read of it stays."""
    _set_paused(name, True)
    print(f"{name} is left alone.")


@app.command()
def resume(name: Name) -> None:
    """Read a source again that was left alone."""
    _set_paused(name, False)
    print(f"{name} is read again.")


@app.command("import")
def import_(
    file: Annotated[list[Path], typer.Argument(metavar="FILE", help="TOML or JSON files; - is what comes in.")],
    replace: Annotated[bool, typer.Option("--replace", help="Also change sources that are there.")] = False,
    owner: Owner = "",
) -> None:
    """Store the sources of files: all of them, or none."""
    configs = [config for one in file for config in files.from_text(_text(one))]
    with open_database() as database, database.session() as session:
        for config in configs:
            if replace and registry.is_there(session, config.name):
                registry.edit(session, config.name, config.model_dump(mode="json"))
            else:
                registry.add(session, config, owner)
    print("1 source is stored." if len(configs) == 1 else f"{len(configs)} sources are stored.")


@app.command()
def describe(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Some sources; all unless told.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file instead of the screen.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of TOML.")] = False,
    secrets: Annotated[bool, typer.Option("--secrets", help="With passwords and the like.")] = False,
) -> None:
    """Write sources as TOML or JSON, for `tarantula stream import`."""
    with open_database() as database, database.reading() as session:
        rows: list[Source] = [registry.get(session, name) for name in names] if names else registry.below(session)
        write = files.to_json if as_json else files.to_toml
        text = write([registry.config_of(row) for row in rows], secrets)
    if output is None:
        print(text, end="")
    else:
        output.write_text(text, encoding="utf-8")


for verb in (make, categories, poll, read, aside):
    app.command()(verb)


def _changes(
    before: dict[str, Any],
    typed: dict[str, Any],
    css: list[str] | None,
    xpath: list[str] | None,
    place: list[str] | None,
    kind: list[str] | None,
    settings: list[str] | None,
    variable: list[str] | None,
    step: list[str] | None,
    interval: str | None,
) -> dict[str, Any]:
    """Return what was typed, as the model reads it."""
    changes = given(typed)
    if isinstance(changes.get("tags"), str):
        changes["tags"] = [tag.strip() for tag in changes["tags"].split(";") if tag.strip()]
    if css or xpath or place or kind:
        changes["fields"] = fields_of(before.get("fields", ()), css, xpath, place, kind)
    if settings:
        said = {key: setting_value(value) for key, value in pairs(settings, "a setting")}
        changes["options"] = {**before.get("options", {}), **said}
    if variable:
        changes["variables"] = {**before.get("variables", {}), **dict(pairs(variable, "a variable"))}
    if step:
        changes["steps"] = steps_of(step)
        changes.setdefault("render", True)
    if (seconds := seconds_of(interval)) is not None:
        changes["interval"] = seconds
    return changes


def _set_paused(name: str, paused: bool) -> None:
    with open_database() as database, database.session() as session:
        registry.edit(session, name, {"paused": paused})


def _text(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TarantulaError(f"{file} is not a text in UTF-8.") from error
