"""``tarantula user``: those who may use the pages."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from tarantula.accounts import accounts
from tarantula.accounts.roles import Person, Role, parse_role
from tarantula.cli.nouns import noun_group
from tarantula.cli.terminal import console, local_time, table, write_json
from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.core.errors import TarantulaError
from tarantula.services import accounts as people
from tarantula.services import tokens
from tarantula.services.context import ServiceContext

app = noun_group("user")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The account.")]
Json = Annotated[bool, typer.Option("--json", help="For a program to read.")]


@app.command()
def add(
    name: Name,
    role: Annotated[
        str | None,
        typer.Option(
            "--role", help="reader, curator or administrator; curator unless told. The first is an administrator."
        ),
    ] = None,
) -> None:
    """Make an account; its password is asked for, or read from what comes in."""
    with _context() as context:
        chosen = parse_role(role) if role is not None else _usual_role(context)
        row = people.add_account(context, name, chosen, _password())
    print(f"{row.name} is {row.role.somebody}.")


@app.command("list")
def list_all(as_json: Json = False) -> None:
    """Show every account."""
    with _context() as context:
        rows = people.list_accounts(context)
    if as_json:
        write_json([row.model_dump(mode="json") for row in rows])
        return
    drawn = table("name", "role", "since", "disabled since")
    for row in rows:
        drawn.add_row(row.name, row.role, local_time(row.created_at), local_time(row.disabled_at))
    console().print(drawn)


@app.command()
def edit(
    name: Name,
    role: Annotated[str | None, typer.Option("--role", help="reader, curator or administrator.")] = None,
    password: Annotated[bool, typer.Option("--password", help="Ask for another password.")] = False,
    disabled: Annotated[
        bool | None, typer.Option("--disable/--enable", help="Whether nobody can log in with it.")
    ] = None,
) -> None:
    """Change an account; where it is disabled or has another password, its sessions end."""
    chosen = parse_role(role) if role is not None else None
    if chosen is None and not password and disabled is None:
        raise TarantulaError("Say what is to change: --role, --password, --disable or --enable.")
    with _context() as context:
        people.get_account(context, name)
        row = people.edit_account(
            context, name, role=chosen, password=_password() if password else None, disabled=disabled
        )
    print(f"{row.name} is {row.role.somebody}{', and disabled' if row.disabled_at else ''}.")


@app.command()
def remove(name: Name, yes: Annotated[bool, typer.Option("--yes", help="Do not ask once more.")] = False) -> None:
    """Remove an account, with its sessions and tokens."""
    with _context() as context:
        people.get_account(context, name)
        if not yes:
            typer.confirm(f"Remove the account {name}?", abort=True)
        people.remove_account(context, name)
    print(f"{name} is removed.")


@app.command()
def token(
    name: Name,
    purpose: Annotated[str, typer.Argument(metavar="PURPOSE", help="What it is for, in words.")],
    role: Annotated[str, typer.Option("--role", help="What it may do, within what the account may.")] = "reader",
    days: Annotated[int | None, typer.Option("--days", help="How long it lasts; for good unless told.")] = None,
) -> None:
    """Make a token, with which a program uses the API as that account; it is shown this once."""
    with _context() as context:
        made = tokens.add_token(context, purpose, parse_role(role), days, account=name)
    print(made.secret)


@app.command("tokens")
def list_tokens(
    as_json: Json = False,
    remove: Annotated[int | None, typer.Option("--remove", metavar="NUMBER", help="Make this one useless.")] = None,
) -> None:
    """Show every token, or remove one."""
    with _context() as context:
        if remove is not None:
            tokens.remove_token(context, remove)
        rows = tokens.list_tokens(context)
    if as_json:
        write_json([row.model_dump(mode="json") for row in rows])
        return
    drawn = table("number", "account", "purpose", "role", "since", "until", "last used", numbers=("number",))
    for row in rows:
        moments = (row.created_at, row.expires_at, row.used_at)
        drawn.add_row(str(row.id), row.account, row.name, row.role, *(local_time(moment) for moment in moments))
    console().print(drawn)


@contextmanager
def _context() -> Iterator[ServiceContext]:
    """Give the context of whoever can read the database anyway."""
    installation = Config()
    with open_database(installation) as database:
        yield ServiceContext(installation, database, Person(getpass.getuser(), Role.ADMINISTRATOR))


def _usual_role(context: ServiceContext) -> Role:
    with context.reading() as session:
        return Role.CURATOR if accounts.exist(session) else Role.ADMINISTRATOR


def _password() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\r\n")
