"""Observations of each page of a publication, read from the database in the order of the hashes of URLs.

The keys of documents are hashes, so any range of them is a fair sample of the pages, and all observations of a page are
in one range. A publication is read range by range, a bounded number of rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import count, pairwise
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    Integer,
    Select,
    Text,
    cast,
    func,
    null,
    select,
    true,
    type_coerce,
)
from sqlalchemy.orm import Session

from tarantula.models import Document, Item, Visit
from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.rates.estimates import estimate_rates
from tarantula.revisit.rates.gamma import change_probabilities
from tarantula.revisit.rates.history import HistoryBuilder, PagesToRevisit
from tarantula.revisit.rates.observations import FIRST_BODY, Observations, observed_faces, parse_http_dates

ROWS_PER_RANGE = 100_000
"""How many are held at a time, about."""
MAX_ITEMS = 20
"""How many of the last items are read: what was longer ago says little of today."""
KEY_SPACE = 1 << 64
"""Of keys, by their first eight bytes."""
GONE_TYPE, REDIRECT_TYPE = "gone", "redirect"
"""What stands for a type where there is no page: they change as such things do, and not as pages do."""


class Numbering:
    """Numbers things from zero on, in the order in which they come."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}

    def of(self, things: Sequence[Any]) -> Ints:
        """Return the numbers of some things."""
        known = self.known
        return np.array([known.setdefault(thing, len(known)) for thing in things], dtype=np.int64)


class ObservedPages(NamedTuple):
    """What was read."""

    ledger: HistoryBuilder
    servers: list[int]
    """The ids of servers by their numbers."""
    types: list[str]
    share: float
    """Of all pages that were read."""


def read_observations(session: Session, item: Item, most_rows: int | None = None) -> ObservedPages:
    """Read what is known of the pages of an item; a sample of them, if about *most_rows* rows are enough."""
    connection = session.connection()
    items = _items(session, item)
    rows = _count(session, items)
    share = min(1.0, most_rows / max(rows, 1)) if most_rows is not None else 1.0
    ledger, servers, types = HistoryBuilder(), Numbering(), Numbering()
    for low, high in _ranges(share, max(ceil(rows * share / ROWS_PER_RANGE), 1)):
        _take(connection, items, item.id, low, high, servers, types, ledger)
    return ObservedPages(ledger, list(servers.known), list(types.known), share)


def _items(session: Session, item: Item) -> list[int]:
    """Return the last items of a publication, up to this one."""
    chosen = (
        select(Item.id)
        .where(Item.publication_id == item.publication_id, Item.planned_at <= item.planned_at)
        .order_by(Item.planned_at.desc(), Item.id.desc())
        .limit(MAX_ITEMS)
    )
    return sorted({*session.scalars(chosen), item.id})


def _count(session: Session, items: list[int]) -> int:
    documents = session.scalar(select(func.count()).where(Document.item_id.in_(items))) or 0
    return documents + (session.scalar(select(func.count()).where(Visit.item_id.in_(items))) or 0)


def _ranges(share: float, number: int) -> Iterator[tuple[bytes, bytes | None]]:
    """Cut a share of the keys into ranges; the last of all has no end."""
    borders = [int(KEY_SPACE * share * place / number) for place in range(number + 1)]
    for low, high in pairwise(borders):
        yield low.to_bytes(8, "big"), high.to_bytes(8, "big") if high < KEY_SPACE else None


def _take(
    connection: Connection,
    items: list[int],
    last: int,
    low: bytes,
    high: bytes | None,
    numbers: Numbering,
    types: Numbering,
    ledger: HistoryBuilder,
) -> None:
    """Read one range of keys into the ledger."""
    rows = [
        *connection.execute(_documents(connection, items, low, high)).all(),
        *connection.execute(_visits(connection, items, low, high)).all(),
    ]
    if not rows:
        return
    keys, item_ids, ids, server_ids, depths, states, digests, times, dates, mimes, unsent = zip(*rows, strict=True)
    known = Numbering()
    pages, state = known.of(keys), np.array(states, dtype=np.int64)
    faces = observed_faces(state, _bodies(digests))
    when = _moments(times)
    faces = np.where(np.isnan(when), 0, faces)
    sights = Observations.of(pages, when, faces, parse_http_dates(dates), np.array(unsent, dtype=np.bool_))
    servers, kinds = np.zeros(len(known.known), dtype=np.int64), np.zeros(len(known.known), dtype=np.int64)
    servers[pages] = numbers.of(server_ids)
    # What a page is, it is since it was last seen.
    in_time = np.argsort(when, kind="stable")
    in_time = in_time[faces[in_time] > 0]
    kinds[pages[in_time]] = types.of([_type(*one) for one in zip(states, mimes, strict=True)])[in_time]
    # What could not be reached is asked for anew, and not visited again.
    own = np.flatnonzero((np.array(item_ids) == last) & (faces > 0))
    wanted = PagesToRevisit(pages[own], np.array(ids, dtype=np.int64)[own], np.array(depths, dtype=np.int64)[own])
    ledger.add(sights, servers, kinds, wanted)


