"""``tarantula search``."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer
from rich.text import Text

from tarantula.cli.terminal import console, counting, when, write_json
from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.search import check_possible
from tarantula.search.barrels.client import RemoteFinder
from tarantula.search.query_counts import SearchCounts
from tarantula.search.results import MOST_PAGES, Order, Request, Result, Results


def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help='Words, "phrases", OR, -word, site: and others.')],
    page: Annotated[int, typer.Option(min=1, max=MOST_PAGES, help="Ten results make a page.")] = 1,
    order: Annotated[Order, typer.Option(help="What comes first.")] = Order.BEST,
    unfold: Annotated[bool, typer.Option("--unfold", help="Show equal and nearly equal documents one by one.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score came about.")] = False,
    gateway: Annotated[
        str, typer.Option("--gateway", metavar="URL", help="Ask this gateway, and not the index in the home.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Find documents that were collected."""
    request = Request(query=" ".join(query), page=page, order=order, unfold=unfold, explain=explain)
    gateway = gateway or Config().gateway
    found = _ask(gateway, request) if gateway else _find(request)
    if as_json:
        write_json(found.model_dump(mode="json"))
    else:
        _draw(found)


def _ask(gateway: str, request: Request) -> Results:
    with closing(RemoteFinder(gateway)) as finder:
        return finder.find(request)


def _find(request: Request) -> Results:
    check_possible()
    from tarantula.search.finder import Finder
    from tarantula.search.index.storage import damage_told
    from tarantula.search.index.updater import caught_up

    installation = Config()
    with open_database(installation) as database, counting("Indexing") as show:
        index = caught_up(installation, database, show)
        counts = SearchCounts(database)
        counts.note(request)
        counts.write()
    with damage_told(index.folder):
        return Finder(index).find(request)


def _draw(found: Results) -> None:
    screen = console()
    for note in found.notes:
        screen.print(note)
    if found.did_you_mean:
        screen.print(f"Did you mean: {found.did_you_mean}")
    if found.documents:
        documents = "1 document" if found.documents == 1 else f"{found.documents:,} documents"
        screen.print(f"{documents}, page {found.page:,} of {found.pages:,}.")
    elif not found.notes:
        screen.print("Nothing was found.")
    for result in found.results:
        screen.print()
        screen.print(_drawn(result))


def _drawn(result: Result) -> Text:
    text = Text()
    text.append(result.title, style="bold")
    text.append(f"\n{result.url}\n", style="blue")
    for piece in result.citation:
        text.append(piece.text, style="bold yellow" if piece.marked else "")
    others = [f"{result.same} with the same bytes"] * bool(result.same) + [f"{result.alike} alike"] * bool(result.alike)
    text.append("\n" + " · ".join([result.publication, result.urn, when(result.collected), *others]), style="dim")
    if result.explanation:
        text.append(f"\n{result.explanation}")
    return text
