"""``tarantula search`` and ``tarantula index``: find documents, and keep the index up to date."""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import Annotated

import typer
from rich.text import Text

from tarantula.cli.terminal import Json, console, local_time, progress_bar, write_json
from tarantula.core.config import Config
from tarantula.search import check_available
from tarantula.search.barrels.client import GatewayClient
from tarantula.search.query_counts import QueryCounter
from tarantula.search.results import MOST_PAGES, SearchOrder, SearchRequest, SearchResult, SearchResults
from tarantula.store.database import open_database

IDLE_POLL_SECONDS = 0.5
"""Seconds between two checks for new documents."""


def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help='Words, "phrases", OR, -word, site: and others.')],
    page: Annotated[int, typer.Option(min=1, max=MOST_PAGES, help="Page of results, ten each.")] = 1,
    order: Annotated[SearchOrder, typer.Option(help="Sort order.")] = SearchOrder.BEST,
    unfold: Annotated[bool, typer.Option("--unfold", help="Show duplicates and near-duplicates one by one.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Explain each score.")] = False,
    gateway: Annotated[
        str, typer.Option("--gateway", metavar="URL", help="Ask this gateway instead of the index in the home.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Search the collected documents."""
    request = SearchRequest(query=" ".join(query), page=page, order=order, unfold=unfold, explain=explain)
    gateway = gateway or Config().gateway
    found = _ask_gateway(gateway, request) if gateway else _search_home(request)
    if as_json:
        write_json(found.model_dump(mode="json"))
    else:
        _draw(found)


def _ask_gateway(gateway: str, request: SearchRequest) -> SearchResults:
    with closing(GatewayClient(gateway)) as finder:
        return finder.find(request)


def _search_home(request: SearchRequest) -> SearchResults:
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
        screen.print(_result_text(result))


def _result_text(result: SearchResult) -> Text:
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


def index(
    follow: Annotated[bool, typer.Option("--follow", help="Keep indexing until Ctrl-C.")] = False,
    beside: Annotated[
        int | None, typer.Option(metavar="PID", help="Keep indexing as long as this parent process runs.")
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Rebuild the index from the stored texts.")] = False,
    reread: Annotated[bool, typer.Option("--reread", help="Extract every text from the archive again.")] = False,
) -> None:
    """Add newly collected documents to the index."""
    check_available()
    from tarantula.search.index.updater import IndexUpdater, discard_index, request_rereading

    installation = Config()
    with open_database(installation) as database, progress_bar("Indexing") as show:
        if rebuild:
            discard_index(installation)
        if reread:
            request_rereading(database)
        updater = IndexUpdater(installation, database)
        done = updater.step()
        while _continues(follow, beside) or not done.is_complete:
            show(done.place, done.head)
            if done.is_complete:
                time.sleep(IDLE_POLL_SECONDS)
            done = updater.step()
        number = updater.index.searcher().num_docs
    console().print(f"{number:,} documents are in the index.")


def _continues(follow: bool, beside: int | None) -> bool:
    return follow if beside is None else os.getppid() == beside
