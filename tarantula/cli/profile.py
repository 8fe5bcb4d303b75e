"""``tarantula profile``: add, edit and list profiles of document types."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.cli.nouns import noun_group
from tarantula.cli.terminal import Json, console, table, write_json
from tarantula.publications.fields import split_words
from tarantula.services import document_types
from tarantula.services.context import local_context

app = noun_group("profile")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The profile.")]


@app.command()
def add(
    name: Name,
    types: Annotated[str, typer.Argument(metavar="'A;B'", help="Its types, as 'text/html;image/*'.")],
    description: Annotated[str, typer.Option("--description", help="Description.")] = "",
) -> None:
    """Create a profile from a list of types."""
    with local_context() as context:
        document_types.add_profile(context, name, split_words(types), description)
    print(f"The profile {name} is stored.")


@app.command()
def edit(
    name: Name,
    types: Annotated[str | None, typer.Option("--types", metavar="'A;B'", help="Replace all its types.")] = None,
    more: Annotated[str, typer.Option("--add", metavar="'A;B'", help="Types to add.")] = "",
    fewer: Annotated[str, typer.Option("--remove", metavar="'A;B'", help="Types to remove.")] = "",
    description: Annotated[str | None, typer.Option("--description", help="Description.")] = None,
) -> None:
    """Change the types of a profile; items that have started continue with the new types."""
    replaced = None if types is None else split_words(types)
    with local_context() as context:
        document_types.edit_profile(
            context, name, replaced, description, add=split_words(more), remove=split_words(fewer)
        )
    print(f"The profile {name} is changed.")


@app.command("list")
def list_all(as_json: Json = False) -> None:
    """List all profiles with their types."""
    with local_context() as context:
        rows = document_types.list_profiles(context)
    if as_json:
        write_json([row.model_dump() for row in rows])
        return
    drawn = table("profile", "description", "types")
    for row in rows:
        drawn.add_row(row.name, row.description, "; ".join(row.types))
    console().print(drawn)
