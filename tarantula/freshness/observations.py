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

from tarantula.core.states import ItemState
from tarantula.models import Document, Item, Visit
from tarantula.revisit.model import Floats, Ints
from tarantula.revisit.rates.estimates import estimate_rates
from tarantula.revisit.rates.estimators import change_probabilities
from tarantula.revisit.rates.history import (
    FIRST_BODY,
    HistoryBuilder,
    Observations,
    PagesToRevisit,
    observed_contents,
    parse_http_dates,
)

ROWS_PER_RANGE = 100_000
"""Approximate number of rows in memory at a time."""
MAX_ITEMS = 20
"""Number of recent items that are read; older ones say little about the present."""
KEY_SPACE = 1 << 64
"""Number of different values of the first eight bytes of a key."""
GONE_TYPE, REDIRECT_TYPE = "gone", "redirect"
"""Types of missing pages and redirects, whose rates of change differ from those of pages."""


class Numbering:
    """Assigns numbers from zero on to values, in order of appearance."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}

    def of(self, things: Sequence[Any]) -> Ints:
        """Return the numbers of values."""
        known = self.known
        return np.array([known.setdefault(thing, len(known)) for thing in things], dtype=np.int64)


class ObservedPages(NamedTuple):
    """Observations of the pages of an item."""

    ledger: HistoryBuilder
    servers: list[int]
    """Server ids by their numbers."""
    types: list[str]
    share: float
    """Share of all pages that was read."""


def read_observations(session: Session, item: Item, max_rows: int | None = None) -> ObservedPages:
    """Read the observations of the pages of an item, or of a random sample with about *max_rows* rows."""
    connection = session.connection()
    items = _items(session, item)
    rows = _count(session, items)
    share = min(1.0, max_rows / max(rows, 1)) if max_rows is not None else 1.0
    ledger, servers, types = HistoryBuilder(), Numbering(), Numbering()
    for low, high in _ranges(share, max(ceil(rows * share / ROWS_PER_RANGE), 1)):
        _read_range(connection, items, item.id, low, high, servers, types, ledger)
    return ObservedPages(ledger, list(servers.known), list(types.known), share)


def _items(session: Session, item: Item) -> list[int]:
    """Return the ids of the last items of the publication, up to this one."""
    chosen = (
        select(Item.id)
        .where(Item.publication_id == item.publication_id, Item.planned_at <= item.planned_at)
        .where(Item.state != ItemState.REMOVING)
        .order_by(Item.planned_at.desc(), Item.id.desc())
        .limit(MAX_ITEMS)
    )
    return sorted({*session.scalars(chosen), item.id})


def _count(session: Session, items: list[int]) -> int:
    documents = session.scalar(select(func.count()).where(Document.item_id.in_(items))) or 0
    return documents + (session.scalar(select(func.count()).where(Visit.item_id.in_(items))) or 0)


def _ranges(share: float, number: int) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield *number* ranges that cover a share of the keys; the last of all keys has no end."""
    borders = [int(KEY_SPACE * share * place / number) for place in range(number + 1)]
    for low, high in pairwise(borders):
        yield low.to_bytes(8, "big"), high.to_bytes(8, "big") if high < KEY_SPACE else None


def _read_range(
    connection: Connection,
    items: list[int],
    last: int,
    low: bytes,
    high: bytes | None,
    numbers: Numbering,
    types: Numbering,
    ledger: HistoryBuilder,
) -> None:
    """Read one range of keys into the history."""
    rows = [
        *connection.execute(_documents(connection, items, low, high)).all(),
        *connection.execute(_visits(connection, items, low, high)).all(),
    ]
    if not rows:
        return
    keys, item_ids, ids, server_ids, depths, states, digests, times, dates, mimes, unsent = zip(*rows, strict=True)
    known = Numbering()
    pages, state = known.of(keys), np.array(states, dtype=np.int64)
    faces = observed_contents(state, _bodies(digests))
    when = _moments(times)
    faces = np.where(np.isnan(when), 0, faces)
    sights = Observations.of(pages, when, faces, parse_http_dates(dates), np.array(unsent, dtype=np.bool_))
    servers, kinds = np.zeros(len(known.known), dtype=np.int64), np.zeros(len(known.known), dtype=np.int64)
    servers[pages] = numbers.of(server_ids)
    # The type of a page is that of its last visit.
    in_time = np.argsort(when, kind="stable")
    in_time = in_time[faces[in_time] > 0]
    kinds[pages[in_time]] = types.of([_type(*one) for one in zip(states, mimes, strict=True)])[in_time]
    # Documents that could not be reached are collected again, not revisited.
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
    """Select the visits within refresh items; the rows of their documents have only the last one."""
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
    """Select a time in a form that is fast to read: seconds on PostgreSQL, text on SQLite."""
    if connection.dialect.name == "postgresql":
        return cast(func.extract("epoch", moment), Double)
    return type_coerce(moment, Text)


def _moments(times: Sequence[Any]) -> Floats:
    if any(isinstance(time, str) for time in times):
        read = np.array([time or "NaT" for time in times], dtype="M8[us]")
        return np.where(np.isnat(read), np.nan, read.astype(np.int64) / 1e6)
    return np.array(times, dtype=np.float64)


def _bodies(digests: Sequence[str | None]) -> Ints:
    """Assign numbers to digests; 0 for a page without a body."""
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
    """Freshness of all pages, estimated from a sample."""

    pages: int
    share: float
    error: float
    is_sample: bool


def sampled_freshness(session: Session, item: Item, at: datetime, max_rows: int) -> SampledFreshness | None:
    """Estimate the share of pages that have not changed since their last visit, with its standard error."""
    observed = read_observations(session, item, max_rows)
    estimates = estimate_rates(observed.ledger)
    pages = len(estimates.histories)
    if not pages:
        return None
    ages = np.maximum(at.timestamp() - estimates.histories.seen, 0.0)
    fresh = 1.0 - change_probabilities(ages, estimates.shapes, estimates.scales)
    # Two sources of error: each page is fresh at random, and the sample is a random part of the pages.
    page_variance = float((fresh * (1.0 - fresh)).sum()) * observed.share / pages**2
    sample_variance = float(fresh.var()) / pages * (1.0 - observed.share)
    return SampledFreshness(pages, float(fresh.mean()), sqrt(page_variance + sample_variance), observed.share < 1.0)
