"""What can be typed after ``tarantula``. A noun's module is imported only when it is typed: help comes at once."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from tarantula import __version__

NOUNS = {
    "publication": "Describe publications: which part of the web is wanted, how, and when.",
    "type": "The document types that are known.",
    "profile": "Named sets of document types.",
    "crawl": "Collect one item of a publication now, with a progress display.",
    "item": "What is done to one item: show, stop, resume, extend, convert, validate, reject, export or remove it.",
    "items": "Show the items that were collected, one row each.",
    "servers": "Show every server that an item met, accepted or not, one row each.",
    "server": "What is decided for one server: set it, show it, clear it, accept it in an item.",
    "documents": "Show an item's documents, one row each.",
    "report": "Show an item's states, types, sizes and servers.",
    "diff": "Show what is new, changed, same and gone between two items.",
    "suggest": "Have a URL collected, under the publication for suggestions.",
    "why": "Say whether a URL belongs to a publication, and which rule decided.",
    "search": "Find documents that were collected.",
    "index": "Bring the index up to date with what was collected.",
    "barrel": "Answer searches from an index of its own, for gateways, until Ctrl-C.",
    "gateway": "Answer searches by asking barrels, wherever they are, until Ctrl-C.",
    "stream": "Values on pages, followed over time: sources, what was read of them, alerts.",
    "web": "Start the management pages, until Ctrl-C.",
    "serve": "Start the management pages and the daemon, until Ctrl-C.",
    "user": "Those who may use the pages: add, list, edit, remove them, make tokens for programs.",
    "revisit": "When pages are visited again: plan it, simulate policies, and draw what they do.",
    "escalona": "Order URLs by a file of commands, as the URL scheduler of 2021 does.",
}
SHARED_MODULES = {
    "documents": ("items", "documents"),
    "gateway": ("barrel", "gateway"),
    "index": ("search", "index"),
    "serve": ("web", "serve"),
    "servers": ("server", "list_servers"),
    "why": ("publication", "why"),
}
"""Module and function of each noun that shares its module with another noun."""


class Nouns(TyperGroup):
    """Lists the nouns without their modules, and loads the one that is meant."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for noun, purpose in NOUNS.items():
            self.add_command(TyperCommand(noun, help=purpose))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Put the real command in the place of the one that help shows."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, load_noun(name) if name and found else found, rest


def noun_group(noun: str) -> typer.Typer:
    """Return an empty group of verbs, for the ``app`` of a noun's module."""
    return typer.Typer(help=NOUNS[noun], no_args_is_help=True, add_completion=False)


def load_noun(noun: str) -> Any:
    """Return a noun's command: the ``app`` of its module, or the function of that name."""
    module_name, function = SHARED_MODULES.get(noun, (noun, noun))
    module = import_module(f"tarantula.cli.{module_name}")
    app = None if noun in SHARED_MODULES else getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False)
        app.command(noun, help=NOUNS[noun])(getattr(module, function))
    return get_command(app)


def root_command() -> Any:
    """Return the whole command."""
    app = typer.Typer(cls=Nouns, no_args_is_help=True)
    app.callback(help="Tarântula collects publications from the web and keeps them for good.")(_options)
    return get_command(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"Tarântula {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, help="Show the version.")] = False,
) -> None:
    """Take the options that stand before the noun."""
