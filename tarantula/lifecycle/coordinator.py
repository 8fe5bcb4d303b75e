"""Begin, resume, end, convert and archive an item.

`scrapy crawl`, `tarantula crawl` and the daemon all use these functions.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from tarantula.accounts import audit
from tarantula.accounts.roles import local_person
from tarantula.archive.mirror.conversion import ProgressCallback, convert_item, ignore_progress
from tarantula.archive.quality.indicators import (
    Indicators,
    MirrorContents,
    compute_indicators,
    refresh_fixity,
    store_indicators,
)
from tarantula.browser.chromium import check_browser
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.messages import Message
from tarantula.core.reasons import ItemReason, Reason, as_reason
from tarantula.core.states import ACTIVE_ITEM_STATES, ItemState, check_transition
from tarantula.core.termination import Terminated, check_termination
from tarantula.crawl.collection import Collection
from tarantula.crawl.components import check_components
from tarantula.frontier.strategies import load_strategy
from tarantula.lifecycle.incremental import (
    begin_refresh,
    check_can_plan,
    has_later_item,
    horizon_end,
    is_to_refresh,
    pause_until_next_visit,
    plan_item_refresh,
)
from tarantula.lifecycle.notifications import send_item_notices
from tarantula.lifecycle.processes import completion_lock
from tarantula.lifecycle.schedule import create_item
from tarantula.lifecycle.supervisor import STARTUP_TIMEOUT
from tarantula.lifecycle.verification import base_problem, postpone_without_base, verify_collected
from tarantula.models import Collector, Item
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig
from tarantula.store.cdxj import write_item_indexes
from tarantula.store.database import open_database
from tarantula.store.document_query import last_document_id
from tarantula.store.homes import claim_item, require_files
from tarantula.store.leases import ItemLeases, is_unfinished
from tarantula.store.listings import find_item
from tarantula.store.liveness import database_time, host_name, is_drained, machine_id
from tarantula.store.server_settings import build_scope
from tarantula.store.transitions import ItemNotice, change_state, interrupt_item, lock_item, queue_notice
from tarantula.store.visits import VisitTable, reset_released_visits
from tarantula.store.warc_repair import Repair, repair_files

logger = logging.getLogger(__name__)

HANDOVER_DELAY = timedelta(seconds=10)
"""How long the daemon leaves the conversion of an item to the process that collected it."""


def check_can_begin(installation: Config, name: str | None, urn: str | None = None) -> None:
    """Raise an error if a collection cannot begin: unknown strategy, missing browser or package, wrong component.

    The publication is *name*, or that of the item *urn*.
    """
    installation.make_home()
    with open_database(installation) as database, database.session() as session:
        _check_in_service(session)
        config = registry.config_of(registry.get_publication(session, name or publication_of(session, urn)))
        if urn:
            item = find_item(session, urn)
            _check_can_collect(session, item)
            require_files(session, installation, item)
    load_strategy(config.strategy)
    if config.render:
        check_browser()
    if config.refresh:
        check_can_plan()
    check_components(config.settings)


def prepare_item(installation: Config, name: str) -> str:
    """Create an item for collectors that are started next; return its urn."""
    installation.make_home()
    with open_database(installation) as database, database.session() as session:
        now = datetime.now(UTC)
        item = create_item(session, registry.get_publication(session, name), now)
        item.retry_at = now + STARTUP_TIMEOUT
        urn = item.urn
        _record_collection(session, item)
    (installation.items / urn).mkdir(parents=True, exist_ok=True)
    return urn


def begin_item(installation: Config, name: str | None, urn: str | None = None) -> Collection:
    """Begin a new item of a publication, or continue the item *urn*; return its collection."""
    installation.make_home()
    database = open_database(installation)
    if urn:
        repair_item(installation, database, urn)
    with database.reading() as session:
        # Daemons compare the times of several machines: all are of one clock.
        arrived = database_time(session.connection())
        name = name or publication_of(session, urn)
        refresh_plan = plan_item_refresh(session, installation, name, urn, arrived)
    with database.session() as session:
        publication = registry.get_publication(session, name)
        item = lock_item(session, urn) if urn else create_item(session, publication, datetime.now(UTC))
        claim_item(session, installation, item)
        config = PublicationConfig.model_validate(item.configuration)
        is_new_refresh, by_hand = is_to_refresh(session, item), _is_started_by_hand(item, arrived)
        _start(session, installation, item, config, by_hand)
        if is_new_refresh:
            begin_refresh(session, installation, item, refresh_plan)
        scope = build_scope(session, config)
        visits = VisitTable(item.id, item.planned_at) if item.refreshes_id is not None else None
        collection = Collection(
            installation, database, config, scope, item.urn, item.id, item.deadline, visits, may_leave=not by_hand
        )
        item.egress = collection.egress.describe().as_data()
        collection.join(session.connection())
        if urn is None:
            _record_collection(session, item)
    collection.directory.mkdir(parents=True, exist_ok=True)
    return collection


def _record_collection(session: Session, item: Item) -> None:
    """Write to the audit log that a command begins an item."""
    audit.record(session, local_person(), "publication.collect", item.publication.name, begun={"urn": item.urn})


def publication_of(session: Session, urn: str | None) -> str:
    """Return the name of an item's publication."""
    if urn is None:
        raise TarantulaError("Name a publication, or an item.")
    return find_item(session, urn).publication.name


