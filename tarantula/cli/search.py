"""``tarantula search`` and ``tarantula index``: find documents, and keep the index up to date."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tarantula.cli.terminal import Json, console, local_time, progress_bar, write_json
from tarantula.core.config import Config
from tarantula.core.errors import DatabaseUnavailableError, DatabaseUnreachableError
from tarantula.core.process import log_to_stdout
from tarantula.core.termination import EXIT_INCOMPLETE
from tarantula.search import check_available
from tarantula.search.barrels.client import GatewayClient
from tarantula.search.barrels.signatures import SearchKeys
from tarantula.search.results import MOST_PAGES, SearchOrder, SearchRequest, SearchResult, SearchResults
from tarantula.services import search as service
from tarantula.services.context import local_context
from tarantula.store.errors import WriteError

if TYPE_CHECKING:
    from tarantula.search.index.updater import IndexUpdater

logger = logging.getLogger(__name__)

IDLE_POLL_SECONDS = 0.5
"""Seconds between two checks for new documents."""
MAX_PRINTED = 20
"""Documents whose parsers were stopped that are printed."""
RETRY_SECONDS = 1.0
"""Seconds before a step is tried again that failed because the database was away or a disk was full."""


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
    installation = Config()
    gateway = gateway or installation.gateway
    found = _ask_gateway(installation, gateway, request) if gateway else _search_home(request)
    if as_json:
        write_json(found.model_dump(mode="json"))
    else:
        _draw(found)


def _ask_gateway(installation: Config, gateway: str, request: SearchRequest) -> SearchResults:
    with closing(GatewayClient(gateway, SearchKeys(installation))) as finder:
        return finder.find(request)


def _search_home(request: SearchRequest) -> SearchResults:
    check_available()
    with local_context() as context, progress_bar("Indexing") as show:
        return service.search_newest(context, request, show)


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
    skipped: Annotated[
        bool, typer.Option("--skipped", help="Only list the documents whose parsers were stopped.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Add newly collected documents to the index."""
    check_available()
    if skipped:
        _list_skipped(as_json)
        return
    from tarantula.search.index.updater import IndexUpdater, discard_index, request_rereading

    with local_context() as context, progress_bar("Indexing") as show:
        if rebuild:
            discard_index(context.installation)
        if reread:
            request_rereading(context.database)
        updater = IndexUpdater(context.installation, context.database)
        if _continues(follow, beside):
            log_to_stdout()
            context.database.log_outages()
            _follow(updater, show, lambda: _continues(follow, beside))
        updater.run(show)
        number = updater.index.searcher().num_docs
    console().print(f"{number:,} documents are in the index.")
    if (records := updater.unreadable - updater.skipped) > 0:
        console().print(f"Not in the index, because their records could not be read: {records:,}.")
    if updater.skipped:
        console().print(f"Not in the index, because their parsers were stopped: {updater.skipped:,}.")
        for url, reason in updater.stopped[:MAX_PRINTED]:
            console().print(f"{url}: {reason}")
        console().print("`tarantula index --skipped` lists all of them.")
    if updater.unreadable:
        raise typer.Exit(EXIT_INCOMPLETE)


def _list_skipped(as_json: bool) -> None:
    with local_context() as context:
        rows = service.list_skipped(context)
    if as_json:
        write_json([row.model_dump(mode="json") for row in rows])
        return
    for row in rows:
        console().print(f"{row.urn} {row.url}: {row.reason}", soft_wrap=True)
    if not rows:
        console().print("No parser of a document was stopped.")


def _follow(updater: IndexUpdater, show: Callable[[int, int], None], continues: Callable[[], bool]) -> None:
    """Keep the index up to date; wait while the database is away or a disk is full."""
    last_error = ""
    while continues():
        try:
            done = updater.step()
            show(done.place, done.head)
            last_error, pause = "", IDLE_POLL_SECONDS if done.is_complete else 0.0
        except (DatabaseUnavailableError, WriteError) as error:
            if str(error) != last_error and not isinstance(error, DatabaseUnreachableError):
                logger.error("%s", error)
            last_error, pause = str(error), RETRY_SECONDS
        time.sleep(pause)


def _continues(follow: bool, beside: int | None) -> bool:
    return follow if beside is None else os.getppid() == beside
