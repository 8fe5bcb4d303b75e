"""Begin, resume, end, convert and archive an item; `Coordinator` runs one round of the daemon."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from tarantula.archive.mirror.conversion import ProgressCallback, convert_item, ignore_progress
from tarantula.archive.quality.indicators import Indicators, compute_indicators, store_indicators
from tarantula.browser.chromium import check_browser
from tarantula.core.config import Config
from tarantula.core.database import Database, open_database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.states import ItemState, check_transition
from tarantula.crawl.collection import Collection
from tarantula.crawl.components import check_components
from tarantula.frontier.strategies import load_strategy
from tarantula.incremental.plan import begin_refresh, check_can_plan, horizon_end, is_to_refresh, plan_item_refresh
from tarantula.incremental.previous_item import has_later_item, pause_until_next_visit
from tarantula.lifecycle.notifications import send_item_notices
from tarantula.lifecycle.processes import ItemProcessStarter, completion_lock
from tarantula.lifecycle.schedule import ItemPlanner, create_item
from tarantula.lifecycle.supervisor import STARTUP_TIMEOUT, ItemSupervisor, Launcher
from tarantula.models import Collector, Document, Item
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig
from tarantula.publications.scope import build_scope
from tarantula.store.cdxj import write_item_indexes
from tarantula.store.document_query import last_document_id
from tarantula.store.leases import ItemLeases, is_unfinished
from tarantula.store.listings import find_item
from tarantula.store.liveness import machine_id
from tarantula.store.transitions import (
    DEADLINE_REASON,
    ItemNotice,
    change_state,
    interrupt_item,
    lock_item,
    queue_notice,
)
from tarantula.store.visits import VisitTable, reset_released_visits
from tarantula.store.warc_reader import truncate_damaged_end

logger = logging.getLogger(__name__)

HANDOVER_DELAY = timedelta(seconds=10)
"""How long a daemon leaves an item that is to be converted to whoever collected it."""


def complete_item(installation: Config, urn: str, progress: ProgressCallback = ignore_progress) -> bool:
    """Convert an item that is to be converted, archive it, and tell of it; say whether somebody else is at it."""
    with open_database(installation) as database:
        if _is_converting(database, urn):
            with completion_lock(installation, urn) as alone:
                if not alone:
                    return False
                # Whoever was at it until now may have done it.
                if _is_converting(database, urn):
                    _convert(installation, database, urn, progress)
        send_item_notices(installation, database, urn)
    return True


def finish_item(database: Database, urn: str, reason: str | None) -> None:
    """End the collection of an item: it is converted next, or archived, or interrupted for a *reason*."""
    reason = _end_visits(database, urn, reason)
    with database.reading() as session:
        is_to_convert = reason is None and _wants_conversion(find_item(session, urn))
    # An item that is to be converted is counted when that is done.
    indicators = None if is_to_convert else _count(database, urn)
    with database.session() as session:
        item, now = lock_item(session, urn), datetime.now(UTC)
        joined = session.scalar(select(exists().where(Collector.item_id == item.id)))
        if item.state != ItemState.COLLECTING or joined:
            logger.info("Item %s is another collector's to end.", urn)
        elif reason is not None:
            interrupt_item(item, reason, now)
            store_indicators(session, item, indicators)
            item.last_document_id = last_document_id(session, item.id)
        elif is_to_convert:
            change_state(item, ItemState.CONVERTING, now)
            item.retry_at = now + HANDOVER_DELAY
        else:
            _archive(session, item, indicators)


def _end_visits(database: Database, urn: str, reason: str | None) -> str | None:
    """Let documents whose visits were not made be what they were; for these alone no item is interrupted at its end."""
    with database.session() as session:
        item = lock_item(session, urn)
        joined = session.scalar(select(exists().where(Collector.item_id == item.id)))
        if item.refreshes_id is None or item.state != ItemState.COLLECTING or joined:
            return reason
        reset_released_visits(session.connection(), item.id)
        return None if reason == DEADLINE_REASON and not is_unfinished(session.connection(), item.id) else reason


def _convert(installation: Config, database: Database, urn: str, progress: ProgressCallback) -> None:
    with database.reading() as session:
        item = find_item(session, urn)
        wanted = _wants_conversion(item)
        if item.refreshes_id is not None:
            # Its time may have been over while nobody collected it who would have done so.
            write_item_indexes(session, item, installation.items / urn)
    if wanted:
        convert_item(installation, database, urn, progress)
    indicators = _count(database, urn)
    with database.session() as session:
        item = lock_item(session, urn)
        # Somebody may have stopped it meanwhile.
        if item.state == ItemState.CONVERTING:
            _archive(session, item, indicators)


def _archive(session: Session, item: Item, indicators: Indicators | None) -> None:
    change_state(item, ItemState.ARCHIVED, datetime.now(UTC))
    item.last_document_id = last_document_id(session, item.id)
    fired = store_indicators(session, item, indicators)
    queue_notice(item, ItemNotice.ATTENTION if fired else ItemNotice.ENDED, " ".join(rule.reason for rule in fired))


def _wants_conversion(item: Item) -> bool:
    return PublicationConfig.model_validate(item.configuration).convert


def _count(database: Database, urn: str) -> Indicators:
    with database.reading() as session:
        return compute_indicators(session, find_item(session, urn))


def _is_converting(database: Database, urn: str) -> bool:
    with database.reading() as session:
        return find_item(session, urn).state == ItemState.CONVERTING


__all__ = [
    "Coordinator",
    "abandon_item",
    "begin_item",
    "check_can_begin",
    "complete_item",
    "end_item",
    "prepare_item",
    "reopen_in_session",
    "reopen_item",
]


class Coordinator:
    """What a daemon does, again and again. Each step looks at the database and can be repeated, by anybody."""

    def __init__(self, installation: Config, database: Database, starter: ItemProcessStarter) -> None:
        self._installation = installation
        self._database = database
        self._planner = ItemPlanner(installation, database)
        self._watcher = ItemSupervisor(installation, database, starter)
        self._launcher = Launcher(installation, database, starter)

    def round(self, now: datetime) -> None:
        """Make the items that are due, see after those that are left alone, and start processes for them."""
        self._planner.plan(now)
        self._watcher.watch(now)
        self._launcher.launch(now)

    def tell(self) -> None:
        """Send the notifications that nobody sent."""
        send_item_notices(self._installation, self._database)


def begin_item(installation: Config, name: str, urn: str | None = None) -> Collection:
    """Begin a new item of a publication, or go on with the one named *urn*."""
    installation.make_home()
    database = open_database(installation)
    arrived = datetime.now(UTC)
    with database.reading() as session:
        foreseen = plan_item_refresh(session, installation, name, urn, arrived)
    with database.session() as session:
        publication = registry.get_publication(session, name)
        item = lock_item(session, urn) if urn else create_item(session, publication, datetime.now(UTC))
        if urn:
            _mend_files(session, item, installation.items / item.urn)
        config = PublicationConfig.model_validate(item.configuration)
        is_new_refresh, by_hand = is_to_refresh(session, item), _is_by_hand(item, arrived)
        _start(session, installation, item, config, by_hand)
        if is_new_refresh:
            begin_refresh(session, installation, item, foreseen)
        scope = build_scope(session, config)
        visits = VisitTable(item.id, item.planned_at) if item.refreshes_id is not None else None
        collection = Collection(
            installation, database, config, scope, item.urn, item.id, item.deadline, visits, may_leave=not by_hand
        )
        collection.join(session.connection())
    collection.directory.mkdir(parents=True, exist_ok=True)
    return collection


def prepare_item(installation: Config, name: str) -> str:
    """Make a new item for collectors that are still to be started; return its urn."""
    installation.make_home()
    with open_database(installation) as database, database.session() as session:
        now = datetime.now(UTC)
        item = create_item(session, registry.get_publication(session, name), now)
        item.retry_at = now + STARTUP_TIMEOUT
        urn = item.urn
    (installation.items / urn).mkdir(parents=True, exist_ok=True)
    return urn


def reopen_item(database: Database, urn: str) -> tuple[str, ItemState]:
    """See how an item goes on: return its publication, and `converting` if only that is left to be done."""
    with database.session() as session:
        return reopen_in_session(session, urn)


def reopen_in_session(session: Session, urn: str) -> tuple[str, ItemState]:
    """Do so in a transaction of somebody else's."""
    item = lock_item(session, urn)
    if item.stop_wanted_at is not None and item.state != ItemState.INTERRUPTED:
        raise ConflictError(f"Item {urn} is being stopped. Resume it when it has stopped.")
    if item.state == ItemState.INTERRUPTED and (has_later_item(session, item) or not _work_left(session, item)):
        change_state(item, ItemState.CONVERTING, datetime.now(UTC))
        item.crashes = 0
    return item.publication.name, ItemState(item.state)


