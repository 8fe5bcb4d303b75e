"""Incremental (refresh) items: which item they continue, what they copy from it, and which pages they visit again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, exists, or_, select, text
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.reasons import ItemReason
from tarantula.core.states import UNREACHED_STATES, DocumentState, ItemState, Validation
from tarantula.freshness.limits import horizon_of
from tarantula.models import Document, Item, Publication, Visit
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig
from tarantula.publications.registry import config_of
from tarantula.store.bulk import chunks, execute_rows
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.leases import is_unfinished
from tarantula.store.listings import find_item
from tarantula.store.transitions import lock_item
from tarantula.store.visits import VisitTable

logger = logging.getLogger(__name__)

SCOPE_FIELDS = (
    *("base_url", "depth", "robots", "profile", "add_types", "exclude_types", "accept", "exclude", "max_size"),
    *("render", "keep_refused", "allow_private"),
)
"""Fields that decide which documents are wanted. If one of them has changed, everything is collected again."""
PLANNING_PACKAGES = ("numpy", "scipy", "numba")
ROWS_PER_INSERT = 10_000
"""Visits written in one statement."""

_INSERT = (
    "INSERT INTO visit (item_id, document_id, due_at, rate, believed)"
    " SELECT own.item_id, own.id, planned.column3, planned.column4, planned.column5 FROM ({rows}) AS planned"
    " JOIN document ON document.id = planned.column2"
    " JOIN document AS own ON own.item_id = planned.column1 AND own.key = document.key"
)
_TYPES = ("integer", "bigint", "timestamptz", "float8", "float8")


def item_to_refresh(session: Session, publication: Publication, config: PublicationConfig) -> Item | None:
    """Return the last complete item of a publication with `refresh`, if its scope fields are the present ones."""
    if not config.refresh:
        return None
    is_complete = or_(
        Item.state == ItemState.ARCHIVED,
        (Item.state == ItemState.INTERRUPTED) & (Item.reason_code == ItemReason.DEADLINE),
    )
    complete = select(Item).where(
        Item.publication_id == publication.id,
        is_complete,
        Item.validation != Validation.REJECTED,
        Item.started_at.is_not(None),
    )
    last = session.scalar(complete.order_by(Item.id.desc()).limit(1))
    return (
        last
        if last is not None and _scope_values(last.configuration) == _scope_values(config.model_dump(mode="json"))
        else None
    )


def has_later_item(session: Session, item: Item) -> bool:
    """Whether a later item may refer to records of this incremental item, which further visits would replace."""
    if item.refreshes_id is None:
        return False
    later = select(Item.id).where(Item.publication_id == item.publication_id, Item.id > item.id)
    return session.scalar(later.limit(1)) is not None


def _scope_values(configuration: dict[str, Any]) -> list[Any]:
    return [configuration.get(field) for field in SCOPE_FIELDS]


_NEW_ID = {
    "postgresql": "nextval('document_id_seq')",
    # SQLite has one writer at a time, so that no other transaction takes these ids.
    "sqlite": "(SELECT coalesce(max(id), 0) FROM document) + row_number() OVER (ORDER BY id)",
}
_CREATE_TABLE = "CREATE TEMPORARY TABLE carried (old BIGINT PRIMARY KEY, new BIGINT)"
_ASSIGN_IDS = "INSERT INTO carried SELECT id, {number} FROM document WHERE item_id = :old ORDER BY id"

_URL_COLUMNS = ("key", "url", "server_id", "depth", "kind", "redirects", "rank")
_CAPTURE_COLUMNS = (
    *("rule", "reason_code", "reason_parameters", "type", "size", "digest", "links", "collected_at", "rendered_offset"),
    *("charset", "encoding", "etag", "last_modified"),
)
_UNFINISHED_STATES = (DocumentState.COLLECTING, DocumentState.WAITING, *sorted(UNREACHED_STATES), 408, 429)
# Unfinished documents, and those without a usable response, are collected first.
_IS_COLLECTED_AGAIN = (
    f"(document.state IN ({', '.join(str(int(state)) for state in _UNFINISHED_STATES)}) OR document.state >= 500)"
)
_COPY_DOCUMENTS = (
    "INSERT INTO document (id, item_id, tries, via_id, state, refers_to_id,"
    f" {', '.join(_URL_COLUMNS + _CAPTURE_COLUMNS)})"
    " SELECT carried.new, :new, 0, via.new, CASE WHEN {again} THEN -6 ELSE document.state END,"
    # Refer to the record that has the bytes, never to one that only refers to another.
    " CASE WHEN {again} OR document.digest IS NULL THEN NULL WHEN document.refers_to_id IS NOT NULL"
    " THEN document.refers_to_id WHEN document.warc IS NOT NULL THEN document.id END,"
    f" {', '.join(f'document.{name}' for name in _URL_COLUMNS)},"
    f" {', '.join(f'CASE WHEN NOT ({{again}}) THEN document.{name} END' for name in _CAPTURE_COLUMNS)}"
    " FROM carried JOIN document ON document.id = carried.old LEFT JOIN carried AS via ON via.old = document.via_id"
).format(again=_IS_COLLECTED_AGAIN)
_COPY_LINKS = (
    "INSERT INTO link (document_id, target, kind) SELECT carried.new, link.target, link.kind"
    " FROM carried JOIN link ON link.document_id = carried.old"
)


def carry_over(connection: Connection, old: int, new: int) -> None:
    """Copy the documents and links of the item *old* into *new*, each with a reference to its WARC record."""
    connection.execute(delete(Document).where(Document.item_id == new))
    connection.execute(text(_CREATE_TABLE))
    connection.execute(text(_ASSIGN_IDS.format(number=_NEW_ID[connection.dialect.name])), {"old": old})
    if connection.dialect.name == "postgresql":
        connection.execute(text("ANALYZE carried"))
    connection.execute(text(_COPY_DOCUMENTS), {"new": new})
    connection.execute(text(_COPY_LINKS))
    connection.execute(text("DROP TABLE carried"))


def pause_until_next_visit(database: Database, urn: str, visits: VisitTable | None) -> bool:
    """Leave an item to the daemon until its next visit is due, if only visits are left; return whether it was left."""
    if visits is None:
        return False
    with database.session() as session:
        item, connection = lock_item(session, urn), session.connection()
        due = visits.next_due(connection)
        if due is None or item.state != ItemState.COLLECTING or is_unfinished(connection, item.id):
            return False
        item.launched_at = item.launched_on = None
        item.retry_at = due
    logger.info("The next visit of %s is due at %s.", urn, due.isoformat(timespec="seconds"))
    return True


class PlannedVisit(NamedTuple):
    """One planned visit, with the estimate behind it."""

    document_id: int
    """Id of the document in the previous item."""
    after: float
    """Seconds from the beginning of the plan."""
    rate: float
    """Changes a second; gives the probability `believed`."""
    believed: float
    """Probability that the document has changed since its last visit."""


VisitPlanner = Callable[[Session, Item, datetime, float], Iterable[PlannedVisit]]
"""Plans visits to the pages of an item, from a time on and for a count of seconds."""


def write_plan(connection: Connection, item_id: int, planned: Iterable[PlannedVisit], begin: datetime) -> int:
    """Insert planned visits for the documents of an item with the same URLs; return their count."""
    count = 0
    for chunk in chunks(planned, ROWS_PER_INSERT):
        rows = [
            (
                item_id,
                visit.document_id,
                begin + timedelta(seconds=visit.after),
                visit.rate,
                visit.believed,
            )
            for visit in chunk
        ]
        execute_rows(connection, _INSERT, rows, _TYPES)
        count += len(rows)
    return count


def check_can_plan() -> None:
    """Raise an error if a package that planning needs is not installed."""
    missing = [package for package in PLANNING_PACKAGES if find_spec(package) is None]
    if missing:
        raise TarantulaError(
            "Planning visits needs {missing}. Install it with: pip install 'tarantula[revisit]'", missing=missing[0]
        )


def planned_visits(session: Session, item: Item, now: datetime, horizon: float) -> Iterable[PlannedVisit]:
    """Plan visits to the pages of an item, within the limits of its publication and its servers."""
    check_can_plan()
    from tarantula.freshness.plan import plan_visits

    max_visits = config_of(item.publication).refresh_visits
    try:
        plan = plan_visits(session, item.publication, horizon=horizon, begins_at=now, visits=max_visits, item=item)
    except TarantulaError as error:
        # Waiting documents are collected all the same.
        logger.warning("No page of %s is visited again: %s", item.urn, error)
        return ()
    columns = (plan.documents.tolist(), plan.due.tolist(), plan.rates.tolist(), plan.believed.tolist())
    return map(PlannedVisit, *columns)


class RefreshPlan(NamedTuple):
    """The visits that keep an item fresh."""

    item_id: int
    """The previous item."""
    begins_at: datetime
    ends_at: datetime
    """When the publication is due again, or its maximum duration is over."""
    visits: list[PlannedVisit]


def is_to_refresh(session: Session, item: Item) -> bool:
    """Whether the rows of the previous item are still to be copied into an item."""
    if item.refreshes_id is None or item.started_at is not None:
        return False
    return not session.scalar(select(exists().where(Visit.item_id == item.id)))


def plan_item_refresh(
    session: Session, installation: Config, name: str, urn: str | None, now: datetime
) -> RefreshPlan | None:
    """Plan the visits of an item, or of a new item of the publication if *urn* is not given.

    Return ``None`` if the item continues no other.
    """
    publication = registry.get_publication(session, name)
    if urn is None:
        previous = item_to_refresh(session, publication, registry.config_of(publication))
    else:
        item = find_item(session, urn)
        previous = session.get(Item, item.refreshes_id) if is_to_refresh(session, item) else None
    return plan_refresh(session, installation, previous, now, planned_visits) if previous is not None else None


def plan_refresh(
    session: Session, installation: Config, previous: Item, now: datetime, planner: VisitPlanner
) -> RefreshPlan:
    """Plan the visits that continue *previous* from now on. Takes long for a large item, and writes nothing."""
    ends_at = horizon_end(installation, previous.publication, now)
    visits = planner(session, previous, now, (ends_at - now).total_seconds())
    return RefreshPlan(previous.id, now, ends_at, list(visits))


def begin_refresh(session: Session, installation: Config, item: Item, plan: RefreshPlan | None) -> None:
    """Begin an incremental item with its plan; collect everything if the previous item was removed."""
    previous = session.get(Item, item.refreshes_id)
    if previous is None or previous.state == ItemState.REMOVING or not (installation.items / previous.urn).is_dir():
        item.refreshes_id = None
        return
    if plan is None or plan.item_id != previous.id:
        plan = plan_refresh(session, installation, previous, datetime.now(UTC), planned_visits)
    apply_refresh(session, item, plan)


def apply_refresh(session: Session, item: Item, plan: RefreshPlan) -> None:
    """Copy the rows of the previous item, and store the planned visits."""
    item.deadline = plan.ends_at
    carry_over(session.connection(), plan.item_id, item.id)
    append_to_journal(session.connection(), JournalKind.COLLECTED, item.id)
    count = write_plan(session.connection(), item.id, plan.visits, plan.begins_at)
    logger.info("%s continues the previous item, with %d visits until %s.", item.urn, count, item.deadline)


def horizon_end(installation: Config, publication: Publication, now: datetime) -> datetime:
    """Return the end of the plan for an item that begins now."""
    return now + timedelta(seconds=horizon_of(installation, publication, now))
