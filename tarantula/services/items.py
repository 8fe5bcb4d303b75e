"""Items: looked at, stopped, resumed, given more time, converted, removed."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from tarantula.accounts.roles import Role
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.states import ItemState
from tarantula.lifecycle.control import extend_deadline, request_stop
from tarantula.lifecycle.coordinator import check_can_begin, reopen_in_session
from tarantula.lifecycle.processes import LiveCollector, live_collectors
from tarantula.lifecycle.processes_part_log_tails import read_log_tail
from tarantula.lifecycle.processes_part_starting import convert_command
from tarantula.lifecycle.removal_part_removal import check_removable, remove_item
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig
from tarantula.services import processes
from tarantula.services.context import ServiceContext
from tarantula.services.items_part_item_rows import CollectorRow, ItemDetail, allowed_verbs, document_counts
from tarantula.services.pagination import ResultPage, checked_limit, read_cursor, write_cursor
from tarantula.store.listings import ItemRow, find_item, item_row
from tarantula.tables.publications import Item

__all__ = [
    "ItemDetail",
    "ItemRow",
    "convert",
    "extend",
    "list_items",
    "log_tail",
    "remove",
    "resume",
    "get_item",
    "stop",
]


def list_items(
    desk: ServiceContext,
    publication: str | None = None,
    state: str | None = None,
    limit: int = 50,
    before: str | None = None,
) -> ResultPage[ItemRow]:
    """Return items, the newest first: all, or those of a publication, or those in a state."""
    place = read_cursor(before)
    wanted = select(Item).options(joinedload(Item.publication)).order_by(Item.id.desc()).limit(checked_limit(limit) + 1)
    with desk.reading() as session:
        if publication is not None:
            wanted = wanted.where(Item.publication_id == registry.get_publication(session, publication).id)
        if state is not None:
            wanted = wanted.where(Item.state == _state(state))
        if place is not None:
            wanted = wanted.where(Item.id < place)
        items = list(session.scalars(wanted))
        shown = items[:limit]
        counts = document_counts(session, shown)
        rows = [item_row(item, counts[item.id]) for item in shown]
    return ResultPage(rows=rows, next=write_cursor(shown[-1].id) if len(items) > limit else None)


def get_item(desk: ServiceContext, urn: str) -> ItemDetail:
    """Return one item, with who is at work on it and what can be done to it."""
    with desk.reading() as session:
        item = find_item(session, urn)
        config = PublicationConfig.model_validate(item.configuration)
        row = item_row(item, document_counts(session, [item])[item.id])
        return ItemDetail(
            **row.model_dump(),
            base_url=config.base_url,
            description=config.description,
            stop_wanted_at=item.stop_wanted_at,
            collectors=[CollectorRow(host=worker.host, pid=worker.pid) for worker in _workers(session, item)],
            verbs=allowed_verbs(ItemState(item.state)),
        )


def stop(desk: ServiceContext, urn: str) -> bool:
    """Ask for an item to be stopped; say whether it is already. Its collectors obey within two seconds."""
    with desk.changing("item.stop", urn) as session:
        return request_stop(session, urn, datetime.now(UTC))


def extend(desk: ServiceContext, urn: str, until: str) -> datetime:
    """Give an item more time, as ``2d``, or until a moment; return its deadline."""
    with desk.changing("item.extend", urn, until=until[:100]) as session:
        return extend_deadline(session, desk.installation, urn, until, datetime.now(UTC))


def resume(desk: ServiceContext, urn: str) -> None:
    """Go on with an item where it was, in a process of its own."""
    desk.person.check(Role.CURATOR)
    processes.check_free(desk, urn)
    with desk.reading() as session:
        item = find_item(session, urn)
        if _workers(session, item):
            raise ConflictError(f"Somebody is at work on item {urn} already.")
        name, state = item.publication.name, item.state
    if state != ItemState.CONVERTING:
        check_can_begin(desk.installation, name, urn)
    with desk.changing("item.resume", urn) as session:
        name, next_state = reopen_in_session(session, urn)
    processes.start(desk, name, urn, next_state)


def convert(desk: ServiceContext, urn: str) -> None:
    """Make the copy of an item that can be browsed, or make it anew, in a process of its own."""
    processes.check_free(desk, urn)
    with desk.changing("item.convert", urn) as session:
        state = find_item(session, urn).state
        if "convert" not in allowed_verbs(ItemState(state)):
            raise ConflictError(f"Item {urn} is {state}. Its links can be converted when that has ended.")
    processes.run(desk, urn, convert_command(urn))


def remove(desk: ServiceContext, urn: str) -> list[str]:
    """Remove an item for good; return a sentence for each body that a later item loses by it."""
    # Written down first: what is removed halfway was begun by somebody.
    with desk.changing("item.remove", urn, needed=Role.ADMINISTRATOR) as session:
        check_removable(find_item(session, urn))
    return remove_item(desk.installation, desk.database, urn)


def log_tail(desk: ServiceContext, urn: str, lines: int = 200) -> list[str]:
    """Return the last lines of what the processes of an item said."""
    with desk.reading() as session:
        directory = desk.installation.items / find_item(session, urn).urn
    return read_log_tail(directory, lines)


def _state(text: str) -> ItemState:
    try:
        return ItemState(text)
    except ValueError:
        raise TarantulaError(f"{text[:40]!r} is no state of items. Write one of: {', '.join(ItemState)}.") from None


def _workers(session: Session, item: Item) -> list[LiveCollector]:
    return [worker for worker in live_collectors(session.connection()) if worker.item_id == item.id]
