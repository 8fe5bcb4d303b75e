"""``tarantula profile``: add, edit, list."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.cli.nouns import noun_group
from tarantula.cli.terminal import console, table, write_json
from tarantula.core.database import open_database
from tarantula.publications import document_types
from tarantula.publications.fields import split_words

app = noun_group("profile")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The profile.")]
Types = Annotated[str, typer.Argument(metavar="'A;B'", help="Its types, as 'text/html;image/*'.")]


@app.command()
def add(
    name: Name,
    types: Types,
    description: Annotated[str, typer.Option("--description", help="What it is, in words.")] = "",
) -> None:
    """Make a profile of some types."""
    with open_database() as database, database.session() as session:
        document_types.add_profile(session, name, split_words(types), description)
    print(f"The profile {name} is stored.")


@app.command()
def edit(
    name: Name,
    types: Annotated[str | None, typer.Option("--types", metavar="'A;B'", help="All its types anew.")] = None,
    more: Annotated[str, typer.Option("--add", metavar="'A;B'", help="Types to add.")] = "",
    fewer: Annotated[str, typer.Option("--remove", metavar="'A;B'", help="Types to take away.")] = "",
    description: Annotated[str | None, typer.Option("--description", help="What it is, in words.")] = None,
) -> None:
    """Give a profile other types; items that were begun go on with the new ones."""
    with open_database() as database, database.session() as session:
        document_types.edit_profile(
            session,
            name,
            types=None if types is None else split_words(types),
            add=split_words(more),
            remove=split_words(fewer),
            description=description,
        )
    print(f"The profile {name} is changed.")


@app.command("list")
def list_all(as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False) -> None:
    """Show every profile, with its types."""
    with open_database() as database, database.reading() as session:
        rows = document_types.all_profiles(session)
    if as_json:
        write_json([{"name": row.name, "types": row.types, "description": row.description} for row in rows])
        return
    drawn = table("profile", "description", "types")
    for row in rows:
        drawn.add_row(row.name, row.description, "; ".join(row.types))
    console().print(drawn)
