"""``tarantula search`` and ``tarantula index``: find documents, and keep the index up to date."""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import Annotated

import typer
from rich.text import Text

from tarantula.cli.terminal import console, local_time, progress_bar, write_json
from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.search import check_available
from tarantula.search.barrels.client import GatewayClient
from tarantula.search.query_counts import QueryCounter
from tarantula.search.results import MOST_PAGES, SearchOrder, SearchRequest, SearchResult, SearchResults


def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help='Words, "phrases", OR, -word, site: and others.')],
    page: Annotated[int, typer.Option(min=1, max=MOST_PAGES, help="Ten results make a page.")] = 1,
    order: Annotated[SearchOrder, typer.Option(help="What comes first.")] = SearchOrder.BEST,
    unfold: Annotated[bool, typer.Option("--unfold", help="Show equal and nearly equal documents one by one.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score came about.")] = False,
    gateway: Annotated[
        str, typer.Option("--gateway", metavar="URL", help="Ask this gateway, and not the index in the home.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Find documents that were collected."""
    request = SearchRequest(query=" ".join(query), page=page, order=order, unfold=unfold, explain=explain)
    gateway = gateway or Config().gateway
    found = _ask(gateway, request) if gateway else _find(request)
    if as_json:
        write_json(found.model_dump(mode="json"))
    else:
        _draw(found)


def _ask(gateway: str, request: SearchRequest) -> SearchResults:
    with closing(GatewayClient(gateway)) as finder:
        return finder.find(request)


def _find(request: SearchRequest) -> SearchResults:
    check_available()
    from tarantula.search.finder import SearchFinder
    from tarantula.search.index.storage import reporting_damage
    from tarantula.search.index.updater import updated_index

    installation = Config()
    with open_database(installation) as database, progress_bar("Indexing") as show:
        index = updated_index(installation, database, show)
        counts = QueryCounter(database)
        counts.note(request)
        counts.write()
    with reporting_damage(index.folder):
        return SearchFinder(index).find(request)


def _draw(found: SearchResults) -> None:
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


def _drawn(result: SearchResult) -> Text:
    text = Text()
    text.append(result.title, style="bold")
    text.append(f"\n{result.url}\n", style="blue")
    for piece in result.citation:
        text.append(piece.text, style="bold yellow" if piece.marked else "")
    others = [f"{result.same} with the same bytes"] * bool(result.same) + [f"{result.alike} alike"] * bool(result.alike)
    text.append("\n" + " · ".join([result.publication, result.urn, local_time(result.collected), *others]), style="dim")
    if result.explanation:
        text.append(f"\n{result.explanation}")
    return text


IDLE_POLL_SECONDS = 0.5
"""Seconds between two looks, while nothing happens."""


def index(
    follow: Annotated[bool, typer.Option("--follow", help="Go on until Ctrl-C: what is collected is found.")] = False,
    beside: Annotated[int | None, typer.Option(metavar="PID", help="Follow as long as this parent process.")] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Begin anew, from the texts that were read.")] = False,
    reread: Annotated[bool, typer.Option("--reread", help="Read every text from the archive again.")] = False,
) -> None:
    """Bring the index up to date with what was collected."""
    check_available()
    from tarantula.search.index.updater import IndexUpdater, discard_index, request_rereading

    installation = Config()
    with open_database(installation) as database, progress_bar("Indexing") as show:
        if rebuild:
            discard_index(installation)
        if reread:
            request_rereading(database)
        following = IndexUpdater(installation, database)
        done = following.step()
        while _goes_on(follow, beside) or not done.is_complete:
            show(done.place, done.head)
            if done.is_complete:
                time.sleep(IDLE_POLL_SECONDS)
            done = following.step()
        number = following.index.searcher().num_docs
    console().print(f"{number:,} documents can be found.")


def _goes_on(follow: bool, beside: int | None) -> bool:
    return follow if beside is None else os.getppid() == beside
