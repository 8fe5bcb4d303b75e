"""``tarantula stream``: add, copy, edit, list, pause, import and describe sources."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tarantula.cli.nouns import noun_group
from tarantula.cli.streams import alert as stream_alert
from tarantula.cli.streams import history as stream_history
from tarantula.cli.streams.reading import aside, poll, read
from tarantula.cli.streams.source_options import (
    categories,
    fields_without,
    local_second,
    make,
    source_changes,
    value_text,
    with_source,
)
from tarantula.cli.terminal import (
    Json,
    Yes,
    console,
    progress_bar,
    read_text,
    table,
    write_json,
    write_json_rows,
    write_long_table,
    write_text,
)
from tarantula.core.errors import TarantulaError
from tarantula.services.context import local_context
from tarantula.services.streams import sources
from tarantula.services.streams.sources import SourceStatusRow
from tarantula.streams.sources import files
from tarantula.streams.sources.config import parse_source

app = noun_group("stream")
app.add_typer(stream_alert.app, name="alert")
stream_history.register(app)

LIST_COLUMNS = ("name", "status", "every", "last read", "last change", "problem")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The source.")]
Url = Annotated[str | None, typer.Option("--url", help="New address.")]
Owner = Annotated[str, typer.Option("--owner", help="The account that owns it; default none.")]


@app.command()
@with_source
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Words separated by dots, as weather.lisboa.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="The address that is read.")],
    owner: Owner = "",
    **typed: Any,
) -> None:
    """Store a new source."""
    fields = {**source_changes({}, typed), "name": name, "url": url}
    if not parse_source(fields).fields:
        raise TarantulaError("Say where a value is: --css FIELD=SELECTOR, --xpath, or --place for other adapters.")
    with local_context() as context:
        stored = sources.add_source(context, fields, owner)
    _print_stored(stored)


@app.command()
@with_source
def copy(
    name: Name,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The name of the new source.")],
    url: Url = None,
    owner: Owner = "",
    **typed: Any,
) -> None:
    """Store a new source like another, except for the given options."""
    with local_context() as context:
        changes = _changes(sources.get_source(context, name), url, typed)
        stored = sources.copy_source(context, name, {**changes, "name": new}, owner)
    _print_stored(stored)


@app.command()
@with_source
def edit(
    name: Name,
    url: Url = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="FIELD", help="Stop reading a field.")
    ] = None,
    **typed: Any,
) -> None:
    """Change a source; its history is kept."""
    with local_context() as context:
        before = sources.get_source(context, name)
        changes = _changes(before, url, typed)
        if without:
            changes["fields"] = fields_without(changes.get("fields", before["fields"]), without)
        if not changes:
            raise TarantulaError("There is nothing to change: give --interval, --css, --kind, or another option.")
        with progress_bar("Parsing the history again") as progress:
            sources.edit_source(context, name, changes, progress=progress)
    print(f"{name} is changed.")


@app.command("list")
def list_all(
    words: Annotated[list[str] | None, typer.Argument(metavar="WORDS", help="Words in name, title or tags.")] = None,
    below: Annotated[str, typer.Option("--below", metavar="PART", help="Only under this part of the hierarchy.")] = "",
    as_json: Json = False,
) -> None:
    """List sources and their reading status, one row each."""
    query = " ".join(words or ())
    with local_context() as context:
        if as_json:
            write_json_rows(sources.iterate_described(context, query, below))
        else:
            write_long_table(LIST_COLUMNS, map(_list_cells, sources.iterate_statuses(context, query, below)))


@app.command()
def show(name: Name, as_json: Json = False) -> None:
    """Show one source, field by field, without its secrets."""
    with local_context() as context:
        fields = sources.describe_source(context, name)
    if as_json:
        write_json(fields)
        return
    drawn = table("field", "value", lines=True)
    for field, value in fields.items():
        drawn.add_row(field, value_text(value))
    console().print(drawn)


@app.command()
def remove(name: Name, yes: Yes = False) -> None:
    """Delete a source with everything that was read from it."""
    with local_context() as context:
        sources.get_source(context, name)
        if not yes and typer.prompt(f"Everything that was read will be lost. Type {name} to remove it") != name:
            raise TarantulaError("That is not {name}: nothing was removed.", name=name)
        sources.remove_source(context, name)
    print(f"{name} is removed.")


@app.command()
def pause(name: Name) -> None:
    """Stop reading a source; its values are kept."""
    _set_paused(name, True)
    print(f"{name} is paused.")


@app.command()
def resume(name: Name) -> None:
    """Start reading a paused source again."""
    _set_paused(name, False)
    print(f"{name} is read again.")


@app.command("import")
def import_(
    file: Annotated[list[Path], typer.Argument(metavar="FILE", help="TOML or JSON files; - is standard input.")],
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite existing sources.")] = False,
    owner: Owner = "",
) -> None:
    """Store the sources of files: all of them, or none."""
    configs = [config for one in file for config in files.from_text(read_text(one))]
    with local_context() as context:
        sources.import_sources(context, configs, owner, replace)
    print("1 source is stored." if len(configs) == 1 else f"{len(configs)} sources are stored.")


@app.command()
def describe(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Some sources; default all.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file; default standard output.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of TOML.")] = False,
    secrets: Annotated[bool, typer.Option("--secrets", help="Include passwords and other secrets.")] = False,
) -> None:
    """Write sources as TOML or JSON, for `tarantula stream import`."""
    with local_context() as context:
        configs = sources.list_configs(context, names or ())
    write = files.to_json if as_json else files.to_toml
    write_text(write(configs, secrets), output)


for verb in (make, categories, poll, read, aside):
    app.command()(verb)


def _changes(before: dict[str, Any], url: str | None, typed: dict[str, Any]) -> dict[str, Any]:
    return source_changes(before, typed) | ({} if url is None else {"url": url})


def _set_paused(name: str, paused: bool) -> None:
    with local_context() as context:
        sources.edit_source(context, name, {"paused": paused})


def _print_stored(name: str) -> None:
    print(f"{name} is stored. Read it now with `tarantula stream poll {name}`.")


def _list_cells(row: SourceStatusRow) -> tuple[str, ...]:
    moments = (local_second(row.read_at), local_second(row.event_at))
    return row.name, row.status, f"{row.interval:g} s", *moments, row.sentence
