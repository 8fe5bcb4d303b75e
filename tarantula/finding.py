"""Documents of an item that somebody looks for, some at a time, however many there are.

A search goes along the documents in the order in which they became known, a stretch at a time, and stops when it has
enough or has taken long enough: then it says where it goes on. An index has all that is looked for but words.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from tarantula.models import Document, LinkRow, Server

STRETCH = 10_000
"""Ids among which is looked before the clock is looked at; more if that was quick."""
PATIENCE = 0.15
"""Seconds after which a search stops to say how far it is."""


class Wanted(NamedTuple):
    """What is looked for; what is not told may be anything."""

    state: int | None = None
    type: str | None = None
    server: str | None = None
    depth: int | None = None
    words: str = ""
    """All of them are in its URL, in any case."""


class Findings(NamedTuple):
    """The ids of some documents."""

    ids: list[int]
    next: int | None
    """After which id the search goes on; nothing if it is at its end."""
    searched: float
    """How far it is, from 0 to 1."""


def find(session: Session, item_id: int, wanted: Wanted, limit: int, after: int = 0) -> Findings:
    """Return the next documents of an item that are wanted, in the order in which they became known."""
    server_id = None
    if wanted.server is not None:
        server_id = session.scalar(select(Server.id).where(Server.name == wanted.server))
        if server_id is None:
            return Findings([], None, 1.0)
    conditions = [*_narrow(wanted, server_id), *(_has(session, word) for word in wanted.words.split())]
    return _walk(session, item_id, lambda ids: ids.where(*conditions), limit, after)


def find_naming(session: Session, item_id: int, target: bytes, limit: int, after: int = 0) -> Findings:
    """Return the next documents of an item that have a link to a URL, by its key."""
    # Links are looked up by those who have them: an index by target would cost more than all others together.
    named = (LinkRow.document_id == Document.id) & (LinkRow.target == target)
    return _walk(session, item_id, lambda ids: ids.join(LinkRow, named), limit, after)


def _walk(
    session: Session, item_id: int, narrowed: Callable[[Select[int]], Select[int]], limit: int, after: int
) -> Findings:
    began, stretch = monotonic(), STRETCH
    found: list[int] = []
    while (begin := _next_id(session, item_id, after)) is not None:
        looked = monotonic()
        end = begin + stretch
        ids = narrowed(select(Document.id)).where(Document.item_id == item_id, Document.id.between(begin, end))
        found += session.scalars(ids.order_by(Document.id).limit(limit + 1 - len(found)))
        if len(found) > limit:
            return Findings(found[:limit], found[limit - 1], _share(session, item_id, found[limit - 1]))
        after = end
        if monotonic() - began > PATIENCE:
            return Findings(found, after, _share(session, item_id, after))
        if monotonic() - looked < PATIENCE / 8:
            # The documents of other items may lie between these: then there are few of them in a stretch.
            stretch *= 2
    return Findings(found, None, 1.0)


def _next_id(session: Session, item_id: int, after: int) -> int | None:
    return session.scalar(
        select(Document.id).where(Document.item_id == item_id, Document.id > after).order_by(Document.id).limit(1)
    )


def _share(session: Session, item_id: int, place: int) -> float:
    ends = (
        session.scalar(select(end(Document.id)).where(Document.item_id == item_id)) or 0 for end in (func.min, func.max)
    )
    first, last = ends
    return round((place - first + 1) / max(last - first + 1, 1), 4)


def _narrow(wanted: Wanted, server_id: int | None) -> list[ColumnElement[bool]]:
    pairs = (
        (Document.state, wanted.state),
        (Document.server_id, server_id),
        (Document.depth, wanted.depth),
        (Document.type, wanted.type),
    )
    return [column == value for column, value in pairs if value is not None]


def _has(session: Session, word: str) -> ColumnElement[bool]:
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    # To SQLite all letters of ASCII are alike in LIKE.
    like = Document.url.ilike if session.get_bind().dialect.name == "postgresql" else Document.url.like
    return like(f"%{escaped}%", escape="\\")
