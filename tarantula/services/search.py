"""Search the collected documents through the local index or a gateway, and show how the search engine works."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from pydantic import BaseModel
from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from tarantula.accounts.roles import Role
from tarantula.archive.replay.pages import find_document
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.models import Barrel, Document, Item
from tarantula.search import check_available
from tarantula.search.barrels.client import GatewayClient
from tarantula.search.query_counts import QueryCounter, top_queries
from tarantula.search.results import SearchRequest, SearchResult, SearchResults
from tarantula.services.context import ServiceContext
from tarantula.store.journal import last_visible_id
from tarantula.store.listings import IS_COLLECTED, find_item
from tarantula.store.liveness import live_barrels

if TYPE_CHECKING:
    from tarantula.search.index.storage import SearchIndex

MAX_OTHER_CAPTURES = 5
"""Of each page, beside the one that was found."""


class AnswerTimes:
    """How many questions this process answered, and how long that took."""

    def __init__(self) -> None:
        self.number, self.seconds = 0, 0.0
        self._lock = Lock()

    def note(self, seconds: float) -> None:
        """Count one."""
        with self._lock:
            self.number, self.seconds = self.number + 1, self.seconds + seconds


answer_times = AnswerTimes()


class PageCapture(BaseModel):
    """The same page, as another item has it."""

    urn: str
    document: int
    collected: datetime | None


def search_documents(context: ServiceContext, request: SearchRequest) -> SearchResults:
    """Return a page of what was found."""
    context.person.check(Role.READER)
    if context.installation.gateway:
        return _gateway(context.installation.gateway).find(request)
    began = monotonic()
    with open_index(context) as index:
        from tarantula.search.finder import SearchFinder

        found = SearchFinder(index).find(request)
    answer_times.note(monotonic() - began)
    # A gateway counts by itself.
    counts = search_counts(context.database)
    counts.note(request)
    if counts.is_due:
        counts.write()
    return found


def index_warnings(context: ServiceContext) -> list[str]:
    """Say so, if what was collected lately cannot be found, and nobody sees to it."""
    if context.installation.gateway:
        return []
    try:
        with open_index(context) as index, context.database.read_connection() as connection:
            if last_visible_id(connection) > index.place and not index.is_kept:
                raise ConflictError(
                    "What was collected lately is not in the index yet, and nobody brings it up to date. "
                    "Start a daemon (`tarantula serve`), or run `tarantula index`."
                )
    except TarantulaError as error:
        return [str(error)]
    return []


def completions(context: ServiceContext, prefix: str) -> list[str]:
    """Return how a query may go on."""
    context.person.check(Role.READER)
    if context.installation.gateway:
        return _gateway(context.installation.gateway).complete(prefix)
    with open_index(context) as index:
        from tarantula.search.completion import complete_query

        return complete_query(index, prefix).completions


def other_captures(context: ServiceContext, results: Iterable[SearchResult]) -> dict[int, list[PageCapture]]:
    """Return for each document that was found the last captures of its page in its publication, without itself."""
    with context.reading() as session:
        return {result.document: _captures(session, result.document) for result in results}


def check_document(context: ServiceContext, urn: str, number: int) -> None:
    """Say so, if an item has no such document, or is not there."""
    with context.reading() as session:
        find_document(session, find_item(session, urn), number)


def _captures(session: Session, number: int) -> list[PageCapture]:
    """Look for the same URL in the other items: one probe of an index for each, until there are enough."""
    found = session.get(Document, number)
    if found is None:
        return []
    publication = select(Item.publication_id).where(Item.id == found.item_id).scalar_subquery()
    rows = session.execute(
        select(Item.urn, Document.id, Document.collected_at)
        .join(Document, (Document.item_id == Item.id) & (Document.key == found.key))
        .where(Item.publication_id == publication, Item.id != found.item_id, IS_COLLECTED)
        .order_by(Item.id.desc())
        .limit(MAX_OTHER_CAPTURES)
    )
    return [PageCapture(urn=urn, document=other, collected=at) for urn, other, at in rows]


@contextmanager
def open_index(context: ServiceContext) -> Iterator[SearchIndex]:
    """Give the index of an installation, or say what to do without one."""
    context.person.check(Role.READER)
    check_available()
    from tarantula.search.index.storage import reporting_damage
    from tarantula.search.index.updater import index_folder

    folder = index_folder(context.installation)
    if not (folder / "meta.json").exists():
        raise NotFoundError(
            "There is no index yet. A daemon keeps one (`tarantula serve`), and `tarantula index` makes one by hand."
        )
    with reporting_damage(folder):
        # Whoever builds it anew makes another folder.
        identity = folder.stat().st_ino
        yield _index(folder, identity)


@lru_cache(maxsize=1)
def search_counts(database: Database) -> QueryCounter:
    """Return who counts the searches of this process."""
    return QueryCounter(database)


@lru_cache(maxsize=1)
def _gateway(address: str) -> GatewayClient:
    return GatewayClient(address)


@lru_cache(maxsize=1)
def _index(folder: Path, identity: int) -> SearchIndex:
    from tarantula.search.index.storage import SearchIndex

    return SearchIndex(folder)


COUNTED_DAYS = 7
"""For which searches are counted together."""
MAX_SEARCHES = 10
HOME_INDEX = "home"
"""What the index in the home is called, which has no address."""


class SearchRow(BaseModel):
    """A query, and how often it was asked."""

    query: str
    number: int


class BarrelRow(BaseModel):
    """Somebody who answers."""

    address: str
    state: str
    """Ready; behind, if it is not asked until it has caught up; gone, if it was not heard of lately."""
    documents: int
    backlog: int
    """Entries of the journal that are not in its index yet."""
    answered: int
    mean_milliseconds: float | None


class SearchPanel(BaseModel):
    """All of it, at a moment."""

    searches: list[SearchRow]
    barrels: list[BarrelRow]
    journal: int
    """The number of the last entry."""
    backlog: int | None
    """Entries of the journal that are not in the index of the home yet; nothing if there is no index."""
    trouble: str
    """Why the index in the home cannot be used."""


def search_panel(context: ServiceContext) -> SearchPanel:
    """Return what goes on."""
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
    """Return how the index in the home does, as far as this process asks it."""
    with open_index(context) as index:
        searcher, place = index.seen()
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
