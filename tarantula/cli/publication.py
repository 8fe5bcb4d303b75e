"""``tarantula publication`` and ``tarantula why``: describe publications, and explain the scope of one."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tarantula.cli.nouns import noun_group
from tarantula.cli.options import typed_fields, with_fields
from tarantula.cli.terminal import (
    Json,
    Yes,
    console,
    local_time,
    read_text,
    table,
    write_json,
    write_text,
    yes_or_no,
)
from tarantula.core.errors import TarantulaError
from tarantula.core.reasons import reason_fields
from tarantula.core.times import format_duration
from tarantula.links.link import LinkKind
from tarantula.publications import config as toml
from tarantula.publications.fields import check_type
from tarantula.services import publications
from tarantula.services.context import local_context

app = noun_group("publication")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The publication.")]


@app.command()
@with_fields("name", "base_url")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name: letters, digits, dots, - and _.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="The base document, as http://www.fc.ul.pt/index.html.")],
    **fields: Any,
) -> None:
    """Store a new publication."""
    with local_context() as context:
        stored = publications.add(context, name, {**typed_fields(fields), "base_url": url})
    print(f"{stored} is stored. Collect it now with `tarantula crawl {stored}`.")


@app.command("list")
def list_all(as_json: Json = False) -> None:
    """List all publications, one row each."""
    with local_context() as context:
        rows = publications.list_described(context)
    if as_json:
        write_json(rows)
        return
    drawn = table("name", "base document", "depth", "every", "last scheduled", "next due", numbers=("depth",))
    for row in rows:
        moments = (_local(row["last_scheduled_at"]), _local(row["next_due"]))
        drawn.add_row(row["name"], row["base_url"], str(row["depth"]), row["every"], *moments)
    console().print(drawn)


@app.command()
def show(name: Name, as_json: Json = False) -> None:
    """Show one publication, field by field."""
    with local_context() as context:
        (row,) = publications.list_described(context, name)
    if as_json:
        write_json(row)
        return
    drawn = table("field", "value", lines=True)
    for field, value in row.items():
        drawn.add_row(field, _format_field(field, value))
    console().print(drawn)


@app.command()
@with_fields("name", "base_url")
def edit(
    name: Name,
    url: Annotated[str | None, typer.Option("--url", help="New base document.")] = None,
    unset: Annotated[list[str] | None, typer.Option("--unset", metavar="KEY", help="Remove a Scrapy setting.")] = None,
    **fields: Any,
) -> None:
    """Change fields of a publication; items that have started keep their configuration."""
    changes = typed_fields(fields)
    if url is not None:
        changes["base_url"] = url
    with local_context() as context:
        settings = publications.get_publication(context, name)["settings"]
        remaining = {key: value for key, value in settings.items() if key not in (unset or ())}
        publications.edit(context, name, {**changes, "settings": {**remaining, **changes.get("settings", {})}})
    print(f"{name} is changed.")


@app.command()
def remove(name: Name, yes: Yes = False) -> None:
    """Delete a publication that has no items."""
    with local_context() as context:
        publications.get_publication(context, name)
        if not yes:
            typer.confirm(f"Delete the publication {name}?", abort=True)
        publications.remove(context, name)
    print(f"{name} is removed.")


@app.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="TOML files; - is standard input.")],
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite existing publications.")] = False,
) -> None:
    """Store the publications of TOML files: all of them, or none."""
    configs = [config for file in files for config in toml.from_toml(read_text(file))]
    with local_context() as context:
        publications.import_configs(context, configs, replace)
    print("1 publication is stored." if len(configs) == 1 else f"{len(configs)} publications are stored.")


@app.command()
def export(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Some publications; default all.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file; default standard output.")] = None,
    with_secrets: Annotated[
        bool, typer.Option("--secrets", help="Write passwords and other secrets in clear.")
    ] = False,
) -> None:
    """Write publications as TOML; secrets are encrypted, for installations with the same key."""
    with local_context() as context:
        write_text(publications.export_toml(context, names, with_secrets=with_secrets), output)


def why(
    name: Name,
    url: Annotated[str, typer.Argument(metavar="URL", help="The URL to judge.")],
    mime: Annotated[str | None, typer.Option("--type", metavar="MIME", help="Assume this type.")] = None,
    size: Annotated[int | None, typer.Option("--size", min=0, help="Assume this size in bytes.")] = None,
    depth: Annotated[int, typer.Option("--depth", min=0, help="Assume this link depth.")] = 1,
    requisite: Annotated[
        bool, typer.Option("--requisite", help="Assume that it is a requisite of a page: an image, a style sheet.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show whether a URL is in the scope of a publication, and which rule decided."""
    if mime is not None:
        _check_type(mime)
    kind = LinkKind.REQUISITE if requisite else LinkKind.NAVIGATION
    with local_context() as context:
        verdict = publications.publication_scope(context, name).explain(
            url, depth=depth, kind=kind, media_type=mime, size=size
        )
    if as_json:
        write_json({**verdict._asdict(), **reason_fields(verdict.reason)})
    else:
        print(f"{'accepted' if verdict.accepted else 'refused'} by {verdict.rule}: {verdict.reason}")


def _local(moment: str | None) -> str:
    return local_time(datetime.fromisoformat(moment)) if moment else ""


def _format_field(field: str, value: Any) -> str:
    if value is None:
        return ""
    if field == "max_duration":
        return format_duration(value)
    if isinstance(value, bool):
        return yes_or_no(value)
    if isinstance(value, dict):
        return "\n".join(f"{key} = {part}" for key, part in value.items())
    return "; ".join(value) if isinstance(value, list) else str(value)


def _check_type(mime: str) -> None:
    try:
        check_type(mime)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
