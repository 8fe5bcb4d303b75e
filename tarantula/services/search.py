"""Search the collected documents through the local index or a gateway, and show how the search engine works."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from sqlalchemy import Connection, func, select
from sqlalchemy.orm import Session

from tarantula.accounts.roles import Role
from tarantula.archive.replay import find_document
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.core.states import ItemState
from tarantula.core.validation import MessageText
from tarantula.models import Barrel, Document, Item, SkippedText
from tarantula.search import check_available
from tarantula.search.barrels.client import GatewayClient
from tarantula.search.barrels.signatures import SearchKeys
from tarantula.search.query_counts import QueryCounter, top_queries
from tarantula.search.results import SearchRequest, SearchResult, SearchResults
from tarantula.services.context import ServiceContext
from tarantula.store.document_query import skipped_documents
from tarantula.store.journal import last_visible_id
from tarantula.store.listings import IS_COLLECTED, find_item
from tarantula.store.liveness import live_barrels
from tarantula.store.withholding import check_access, urls_withheld_now

if TYPE_CHECKING:
    from tarantula.search.index.storage import SearchIndex

MAX_OTHER_CAPTURES = 5
"""Other captures that are listed with a result."""
COUNTED_DAYS = 7
"""Days over which searches are counted."""
MAX_SEARCHES = 10
MAX_SKIPPED = 50
"""Documents whose parsers were stopped that are listed."""
HOME_INDEX = "home"
"""Stands for the address of the index in the home."""


class AnswerTimes:
    """Number and total duration of the searches that this process answered."""

    def __init__(self) -> None:
        self.number, self.seconds = 0, 0.0
        self._lock = Lock()

    def note(self, seconds: float) -> None:
        """Add one search."""
        with self._lock:
            self.number, self.seconds = self.number + 1, self.seconds + seconds


answer_times = AnswerTimes()


class PageCapture(BaseModel):
    """A capture of the same page in another item."""

    urn: str
    document: int
    collected: datetime | None


def search_documents(context: ServiceContext, request: SearchRequest) -> SearchResults:
    """Return a page of search results."""
    context.person.check(Role.READER)
    if context.installation.gateway:
        return _gateway(context.installation).find(request)
    began = monotonic()
    with open_index(context) as index:
        from tarantula.search.finder import SearchFinder

        found = SearchFinder(index).find(request, _withheld(context))
    answer_times.note(monotonic() - began)
    # A gateway counts its searches itself.
    counts = search_counts(context.database)
    counts.note(request)
    if counts.is_due:
        counts.write()
    return found


def search_newest(
    context: ServiceContext, request: SearchRequest, on_progress: Callable[[int, int], None]
) -> SearchResults:
    """Bring the home's index up to date, and return a page of search results, for a command."""
    from tarantula.search.finder import SearchFinder
    from tarantula.search.index.storage import reporting_damage
    from tarantula.search.index.updater import updated_index

    index = updated_index(context.installation, context.database, on_progress)
    counts = QueryCounter(context.database)
    counts.note(request)
    counts.write()
    with reporting_damage(index.folder):
        return SearchFinder(index).find(request, _withheld(context))


def list_skipped(context: ServiceContext) -> list[SkippedRow]:
    """Return all documents that are not in the index because their parsers were stopped, the latest first."""
    with context.reading() as session:
        return [SkippedRow(**one.as_json()) for one in skipped_documents(session)]


def index_warnings(context: ServiceContext) -> list[str]:
    """Return a warning if the index is behind and no process updates it, or why it cannot be opened."""
    if context.installation.gateway:
        return []
    try:
        with open_index(context) as index, context.database.read_connection() as connection:
            if last_visible_id(connection) > index.place and not index.is_being_written:
                raise ConflictError(
                    "The newest documents are not in the index yet, and no process is updating it. "
                    "Start a daemon (`tarantula serve`), or run `tarantula index`."
                )
    except TarantulaError as error:
        return [str(error)]
    return []


def completions(context: ServiceContext, prefix: str) -> list[str]:
    """Return completions of the beginning of a query."""
    context.person.check(Role.READER)
    if context.installation.gateway:
        return _gateway(context.installation).complete(prefix)
    with open_index(context) as index:
        from tarantula.search.completion import complete_query

        return complete_query(index, prefix, _withheld(context)).completions


def _withheld(context: ServiceContext) -> list[str]:
    with context.database.read_connection() as connection:
        return urls_withheld_now(connection)


def other_captures(context: ServiceContext, results: Iterable[SearchResult]) -> dict[int, list[PageCapture]]:
    """Return the latest other captures of each result's page in the same publication, by document id."""
    with context.reading() as session:
        return {result.document: _captures(session, result.document) for result in results}


def check_document(context: ServiceContext, urn: str, number: int) -> None:
    """Raise `NotFoundError` if the item or the document does not exist, `WithheldError` if its URL is withheld."""
    with context.reading() as session:
        check_access(session, find_document(session, find_item(session, urn), number))