def check_can_begin(installation: Config, name: str, urn: str | None = None) -> None:
    """Say why a collection could not begin, before anything is started."""
    installation.make_home()
    with open_database(installation) as database, database.session() as session:
        config = registry.config_of(registry.get_publication(session, name))
        if urn:
            _check_can_collect(session, find_item(session, urn))
    load_strategy(config.strategy)
    if config.render:
        check_browser()
    if config.refresh:
        check_can_plan()
    check_components(config.settings)


def end_item(collection: Collection, reason: str | None) -> None:
    """Store what is left and end the item: archived, or interrupted with a *reason*."""
    collection.interruption = reason
    try:
        collection.end()
        if _leave(collection):
            _finish(collection, reason)
    except TarantulaError as error:
        # Its rows say that it is being collected: it can be resumed like one whose collector was killed.
        collection.trouble = collection.trouble or error
        collection.interruption = collection.interruption or str(error)
        logger.error("%s", error)
    finally:
        collection.database.close()


def _leave(collection: Collection) -> bool:
    """Leave the item to its other collectors; say whether there are none."""
    with collection.database.session() as session:
        # Of two that leave at once, one must see that it is the last.
        item = lock_item(session, collection.urn)
        is_last = collection.leave(session.connection())
        if is_last:
            # No daemon must take it for dead while it ends the item.
            item.launched_at, item.launched_on = datetime.now(UTC), machine_id()
        return is_last


