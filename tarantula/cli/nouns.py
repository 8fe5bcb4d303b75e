"""Nouns of the ``tarantula`` command; the module of a noun is imported only when it is typed, so that help is fast."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from tarantula import __version__

NOUNS = {
    "publication": "Publications: which part of the web to collect, how, and when.",
    "type": "Document types.",
    "profile": "Profiles: named sets of document types.",
    "crawl": "Collect one item of a publication now, with a progress display.",
    "item": "One item: show, stop, resume, extend, convert, validate, reject, export or remove it.",
    "items": "List items, one row each.",
    "servers": "List every server of an item, accepted or not, one row each.",
    "server": "Settings of one server: set, show and clear them, accept the server in an item.",
    "documents": "List the documents of an item, one row each.",
    "verify": "Read the stored files of items back, and report what is missing or damaged.",
    "report": "Show the states, types, sizes and servers of an item.",
    "diff": "Show which documents are new, changed, same and gone between two items.",
    "withholding": "Withheld URLs: take them down or put them under embargo, lift that, and list them.",
    "suggest": "Collect a URL under the publication for suggestions.",
    "why": "Show whether a URL is in the scope of a publication, and which rule decided.",
    "search": "Search the collected documents.",
    "index": "Add newly collected documents to the index.",
    "barrel": "Run a search server with its own index, for gateways, until Ctrl-C.",
    "gateway": "Answer searches by forwarding them to barrels, until Ctrl-C.",
    "stream": "Streams: values on pages, followed over time, with sources, history and alerts.",
    "web": "Start the management pages, until Ctrl-C.",
    "serve": "Start the management pages and the daemon, until Ctrl-C.",
    "backup": "Copy the database and the files of the home, while collections continue.",
    "restore": "Restore a backup, by default the newest, into an empty home and a new database.",
    "drain": "Empty a machine before a reboot: its processes hand their work over.",
    "secrets": "The key that encrypts passwords in the database: show its status, rotate it.",
    "user": "Accounts: add, list, edit and remove them, create tokens for programs.",
    "revisit": "Revisits: plan visits, simulate policies, and draw the results.",
    "escalona": "Order URLs by a file of commands, as the URL scheduler of 2021 does.",
}
SHARED_MODULES = {
    "documents": ("items", "documents"),
    "gateway": ("barrel", "gateway"),
    "index": ("search", "index"),
    "restore": ("backup", "restore"),
    "serve": ("web", "serve"),
    "servers": ("server", "list_servers"),
    "why": ("publication", "why"),
}
"""Module and function of each noun that shares its module with another noun."""


class Nouns(TyperGroup):
    """Lists the nouns without importing their modules, and loads the noun that is typed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for noun, purpose in NOUNS.items():
            self.add_command(TyperCommand(noun, help=purpose))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Replace the placeholder that help shows by the real command."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, load_noun(name) if name and found else found, rest


def noun_group(noun: str) -> typer.Typer:
    """Return an empty command group: the ``app`` of a noun's module."""
    return typer.Typer(help=NOUNS[noun], no_args_is_help=True, add_completion=False)


def load_noun(noun: str) -> Any:
    """Return the command of a noun: the ``app`` of its module, or the function of that name."""
    module_name, function = SHARED_MODULES.get(noun, (noun, noun))
    module = import_module(f"tarantula.cli.{module_name}")
    app = None if noun in SHARED_MODULES else getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False)
        app.command(noun, help=NOUNS[noun])(getattr(module, function))
    return get_command(app)


def root_command() -> Any:
    """Return the ``tarantula`` command with all nouns."""
    app = typer.Typer(cls=Nouns, no_args_is_help=True)
    app.callback(help="Tarântula collects publications from the web and archives them.")(_options)
    return get_command(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"Tarântula {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, help="Show the version.")] = False,
) -> None:
    """Handle the options before the noun."""
