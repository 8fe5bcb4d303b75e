"""``tarantula publication`` and ``tarantula why``: describe publications, and explain the scope of one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tarantula.cli.nouns import noun_group
from tarantula.cli.options import typed_fields, with_fields
from tarantula.cli.terminal import console, local_time, read_text, table, write_json
from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.core.errors import TarantulaError
from tarantula.core.times import format_duration
from tarantula.links.link import LinkKind
from tarantula.models import Publication
from tarantula.publications import registry, toml
from tarantula.publications.config import read_config
from tarantula.publications.fields import check_type
from tarantula.publications.registry import next_due_of
from tarantula.publications.scope import scope_of

app = noun_group("publication")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The publication.")]
Json = Annotated[bool, typer.Option("--json", help="For a program to read.")]


@app.command()
@with_fields("name", "base_url")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called: letters, digits, dots, - and _.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="The base document, as http://www.fc.ul.pt/index.html.")],
    **fields: Any,
) -> None:
    """Describe a new publication."""
    config = read_config({**typed_fields(fields), "name": name, "base_url": url})
    with open_database() as database, database.session() as session:
        registry.add_publication(session, config)
    print(f"{config.name} is stored. Collect it now with `tarantula crawl {config.name}`.")


@app.command("list")
def list_all(as_json: Json = False) -> None:
    """Show every publication, one row each."""
    with open_database() as database, database.reading() as session:
        rows = registry.all_publications(session)
    installation = Config()
    if as_json:
        write_json([_as_dict(installation, row) for row in rows])
        return
    drawn = table("name", "base document", "depth", "every", "last scheduled", "next due", numbers=("depth",))
    for row in rows:
        config = registry.config_of(row)
        moments = (local_time(row.last_scheduled_at), local_time(next_due_of(installation, row)))
        drawn.add_row(row.name, row.base_url, str(config.depth), config.every, *moments)
    console().print(drawn)


@app.command()
def show(name: Name, as_json: Json = False) -> None:
    """Show one publication, field by field."""
    with open_database() as database, database.reading() as session:
        row = registry.get_publication(session, name)
    if as_json:
        write_json(_as_dict(Config(), row))
        return
    drawn = table("field", "value")
    for field, value in _as_dict(Config(), row).items():
        drawn.add_row(field, _shown(field, value))
    console().print(drawn)


@app.command()
@with_fields("name", "base_url")
def edit(
    name: Name,
    url: Annotated[str | None, typer.Option("--url", help="Another base document.")] = None,
    unset: Annotated[list[str] | None, typer.Option("--unset", metavar="KEY", help="Forget a Scrapy setting.")] = None,
    **fields: Any,
) -> None:
    """Change what is said of a publication; items that were begun keep what they began with."""
    changes = typed_fields(fields)
    if url is not None:
        changes["base_url"] = url
    with open_database() as database, database.session() as session:
        settings = registry.config_of(registry.get_publication(session, name)).settings
        kept = {key: value for key, value in settings.items() if key not in (unset or ())}
        registry.edit_publication(session, name, {**changes, "settings": {**kept, **changes.get("settings", {})}})
    print(f"{name} is changed.")


@app.command()
def remove(name: Name, yes: Annotated[bool, typer.Option("--yes", help="Do not ask once more.")] = False) -> None:
    """Forget a publication that has no items."""
    with open_database() as database:
        with database.reading() as session:
            registry.get_publication(session, name)
        if not yes:
            typer.confirm(f"Forget the publication {name} for good?", abort=True)
        with database.session() as session:
            registry.remove_publication(session, name)
    print(f"{name} is forgotten.")


@app.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="TOML files; - is what comes in.")],
    replace: Annotated[bool, typer.Option("--replace", help="Also change publications that are there.")] = False,
) -> None:
    """Store the publications of TOML files: all of them, or none."""
    configs = [config for file in files for config in toml.from_toml(read_text(file))]
    store = registry.put_publication if replace else registry.add_publication
    with open_database() as database, database.session() as session:
        for config in configs:
            store(session, config)
    print("1 publication is stored." if len(configs) == 1 else f"{len(configs)} publications are stored.")


@app.command()
def export(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Some publications; all unless told.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file instead of the screen.")] = None,
) -> None:
    """Write publications as TOML."""
    with open_database() as database, database.reading() as session:
        rows = (
            [registry.get_publication(session, name) for name in names] if names else registry.all_publications(session)
        )
        text = toml.to_toml(registry.config_of(row) for row in rows)
    if output is None:
        print(text, end="")
    else:
        output.write_text(text, encoding="utf-8")


def _as_dict(installation: Config, row: Publication) -> dict[str, Any]:
    last, due = row.last_scheduled_at, next_due_of(installation, row)
    return {
        **registry.config_of(row).model_dump(mode="json"),
        "created_at": row.created_at.isoformat(),
        "last_scheduled_at": last.isoformat() if last else None,
        "next_due": due.isoformat() if due else None,
    }


def _shown(field: str, value: Any) -> str:
    if value is None:
        return ""
    if field == "max_duration":
        return format_duration(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "\n".join(f"{key} = {part}" for key, part in value.items())
    return "; ".join(value) if isinstance(value, list) else str(value)


def why(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The publication.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="What is asked about.")],
    mime: Annotated[str | None, typer.Option("--type", metavar="MIME", help="Suppose that it is of this type.")] = None,
    size: Annotated[int | None, typer.Option("--size", min=0, help="Suppose that it has so many bytes.")] = None,
    depth: Annotated[int, typer.Option("--depth", min=0, help="Suppose that it is so many links away.")] = 1,
    requisite: Annotated[
        bool, typer.Option("--requisite", help="Suppose that a page needs it: an image, a style.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Say whether a URL belongs to a publication, and which rule decided."""
    if mime is not None:
        _check(mime)
    with open_database() as database, database.reading() as session:
        publication = registry.get_publication(session, name)
        scope = scope_of(session, registry.config_of(publication), publication.id)
    kind = LinkKind.REQUISITE if requisite else LinkKind.NAVIGATION
    verdict = scope.explain(url, depth=depth, kind=kind, media_type=mime, size=size)
    if as_json:
        write_json(verdict._asdict())
    else:
        print(f"{'accepted' if verdict.accepted else 'refused'} by {verdict.rule}: {verdict.reason}")


def _check(mime: str) -> None:
    try:
        check_type(mime)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
