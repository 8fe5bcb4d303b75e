"""The search engine at work: what is asked most, who answers, how quickly, and how far the indexes are."""

from __future__ import annotations

from pydantic import BaseModel
from sqlalchemy import Connection, select

from tarantula.accounts.roles import Role
from tarantula.core.errors import TarantulaError
from tarantula.search.query_counts import top_queries
from tarantula.services.context import ServiceContext
from tarantula.services.search import answer_times, open_index, search_counts
from tarantula.store.journal import last_visible_id
from tarantula.store.liveness import live_barrels
from tarantula.tables.publications import Barrel

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


def search_panel(desk: ServiceContext) -> SearchPanel:
    """Return what goes on."""
    desk.person.check(Role.ADMINISTRATOR)
    search_counts(desk.database).write()
    with desk.reading(Role.ADMINISTRATOR) as session:
        connection = session.connection()
        last = last_visible_id(connection)
        searches = [
            SearchRow(query=query, number=number)
            for query, number in top_queries(connection, COUNTED_DAYS, MAX_SEARCHES)
        ]
        barrels = _barrels(connection, last)
    trouble = ""
    try:
        here: BarrelRow | None = _here(desk, last)
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


def _here(desk: ServiceContext, last: int) -> BarrelRow:
    """Return how the index in the home does, as far as this process asks it."""
    with open_index(desk) as index:
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
