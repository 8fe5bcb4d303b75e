"""``tarantula stream``: follow values on pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tarantula.cli.nouns import noun_group
from tarantula.cli.streams import alert as stream_alert
from tarantula.cli.streams import history as stream_history
from tarantula.cli.streams.categories import categories, make
from tarantula.cli.streams.reading import aside, poll, read
from tarantula.cli.streams.source_options import (
    LIST_COLUMNS,
    fields_without,
    list_cells,
    source_changes,
    source_dict,
    value_text,
    with_source,
)
from tarantula.cli.terminal import (
    console,
    progress_bar,
    read_text,
    table,
    write_json,
    write_json_rows,
    write_long_table,
)
from tarantula.core.database import open_database
from tarantula.core.errors import TarantulaError
from tarantula.models import Source, SourceState
from tarantula.streams.ingest.source_edit import edit_source, parse_history_for_edit
from tarantula.streams.sources import files, registry
from tarantula.streams.sources.config import parse_source as read_source

app = noun_group("stream")
app.add_typer(stream_alert.app, name="alert")
stream_history.register(app)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The source.")]
Json = Annotated[bool, typer.Option("--json", help="For a program to read.")]
Url = Annotated[str | None, typer.Option("--url", help="Another address.")]
Owner = Annotated[str, typer.Option("--owner", help="The account whose it is; nobody's unless told.")]


@app.command()
@with_source
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Words separated by dots, for example weather.lisboa.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Where it is read.")],
    owner: Owner = "",
    **typed: Any,
) -> None:
    """Describe a new source."""
    config = read_source({**source_changes({}, typed), "name": name, "url": url})
    if not config.fields:
        raise TarantulaError("Say where a value is: --css FIELD=SELECTOR, --xpath, or --place for other adapters.")
    with open_database() as database, database.session() as session:
        registry.add(session, config, owner)
    print(f"{config.name} is stored. Read it now with `tarantula stream poll {config.name}`.")


@app.command()
@with_source
def copy(
    name: Name,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The name of the new one.")],
    url: Url = None,
    owner: Owner = "",
    **typed: Any,
) -> None:
    """Describe a new source as another is described, but for what is told: the same of another town."""
    with open_database() as database, database.session() as session:
        before = registry.config_of(registry.get(session, name)).model_dump(mode="json")
        config = read_source({**before, **_said(before, url, typed), "name": new})
        registry.add(session, config, owner)
    print(f"{config.name} is stored. Read it now with `tarantula stream poll {config.name}`.")


@app.command()
@with_source
def edit(
    name: Name,
    url: Url = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="FIELD", help="A field that is not read any more.")
    ] = None,
    **typed: Any,
) -> None:
    """Change what is said of a source; its history stays."""
    with open_database() as database:
        with database.reading() as session, progress_bar("Reading the past anew") as progress:
            before = registry.config_of(registry.get(session, name)).model_dump(mode="json")
            said = _said(before, url, typed)
            if without:
                said["fields"] = fields_without(said.get("fields", before["fields"]), without)
            if not said:
                raise TarantulaError("Say what is to change: --interval, --css, --kind, or another option.")
            past = parse_history_for_edit(session, name, said, progress=progress)
        with database.session() as session:
            edit_source(session, name, said, parsed=past)
    print(f"{name} is changed.")


@app.command("list")
def list_all(
    words: Annotated[list[str] | None, typer.Argument(metavar="WORDS", help="In its name, its tags.")] = None,
    below: Annotated[str, typer.Option("--below", metavar="PART", help="Those under a part of the hierarchy.")] = "",
    as_json: Json = False,
) -> None:
    """Show sources and how reading them goes, one row each."""
    with open_database() as database, database.reading() as session:
        found = registry.with_states(session, " ".join(words or ()), below)
        if as_json:
            write_json_rows(source_dict(source, state) for source, state in found)
        else:
            write_long_table(LIST_COLUMNS, (list_cells(source, state) for source, state in found))


@app.command()
def show(name: Name, as_json: Json = False) -> None:
    """Show one source, field by field; secrets are not shown."""
    with open_database() as database, database.reading() as session:
        source = registry.get(session, name)
        values = source_dict(source, session.get_one(SourceState, source.id))
    if as_json:
        write_json(values)
        return
    drawn = table("field", "value")
    for field, value in values.items():
        drawn.add_row(field, value_text(value))
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
    configs = [config for one in file for config in files.from_text(read_text(one))]
    with open_database() as database, database.session() as session:
        for config in configs:
            if replace and registry.exists(session, config.name):
                edit_source(session, config.name, config.model_dump(mode="json"))
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
        rows: list[Source] = [registry.get(session, name) for name in names] if names else registry.list_under(session)
        write = files.to_json if as_json else files.to_toml
        text = write([registry.config_of(row) for row in rows], secrets)
    if output is None:
        print(text, end="")
    else:
        output.write_text(text, encoding="utf-8")


for verb in (make, categories, poll, read, aside):
    app.command()(verb)


def _said(before: dict[str, Any], url: str | None, typed: dict[str, Any]) -> dict[str, Any]:
    return source_changes(before, typed) | ({} if url is None else {"url": url})


def _set_paused(name: str, paused: bool) -> None:
    with open_database() as database, database.session() as session:
        edit_source(session, name, {"paused": paused})
