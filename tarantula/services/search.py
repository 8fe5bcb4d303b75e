"""What was collected, found: by the index in the home, or by a gateway if one is named."""

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
from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.accounts.roles import Role
from tarantula.archive.replay.pages_part_walk import find_document
from tarantula.core.database import Database
from tarantula.core.errors import NotNow, NotThere, TarantulaError
from tarantula.search import check_possible
from tarantula.search.barrels.client import RemoteFinder
from tarantula.search.query_counts import SearchCounts
from tarantula.search.results import Request, Result, Results
from tarantula.services.context import Desk
from tarantula.store.journal import head
from tarantula.store.listings import IS_COLLECTED, find_item
from tarantula.tables.publications import Document, Item

if TYPE_CHECKING:
    from tarantula.search.index.storage import Index

MOST_CAPTURES = 5
"""Of each page, beside the one that was found."""


class Answered:
    """How many questions this process answered, and how long that took."""

    def __init__(self) -> None:
        self.number, self.seconds = 0, 0.0
        self._lock = Lock()

    def note(self, seconds: float) -> None:
        """Count one."""
        with self._lock:
            self.number, self.seconds = self.number + 1, self.seconds + seconds


answered = Answered()


class Capture(BaseModel):
    """The same page, as another item has it."""

    urn: str
    document: int
    collected: datetime | None


def find(desk: Desk, request: Request) -> Results:
    """Return a page of what was found."""
    desk.person.check(Role.READER)
    if desk.installation.gateway:
        return _gateway(desk.installation.gateway).find(request)
    began = monotonic()
    with opened(desk) as index:
        from tarantula.search.finder import Finder

        found = Finder(index).find(request)
    answered.note(monotonic() - began)
    # A gateway counts by itself.
    counts = counts_of(desk.database)
    counts.note(request)
    if counts.is_due:
        counts.write()
    return found


def standing(desk: Desk) -> list[str]:
    """Say so, if what was collected lately cannot be found, and nobody sees to it."""
    if desk.installation.gateway:
        return []
    try:
        with opened(desk) as index, desk.database.looking() as connection:
            if head(connection) > index.place and not index.is_kept:
                raise NotNow(
                    "What was collected lately is not in the index yet, and nobody brings it up to date. "
                    "Start a daemon (`tarantula serve`), or run `tarantula index`."
                )
    except TarantulaError as error:
        return [str(error)]
    return []


def completed(desk: Desk, prefix: str) -> list[str]:
    """Return how a query may go on."""
    desk.person.check(Role.READER)
    if desk.installation.gateway:
        return _gateway(desk.installation.gateway).complete(prefix)
    with opened(desk) as index:
        from tarantula.search.completion import complete

        return complete(index, prefix).completions


def other_captures(desk: Desk, results: Iterable[Result]) -> dict[int, list[Capture]]:
    """Return for each document that was found the last captures of its page in its publication, without itself."""
    with desk.reading() as session:
        return {result.document: _captures(session, result.document) for result in results}


def check_document(desk: Desk, urn: str, number: int) -> None:
    """Say so, if an item has no such document, or is not there."""
    with desk.reading() as session:
        find_document(session, find_item(session, urn), number)


def _captures(session: Session, number: int) -> list[Capture]:
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
        .limit(MOST_CAPTURES)
    )
    return [Capture(urn=urn, document=other, collected=at) for urn, other, at in rows]


@contextmanager
def opened(desk: Desk) -> Iterator[Index]:
    """Give the index of an installation, or say what to do without one."""
    desk.person.check(Role.READER)
    check_possible()
    from tarantula.search.index.storage import damage_told
    from tarantula.search.index.updater import folder_of

    folder = folder_of(desk.installation)
    if not (folder / "meta.json").exists():
        raise NotThere(
            "There is no index yet. A daemon keeps one (`tarantula serve`), and `tarantula index` makes one by hand."
        )
    with damage_told(folder):
        # Whoever builds it anew makes another folder.
        identity = folder.stat().st_ino
        yield _index(folder, identity)


@lru_cache(maxsize=1)
def counts_of(database: Database) -> SearchCounts:
    """Return who counts the searches of this process."""
    return SearchCounts(database)


@lru_cache(maxsize=1)
def _gateway(address: str) -> RemoteFinder:
    return RemoteFinder(address)


@lru_cache(maxsize=1)
def _index(folder: Path, identity: int) -> Index:
    from tarantula.search.index.storage import Index

    return Index(folder)