def _finish(collection: Collection, reason: str | None) -> None:
    if reason is None and pause_until_next_visit(collection.database, collection.urn, collection.visits):
        return
    with collection.database.reading() as session:
        write_item_indexes(session, find_item(session, collection.urn), collection.directory)
        left_early = reason is None and collection.work_left(session.connection())
    if left_early:
        collection.interruption = reason = "Its collector ended before its time."
    finish_item(collection.database, collection.urn, reason)


def abandon_item(collection: Collection | None) -> None:
    """End an item whose collector could not even be put together."""
    if collection is not None and collection.interruption is None:
        end_item(collection, "Its collector could not be started; the log says why.")


def _check_can_collect(session: Session, item: Item) -> None:
    if item.state == ItemState.INTERRUPTED and has_later_item(session, item):
        raise ConflictError(f"Item {item.urn} is not refreshed any more: a later one goes on from it.")
    # An item whose collector was killed is still being collected, says its row.
    if item.state != ItemState.COLLECTING:
        check_transition(item.urn, ItemState(item.state), ItemState.COLLECTING)


def _work_left(session: Session, item: Item) -> bool:
    connection = session.connection()
    to_come = item.refreshes_id is not None and VisitTable(item.id, item.planned_at).has_unreleased(connection)
    return to_come or ItemLeases(item.id).work_left(connection)


def _start(session: Session, installation: Config, item: Item, config: PublicationConfig, by_hand: bool) -> None:
    """Let an item be collected; one that somebody resumes begins anew with its crashes and its time."""
    _check_can_collect(session, item)
    now = datetime.now(UTC)
    if item.state != ItemState.COLLECTING:
        change_state(item, ItemState.COLLECTING, now)
    item.launched_at = item.launched_on = item.retry_at = None
    if by_hand:
        item.crashes = 0
    is_over = item.deadline is not None and item.deadline <= now
    if config.max_duration and (item.started_at is None or (by_hand and is_over)):
        whole = now + timedelta(seconds=config.max_duration)
        item.deadline = max(item.deadline or whole, whole)
    elif is_over and by_hand and item.refreshes_id is not None:
        item.deadline = horizon_end(installation, item.publication, now)
    item.started_at = item.started_at or now


def _is_by_hand(item: Item, now: datetime) -> bool:
    """Whether no daemon started the process that begins with an item now."""
    return item.launched_at is None or item.launched_at <= now - STARTUP_TIMEOUT


def _mend_files(session: Session, item: Item, directory: Path) -> None:
    """Cut the broken record with which a file ends when its collector was killed."""
    ends = dict(
        session.execute(
            select(Document.warc, func.max(Document.warc_offset + Document.warc_length))
            .where(Document.item_id == item.id, Document.warc.is_not(None))
            .group_by(Document.warc)
        ).all()
    )
    for path in sorted((directory / "archive").glob("*.warc.gz")):
        if cut := truncate_damaged_end(path, ends.get(path.name) or 0):
            logger.warning("%s ended in a broken record; %d bytes were cut.", path.name, cut)
