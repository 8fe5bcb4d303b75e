"""``tarantula type``: add and list document types."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.cli.nouns import noun_group
from tarantula.cli.terminal import Json, console, table, write_json
from tarantula.publications.fields import split_words
from tarantula.services import document_types
from tarantula.services.context import local_context

app = noun_group("type")


@app.command()
def add(
    mime: Annotated[str, typer.Argument(metavar="MIME", help="The type, as application/pdf.")],
    extensions: Annotated[
        str, typer.Option("--extensions", metavar="'A;B'", help="File extensions, as 'ps;eps'.")
    ] = "",
    description: Annotated[str, typer.Option("--description", help="Description.")] = "",
) -> None:
    """Register a document type."""
    with local_context() as context:
        added = document_types.add_type(context, mime, split_words(extensions), description)
    print(f"The type {added} is stored.")


@app.command("list")
def list_all(as_json: Json = False) -> None:
    """List all types with their file extensions."""
    with local_context() as context:
        rows = document_types.list_types(context)
    if as_json:
        write_json([row.model_dump() for row in rows])
        return
    drawn = table("type", "extensions", "description")
    for row in rows:
        drawn.add_row(row.mime, " ".join(row.extensions), row.description)
    console().print(drawn)