def _check_in_service(session: Session) -> None:
    host = host_name()
    if is_drained(session.connection(), host):
        raise ConflictError(
            "The machine {host} is being emptied, and nothing is collected on it. "
            "`tarantula drain --undo` takes it into service again.",
            host=host,
        )


def repair_item(installation: Config, database: Database, urn: str) -> Repair:
    """Repair the WARC files of an item whose collectors died; documents whose records are lost wait again."""
    with database.reading() as session:
        item = find_item(session, urn)
        if not _can_collect(session, item):
            return Repair()
        require_files(session, installation, item)
    repair = repair_files(database, installation.items / urn / "archive", item.id, urn)
    for number in sorted(repair.losing_items):
        with database.session() as session:
            # It may have been complete until now; if the same body is collected again, it is so again.
            refresh_fixity(session, session.get_one(Item, number, with_for_update=True))
    return repair


def reopen_item(installation: Config, database: Database, urn: str) -> tuple[str, ItemState]:
    """Prepare an item to be resumed; return its publication's name and its state.

    An interrupted item without documents left to collect is set to `converting`.
    """
    repair_item(installation, database, urn)
    with database.session() as session:
        return reopen_in_session(session, urn)


def reopen_in_session(session: Session, urn: str) -> tuple[str, ItemState]:
    """Prepare an item to be resumed, within a transaction, after `repair_item`; see `reopen_item`."""
    item = lock_item(session, urn)
    if item.stop_wanted_at is not None and item.state != ItemState.INTERRUPTED:
        raise ConflictError("Item {urn} is being stopped. Resume it when it has stopped.", urn=urn)
    if item.state == ItemState.INTERRUPTED and (has_later_item(session, item) or not _is_work_left(session, item)):
        change_state(item, ItemState.CONVERTING, datetime.now(UTC))
        item.crashes = 0
    return item.publication.name, ItemState(item.state)


def end_item(collection: Collection, reason: Reason | None) -> None:
    """Store pending documents and end the item, interrupted if there is a *reason*; never raises `TarantulaError`."""
    collection.interruption = reason
    try:
        collection.end()
        if _leave(collection) and not collection.is_handed_over:
            _finish_collection(collection, reason)
    except TarantulaError as error:
        # The row stays in state `collecting`: it can be resumed like one whose collector was killed.
        collection.trouble = collection.trouble or error
        collection.interruption = collection.interruption or Reason.of(ItemReason.ERROR, error=str(error))
        logger.error("%s", error)
    finally:
        collection.database.close()


def hand_over_item(collection: Collection) -> None:
    """Store pending documents and leave the item in state `collecting` to another collector; a daemon starts it.

    Documents that were being collected wait again, without a counted try. Never raises `TarantulaError`.
    """
    collection.is_handed_over = True
    end_item(collection, None)


def abandon_item(collection: Collection | None, why: str | None = None) -> None:
    """Interrupt an item whose crawler could not be built, or was ended by an error; *why* is added to its reason."""
    if collection is not None and collection.interruption is None:
        reason = Reason.of(ItemReason.NOT_STARTED)
        end_item(collection, reason.with_note(as_reason(why)) if why else reason)