def _documents(connection: Connection, items: list[int], low: bytes, high: bytes | None) -> Select[Any]:
    return select(
        Document.key, Document.item_id, Document.id, Document.server_id, Document.depth, Document.state,
        Document.digest, _seconds(connection, Document.collected_at), Document.last_modified, Document.type,
        type_coerce(Document.unmodified, Integer),
    ).where(Document.item_id.in_(items), Document.collected_at.is_not(None), *_within(low, high))  # fmt: skip


def _visits(connection: Connection, items: list[int], low: bytes, high: bytes | None) -> Select[Any]:
    """Select the visits within refresh items: their documents' rows only tell of the last."""
    return (
        select(
            Document.key, null(), Document.id, Document.server_id, Document.depth, Visit.state, Visit.digest,
            _seconds(connection, Visit.made_at), null(), Visit.type, type_coerce(Visit.unmodified, Integer),
        )
        .join(Document, Document.id == Visit.document_id)
        .where(Visit.item_id.in_(items), Visit.made_at.is_not(None), Visit.state.is_not(None), *_within(low, high))
    )  # fmt: skip


def _within(low: bytes, high: bytes | None) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return Document.key >= low, Document.key < high if high is not None else true()


def _seconds(connection: Connection, moment: Any) -> ColumnElement[Any]:
    """Select a moment in a form that is quick to read: PostgreSQL counts seconds, SQLite keeps a text."""
    if connection.dialect.name == "postgresql":
        return cast(func.extract("epoch", moment), Double)
    return type_coerce(moment, Text)


def _moments(times: Sequence[Any]) -> Floats:
    if any(isinstance(time, str) for time in times):
        read = np.array([time or "NaT" for time in times], dtype="M8[us]")
        return np.where(np.isnat(read), np.nan, read.astype(np.int64) / 1e6)
    return np.array(times, dtype=np.float64)


def _bodies(digests: Sequence[str | None]) -> Ints:
    """Number bodies; a page without one was not seen."""
    known: dict[str | None, int] = {None: 0}
    numbers = count(FIRST_BODY)
    return np.array(
        [known[one] if one in known else known.setdefault(one, next(numbers)) for one in digests], dtype=np.int64
    )


def _type(state: int, mime: str | None) -> str:
    if 300 <= state < 400:
        return REDIRECT_TYPE
    return GONE_TYPE if 400 <= state < 500 else mime or "unknown"


class SampledFreshness(NamedTuple):
    """What a sample says of all pages."""

    pages: int
    share: float
    error: float
    is_sample: bool


def sampled_freshness(session: Session, item: Item, at: datetime, most_rows: int) -> SampledFreshness | None:
    """Return the share of pages that are believed to be as they were last seen, and its error."""
    known = read_observations(session, item, most_rows)
    beliefs = estimate_rates(known.ledger)
    pages = len(beliefs.histories)
    if not pages:
        return None
    ages = np.maximum(at.timestamp() - beliefs.histories.seen, 0.0)
    fresh = 1.0 - change_probabilities(ages, beliefs.shapes, beliefs.scales)
    # Each of all pages is fresh or not by accident; and those of the sample are some of all.
    by_accident = float((fresh * (1.0 - fresh)).sum()) * known.share / pages**2
    by_choice = float(fresh.var()) / pages * (1.0 - known.share)
    return SampledFreshness(pages, float(fresh.mean()), sqrt(by_accident + by_choice), known.share < 1.0)
