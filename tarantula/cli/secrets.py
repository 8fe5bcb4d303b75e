"""``tarantula secrets``: the key that encrypts passwords in the database."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.cli.nouns import noun_group
from tarantula.cli.terminal import Json, write_json
from tarantula.services import secrets
from tarantula.services.context import local_context

app = noun_group("secrets")
EXIT_UNREADABLE = 1


@app.command()
def status(as_json: Json = False) -> None:
    """Show which keys are here, and which secrets they cannot read; exit code 1 if there are such."""
    with local_context() as context:
        found = secrets.status(context)
    if as_json:
        write_json(found.model_dump())
    else:
        if found.complaint:
            print(found.complaint)
        print(f"Keys in {found.source}: {', '.join(found.keys) or 'none'}.")
        print(f"The database is encrypted with: {', '.join(found.used) or 'no key yet'}.")
        for table, number in found.secrets.items():
            print(f"{table}: {number} encrypted.")
        for key, number in found.unreadable.items():
            print(f"{number} cannot be read: the key {key} is missing. Copy it to {found.source}.")
    if found.unreadable or found.complaint:
        raise typer.Exit(EXIT_UNREADABLE)


@app.command()
def rotate(
    drop_old: Annotated[
        bool, typer.Option("--drop-old", help="Remove the old keys from the file; older backups need them.")
    ] = False,
) -> None:
    """Encrypt all secrets with a new key, or with the first of TARANTULA_SECRET_KEY if it is new."""
    with local_context() as context:
        number = secrets.rotate(context, drop_old=drop_old)
        source = context.database.keyring.source
    print(f"{number} secrets are encrypted with a new key, in {source}. Copy it to other machines, and back it up.")
