"""``tarantula type``: add, list."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.cli.nouns import noun_group
from tarantula.cli.terminal import console, table, write_json
from tarantula.core.database import open_database
from tarantula.publications import document_types
from tarantula.publications.fields import split_words

app = noun_group("type")


@app.command()
def add(
    mime: Annotated[str, typer.Argument(metavar="MIME", help="The type, as application/pdf.")],
    extensions: Annotated[
        str, typer.Option("--extensions", metavar="'A;B'", help="Those of its files, as 'ps;eps'.")
    ] = "",
    description: Annotated[str, typer.Option("--description", help="What it is, in words.")] = "",
) -> None:
    """Make a document type known."""
    with open_database() as database, database.session() as session:
        row = document_types.add_type(session, mime, split_words(extensions), description)
    print(f"The type {row.mime} is known.")


@app.command("list")
def list_all(as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False) -> None:
    """Show every type, with its extensions."""
    with open_database() as database, database.reading() as session:
        rows = document_types.all_types(session)
    if as_json:
        write_json([{"mime": row.mime, "extensions": row.extensions, "description": row.description} for row in rows])
        return
    drawn = table("type", "extensions", "description")
    for row in rows:
        drawn.add_row(row.mime, " ".join(row.extensions), row.description)
    console().print(drawn)