def finish_item(database: Database, urn: str, reason: Reason | None) -> None:
    """Change the state of a collected item to converting, or to interrupted if there is a *reason*.

    Does nothing while the item has another collector.
    """
    reason = _end_visits(database, urn, reason)
    # The indicators of an item that is to be archived are computed after its verification and conversion.
    indicators = None if reason is None else _compute_indicators(database, urn)
    with database.session() as session:
        item, now = lock_item(session, urn), datetime.now(UTC)
        if item.state != ItemState.COLLECTING or _has_collector_row(session, item):
            logger.info("Item %s is left to another collector.", urn)
        elif reason is not None:
            interrupt_item(item, reason, now)
            store_indicators(session, item, indicators)
            item.last_document_id = last_document_id(session, item.id)
        else:
            change_state(item, ItemState.CONVERTING, now)
            item.retry_at = now + HANDOVER_DELAY
            item.crashes, item.crash_mark = 0, None


def complete_item(
    installation: Config,
    urn: str,
    progress: ProgressCallback = ignore_progress,
    verify_progress: ProgressCallback = ignore_progress,
) -> bool:
    """Verify, convert and archive an item in state `converting`, and send its notifications.

    Return whether it is to be collected again, because bodies are lost. Do nothing if another process is completing it.
    On SIGTERM, leave it to a daemon and raise `Terminated`.
    """
    is_again = False
    with open_database(installation) as database:
        if _is_converting(database, urn):
            with database.reading() as session:
                require_files(session, installation, find_item(session, urn))
            with completion_lock(installation, urn) as is_locked:
                if not is_locked:
                    return False
                # The previous holder of the lock may have completed it.
                if _is_converting(database, urn):
                    with _completing(database, urn):
                        is_again = verify_collected(installation, database, urn, verify_progress)
                        if not is_again:
                            _convert(installation, database, urn, progress)
        send_item_notices(installation, database, urn)
    return is_again


def base_problem_of(installation: Config, urn: str) -> str | None:
    """Return a sentence if an item ended, or waits for another try, without its base document."""
    with open_database(installation) as database, database.reading() as session:
        return base_problem(session, find_item(session, urn))


@contextmanager
def _completing(database: Database, urn: str) -> Iterator[None]:
    """Write down which machine completes an item; if the process is terminated, another one continues at once."""
    try:
        check_termination()
        with database.session() as session:
            item, now = lock_item(session, urn), database_time(session.connection())
            item.launched_at, item.launched_on, item.retry_at = now, machine_id(), None
        yield
    except Terminated:
        with database.session() as session:
            _leave_to_daemon(session, lock_item(session, urn))
        logger.info("%s is left to the next process.", urn)
        raise


def _can_collect(session: Session, item: Item) -> bool:
    is_over = item.state == ItemState.INTERRUPTED and has_later_item(session, item)
    return item.state in (ItemState.WAITING, ItemState.COLLECTING, ItemState.INTERRUPTED) and not is_over


def _check_can_collect(session: Session, item: Item) -> None:
    if item.state == ItemState.INTERRUPTED and not _can_collect(session, item):
        raise ConflictError("Item {urn} cannot be collected any more: a later item continues from it.", urn=item.urn)
    if item.state == ItemState.CONVERTING:
        raise ConflictError(
            "Item {urn} is {state}. `tarantula item resume {urn}` continues with that.",
            urn=item.urn,
            state=Message(item.state),
        )
    # An item whose collector was killed is still in state `collecting`.
    if item.state != ItemState.COLLECTING:
        check_transition(item.urn, ItemState(item.state), ItemState.COLLECTING)


def _start(session: Session, installation: Config, item: Item, config: PublicationConfig, by_hand: bool) -> None:
    """Set an item to collecting; reset the crashes and an expired deadline of an item that is resumed by hand."""
    _check_can_collect(session, item)
    now = database_time(session.connection())
    if item.state != ItemState.COLLECTING:
        change_state(item, ItemState.COLLECTING, now)
    item.launched_at = item.launched_on = item.retry_at = None
    if by_hand:
        item.crashes, item.crash_mark = 0, None
    is_over = item.deadline is not None and item.deadline <= now
    if config.max_duration and (item.started_at is None or (by_hand and is_over)):
        full_deadline = now + timedelta(seconds=config.max_duration)
        item.deadline = max(item.deadline or full_deadline, full_deadline)
    elif is_over and by_hand and item.refreshes_id is not None:
        item.deadline = horizon_end(installation, item.publication, now)
    item.started_at = item.started_at or now


def _is_started_by_hand(item: Item, now: datetime) -> bool:
    """Whether this process was not started by a daemon."""
    return item.launched_at is None or item.launched_at <= now - STARTUP_TIMEOUT


def _is_work_left(session: Session, item: Item) -> bool:
    connection = session.connection()
    has_visits = item.refreshes_id is not None and VisitTable(item.id, item.planned_at).has_unreleased(connection)
    return has_visits or ItemLeases(item.id).work_left(connection)


