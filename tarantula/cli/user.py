"""``tarantula user``: accounts and tokens."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tarantula.accounts.accounts import exist as accounts_exist
from tarantula.accounts.roles import Role, parse_role
from tarantula.accounts.tokens import SCOPES
from tarantula.cli.nouns import noun_group
from tarantula.cli.terminal import Json, Yes, console, local_time, table, write_json
from tarantula.core.errors import TarantulaError
from tarantula.services import accounts, identities, tokens
from tarantula.services.context import ServiceContext, local_context

app = noun_group("user")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The account.")]


@app.command()
def add(
    name: Name,
    role: Annotated[
        str | None,
        typer.Option(
            "--role", help="reader, curator or administrator; default curator. The first account is an administrator."
        ),
    ] = None,
    no_password: Annotated[
        bool,
        typer.Option("--no-password", help="Only an identity that is linked to it logs in: `tarantula user link`."),
    ] = False,
) -> None:
    """Create an account; the password is asked for, or read from standard input."""
    with local_context() as context:
        chosen = parse_role(role) if role is not None else _default_role(context)
        row = accounts.add_account(context, name, chosen, None if no_password else _password())
    print(f"{row.name} is {row.role.with_article}.")


@app.command("list")
def list_all(as_json: Json = False) -> None:
    """List all accounts."""
    with local_context() as context:
        rows = accounts.list_accounts(context)
    if as_json:
        write_json([row.model_dump(mode="json") for row in rows])
        return
    drawn = table("name", "role", "since", "disabled since", "second factor")
    for row in rows:
        kinds = ", ".join(row.second_factors)
        drawn.add_row(row.name, row.role, local_time(row.created_at), local_time(row.disabled_at), kinds)
    console().print(drawn)


@app.command()
def edit(
    name: Name,
    role: Annotated[str | None, typer.Option("--role", help="reader, curator or administrator.")] = None,
    password: Annotated[bool, typer.Option("--password", help="Ask for a new password.")] = False,
    disabled: Annotated[bool | None, typer.Option("--disable/--enable", help="Whether login is disabled.")] = None,
) -> None:
    """Change an account; disabling it or changing its password ends its sessions."""
    chosen = parse_role(role) if role is not None else None
    if chosen is None and not password and disabled is None:
        raise TarantulaError("There is nothing to change: give --role, --password, --disable or --enable.")
    with local_context() as context:
        accounts.get_account(context, name)
        row = accounts.edit_account(
            context, name, role=chosen, password=_password() if password else None, disabled=disabled
        )
    print(f"{row.name} is {row.role.with_article}{', and disabled' if row.disabled_at else ''}.")


@app.command()
def remove(
    name: Name,
    give_to: Annotated[
        str | None,
        typer.Option(
            "--give-to",
            metavar="OTHER",
            help="The account that gets its sources, views and alerts; default none: they are deleted, "
            "except public sources.",
        ),
    ] = None,
    yes: Yes = False,
) -> None:
    """Delete an account with its sessions, tokens, views and alerts."""
    with local_context() as context:
        accounts.get_account(context, name)
        if not yes:
            typer.confirm(f"Delete the account {name}?", abort=True)
        accounts.remove_account(context, name, give_to)
    print(f"{name} is removed.")


@app.command("reset-factors")
def reset_factors(name: Name, yes: Yes = False) -> None:
    """Remove the second factors of an account whose owner has lost them; its sessions end."""
    with local_context() as context:
        accounts.get_account(context, name)
        if not yes:
            typer.confirm(f"Remove the second factors of {name}?", abort=True)
        accounts.reset_factors(context, name)
    print(f"{name} has no second factor any more.")


Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="The person at the provider: the claim `sub`.")]
Issuer = Annotated[
    str,
    typer.Option("--issuer", metavar="URL", help="The provider; default TARANTULA_OIDC_ISSUER.", show_default=False),
]


@app.command()
def link(
    name: Name,
    subject: Subject,
    issuer: Issuer = "",
    remove: Annotated[bool, typer.Option("--remove", help="Remove the link, and end the account's sessions.")] = False,
) -> None:
    """Let a person of the OpenID Connect provider log in to an account."""
    with local_context() as context:
        issuer = issuer or context.installation.oidc_issuer
        if not issuer:
            raise TarantulaError("There is no provider. Set TARANTULA_OIDC_ISSUER, or give --issuer.")
        change = identities.unlink_identity if remove else identities.link_identity
        change(context, name, issuer, subject)
    print(f"{subject} is {'no longer' if remove else 'now'} linked to {name}.")


@app.command("identities")
def list_identities(as_json: Json = False) -> None:
    """List the people of the OpenID Connect provider who are linked to accounts."""
    with local_context() as context:
        rows = identities.list_identities(context)
    if as_json:
        write_json([row.model_dump(mode="json") for row in rows])
        return
    drawn = table("account", "issuer", "subject", "since", "last login")
    for row in rows:
        drawn.add_row(row.account, row.issuer, row.subject, local_time(row.created_at), local_time(row.used_at))
    console().print(drawn)


@app.command()
def token(
    name: Name,
    purpose: Annotated[str, typer.Argument(metavar="PURPOSE", help="Purpose.")],
    role: Annotated[str, typer.Option("--role", help="Role of the token, at most that of the account.")] = "reader",
    days: Annotated[
        int | None, typer.Option("--days", help="Validity in days; default TARANTULA_TOKEN_DAYS; 0: unlimited.")
    ] = None,
    scopes: Annotated[
        list[str] | None,
        typer.Option("--scope", help=f"Part of the API it may use: {', '.join(SCOPES)}; repeatable; default all."),
    ] = None,
) -> None:
    """Create a token, with which a program uses the API as that account; it cannot be shown again."""
    with local_context() as context:
        made = tokens.add_token(context, purpose, parse_role(role), days, account=name, scopes=scopes)
    print(made.secret)


@app.command("tokens")
def list_tokens(
    as_json: Json = False,
    remove: Annotated[int | None, typer.Option("--remove", metavar="NUMBER", help="Revoke this token first.")] = None,
) -> None:
    """List all tokens, or revoke one."""
    with local_context() as context:
        if remove is not None:
            tokens.remove_token(context, remove)
        rows = tokens.list_tokens(context)
    if as_json:
        write_json([row.model_dump(mode="json") for row in rows])
        return
    drawn = table("number", "account", "purpose", "role", "scopes", "since", "until", "last used", numbers=("number",))
    for row in rows:
        moments = (row.created_at, row.expires_at, row.used_at)
        scopes = ", ".join(row.scopes or ["all"])
        drawn.add_row(str(row.id), row.account, row.name, row.role, scopes, *(local_time(moment) for moment in moments))
    console().print(drawn)


@app.command("verify-audit")
def verify_audit(
    head: Annotated[
        str, typer.Option("--head", metavar="HEAD", help="A head printed earlier, which the log must still contain.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Verify the hashes of the audit log; the exit code is 1 if it was altered."""
    with local_context() as context:
        found = accounts.verify_audit(context, head)
    if as_json:
        write_json(found.model_dump(mode="json"))
    else:
        print(found.problem or f"The audit log is whole: {found.entries} entries.\nHead: {found.head}")
    if found.problem:
        raise typer.Exit(1)


def _default_role(context: ServiceContext) -> Role:
    with context.reading() as session:
        return Role.CURATOR if accounts_exist(session) else Role.ADMINISTRATOR


def _password() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\r\n")