def _captures(session: Session, number: int) -> list[PageCapture]:
    """Find the same URL in other items: one index lookup for each item, until there are enough."""
    found = session.get(Document, number)
    if found is None:
        return []
    publication = select(Item.publication_id).where(Item.id == found.item_id).scalar_subquery()
    rows = session.execute(
        select(Item.urn, Document.id, Document.collected_at)
        .join(Document, (Document.item_id == Item.id) & (Document.key == found.key))
        .where(Item.publication_id == publication, Item.id != found.item_id, IS_COLLECTED)
        .where(Item.state != ItemState.REMOVING)
        .order_by(Item.id.desc())
        .limit(MAX_OTHER_CAPTURES)
    )
    return [PageCapture(urn=urn, document=other, collected=at) for urn, other, at in rows]


@contextmanager
def open_index(context: ServiceContext) -> Iterator[SearchIndex]:
    """Open the index of the installation, or raise with what to do without one."""
    context.person.check(Role.READER)
    check_available()
    from tarantula.search.index.storage import reporting_damage
    from tarantula.search.index.updater import index_folder

    folder = index_folder(context.installation)
    if not (folder / "meta.json").exists():
        raise NotFoundError("There is no index yet. Start a daemon (`tarantula serve`), or run `tarantula index`.")
    with reporting_damage(folder):
        # A rebuilt index is in a new folder, so the cache must miss.
        identity = folder.stat().st_ino
        yield _index(folder, identity)


@lru_cache(maxsize=1)
def search_counts(database: Database) -> QueryCounter:
    """Return the counter of this process's searches."""
    return QueryCounter(database)


@lru_cache(maxsize=1)
def _gateway(installation: Config) -> GatewayClient:
    return GatewayClient(installation.gateway, SearchKeys(installation))


@lru_cache(maxsize=1)
def _index(folder: Path, identity: int) -> SearchIndex:
    from tarantula.search.index.storage import SearchIndex

    return SearchIndex(folder)


class SearchRow(BaseModel):
    """A query and its number of searches."""

    query: str
    number: int


class BarrelRow(BaseModel):
    """A search server: a barrel, or the index in the home."""

    address: str
    state: str
    """Ready; behind, while it catches up and gets no searches; gone, after missed heartbeats."""
    documents: int
    backlog: int
    """Journal entries that are not in its index yet."""
    answered: int
    mean_milliseconds: float | None


class SkippedRow(BaseModel):
    """A document that is not in the index because its parser was stopped."""

    urn: str
    document: int
    url: str
    reason: str
    """English sentence of the reason."""
    reason_code: str
    reason_parameters: dict[str, Any]


class SearchPanel(BaseModel):
    """Status of the search engine."""

    searches: list[SearchRow]
    barrels: list[BarrelRow]
    journal: int
    """Number of the last journal entry."""
    backlog: int | None
    """Journal entries that are not in the home's index yet; ``None`` without an index."""
    trouble: MessageText
    """Why the home's index cannot be used."""
    skipped: list[SkippedRow]
    """The latest documents whose parsers were stopped."""
    skipped_count: int
    """Number of documents whose parsers were stopped."""


def search_panel(context: ServiceContext) -> SearchPanel:
    """Return the status of the search engine, for administrators."""
    context.person.check(Role.ADMINISTRATOR)
    search_counts(context.database).write()
    with context.reading(Role.ADMINISTRATOR) as session:
        connection = session.connection()
        last = last_visible_id(connection)
        searches = [
            SearchRow(query=query, number=number)
            for query, number in top_queries(connection, COUNTED_DAYS, MAX_SEARCHES)
        ]
        barrels = _barrels(connection, last)
        skipped = [SkippedRow(**one.as_json()) for one in skipped_documents(session, MAX_SKIPPED)]
        skipped_count = session.scalar(select(func.count()).select_from(SkippedText)) or 0
    trouble = ""
    try:
        here: BarrelRow | None = _here(context, last)
    except TarantulaError as error:
        here, trouble = None, str(error)
    return SearchPanel(
        searches=searches,
        barrels=[*([here] if here is not None else []), *barrels],
        journal=last,
        backlog=here.backlog if here is not None else None,
        trouble=trouble,
        skipped=skipped,
        skipped_count=skipped_count,
    )


def _barrels(connection: Connection, last: int) -> list[BarrelRow]:
    alive = {barrel.id for barrel in live_barrels(connection)}
    rows = connection.execute(select(Barrel.__table__).order_by(Barrel.address, Barrel.id))
    return [
        BarrelRow(
            address=row.address,
            state="gone" if row.id not in alive else "ready" if row.is_ready else "behind",
            documents=row.documents,
            backlog=max(last - row.place, 0),
            answered=row.answered,
            mean_milliseconds=_mean(row.answered, row.seconds),
        )
        for row in rows
    ]


def _here(context: ServiceContext, last: int) -> BarrelRow:
    """Return the status of the index in the home, with the searches of this process."""
    with open_index(context) as index:
        searcher, place = index.snapshot()
        backlog = max(last - place, 0)
        return BarrelRow(
            address=HOME_INDEX,
            state="behind" if backlog else "ready",
            documents=searcher.num_docs,
            backlog=backlog,
            answered=answer_times.number,
            mean_milliseconds=_mean(answer_times.number, answer_times.seconds),
        )


def _mean(number: int, seconds: float) -> float | None:
    return round(1000 * seconds / number, 2) if number else None