def _leave(collection: Collection) -> bool:
    """Remove this collector's row; return whether it was the last collector of the item."""
    with collection.database.session() as session:
        # The lock lets one of two collectors that leave at once see that it is the last.
        item = lock_item(session, collection.urn)
        is_last = collection.leave(session.connection())
        if is_last and collection.is_handed_over:
            _leave_to_daemon(session, item)
        elif is_last:
            # So that no daemon counts this process as crashed while it ends the item.
            item.launched_at, item.launched_on = database_time(session.connection()), machine_id()
        return is_last


def _leave_to_daemon(session: Session, item: Item, pause: timedelta = timedelta(0)) -> None:
    """Have a daemon start a process for an active item after a pause; this does not count as a crash."""
    if ItemState(item.state) in ACTIVE_ITEM_STATES:
        item.launched_at = item.launched_on = None
        item.retry_at = database_time(session.connection()) + pause


def _finish_collection(collection: Collection, reason: Reason | None) -> None:
    if reason is None and pause_until_next_visit(collection.database, collection.urn, collection.visits):
        return
    # Another collector of the item may have been killed.
    repair_item(collection.installation, collection.database, collection.urn)
    with collection.database.reading() as session:
        write_item_indexes(session, find_item(session, collection.urn), collection.directory)
        ended_early = reason is None and collection.work_left(session.connection())
    if ended_early:
        collection.interruption = reason = Reason.of(ItemReason.ENDED_EARLY)
    elif reason is None:
        with collection.database.session() as session:
            item = lock_item(session, collection.urn)
            pause = None
            if item.state == ItemState.COLLECTING and not _has_collector_row(session, item):
                pause = postpone_without_base(session, collection.installation, item)
            if isinstance(pause, timedelta):
                _leave_to_daemon(session, item, pause)
                logger.warning("%s: %s The next try is in %s.", item.urn, item.reason, pause)
                return
        collection.interruption = reason = pause
    finish_item(collection.database, collection.urn, reason)


def _end_visits(database: Database, urn: str, reason: Reason | None) -> Reason | None:
    """Restore documents whose visits were not made; return no reason if only such visits were left at the deadline."""
    with database.session() as session:
        item = lock_item(session, urn)
        if item.refreshes_id is None or item.state != ItemState.COLLECTING or _has_collector_row(session, item):
            return reason
        reset_released_visits(session.connection(), item.id)
        is_deadline = reason is not None and reason.code == ItemReason.DEADLINE
        return None if is_deadline and not is_unfinished(session.connection(), item.id) else reason


def _has_collector_row(session: Session, item: Item) -> bool:
    return bool(session.scalar(select(exists().where(Collector.item_id == item.id))))


def _convert(installation: Config, database: Database, urn: str, progress: ProgressCallback) -> None:
    with database.reading() as session:
        item = find_item(session, urn)
        wants_conversion = _wants_conversion(item)
        if item.refreshes_id is not None:
            # The supervisor may have ended it at its deadline, when no collector was running to write the index.
            write_item_indexes(session, item, installation.items / urn)
    # A mirror that there is already is of an earlier state of the item.
    made = convert_item(installation, database, urn, progress, partial=True) if wants_conversion else None
    indicators = _compute_indicators(database, urn)
    if made is not None:
        indicators = replace(indicators, mirror=MirrorContents.of(made.documents, made.skipped))
    with database.session() as session:
        item = lock_item(session, urn)
        # It may have been stopped meanwhile.
        if item.state == ItemState.CONVERTING:
            _archive(session, item, indicators)


def _archive(session: Session, item: Item, indicators: Indicators | None) -> None:
    change_state(item, ItemState.ARCHIVED, datetime.now(UTC))
    item.last_document_id = last_document_id(session, item.id)
    fired = store_indicators(session, item, indicators)
    queue_notice(item, ItemNotice.ATTENTION if fired else ItemNotice.ENDED, " ".join(rule.reason for rule in fired))


def _wants_conversion(item: Item) -> bool:
    return PublicationConfig.model_validate(item.configuration).convert


def _compute_indicators(database: Database, urn: str) -> Indicators:
    with database.reading() as session:
        return compute_indicators(session, find_item(session, urn))


def _is_converting(database: Database, urn: str) -> bool:
    with database.reading() as session:
        return find_item(session, urn).state == ItemState.CONVERTING
