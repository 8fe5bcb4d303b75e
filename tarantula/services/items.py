"""Items: list, show, follow, stop, resume, extend, convert, export and remove them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel
from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from tarantula.accounts.roles import Role
from tarantula.archive.export.exporter import SUFFIXES, UNFINISHED_STATES, ExportFormat
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.core.states import (
    ACTIVE_ITEM_STATES,
    COLLECTED_STATES,
    EXTENSIBLE_ITEM_STATES,
    REMOVABLE_ITEM_STATES,
    DocumentState,
    ItemState,
)
from tarantula.lifecycle.control import extend_deadline, request_stop
from tarantula.lifecycle.coordinator import check_can_begin, reopen_in_session
from tarantula.lifecycle.processes import LiveCollector, convert_command, export_command, live_collectors, read_log_tail
from tarantula.lifecycle.removal import check_removable, remove_item
from tarantula.models import Document, Item
from tarantula.progress.snapshot import ItemWatch
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig
from tarantula.services import processes
from tarantula.services.context import ServiceContext
from tarantula.services.pagination import ResultPage, checked_limit, read_cursor, write_cursor
from tarantula.store.listings import DocumentCounts, ItemRow, find_item, item_row


class CollectorRow(BaseModel):
    """A process that is at work on an item."""

    host: str
    pid: int


class ItemDetail(ItemRow):
    """An item, who is at work on it, and what can be done to it."""

    base_url: str
    description: str
    stop_wanted_at: datetime | None
    collectors: list[CollectorRow]
    verbs: list[str]
    """Those of stop, resume, extend, convert and remove that its state allows."""


def allowed_verbs(state: ItemState) -> list[str]:
    """Return what can be done to an item of that state."""
    allowed = {
        "stop": state in ACTIVE_ITEM_STATES,
        "resume": state != ItemState.ARCHIVED,
        "extend": state in EXTENSIBLE_ITEM_STATES,
        "convert": state in REMOVABLE_ITEM_STATES,
        "remove": state in REMOVABLE_ITEM_STATES,
    }
    return [verb for verb, is_allowed in allowed.items() if is_allowed]


def document_counts(session: Session, items: Iterable[Item]) -> dict[int, DocumentCounts]:
    """Return the counts of items by their ids: of those that ended as stored then, of the others as of now."""
    counts: dict[int, DocumentCounts] = {}
    for item in items:
        if item.indicators is not None and ItemState(item.state) not in ACTIVE_ITEM_STATES:
            counts[item.id] = DocumentCounts(**{field: item.indicators[field] for field in DocumentCounts.model_fields})
        else:
            counts[item.id] = count_documents(session, item.id)
    return counts


def count_documents(session: Session, item_id: int) -> DocumentCounts:
    """Count an item's documents."""
    counted = DocumentCounts()
    rows = session.execute(
        select(Document.state, func.count(), func.sum(Document.size))
        .where(Document.item_id == item_id)
        .group_by(Document.state)
    )
    for state, number, size in rows:
        counted.documents += number
        if state in COLLECTED_STATES:
            counted.collected += number
            counted.bytes += int(size or 0)
        elif state == DocumentState.WAITING:
            counted.waiting += number
    return counted


__all__ = [
    "ItemDetail",
    "ItemRow",
    "convert",
    "extend",
    "get_item",
    "list_items",
    "log_tail",
    "remove",
    "resume",
    "stop",
]


def list_items(
    context: ServiceContext,
    publication: str | None = None,
    state: str | None = None,
    limit: int = 50,
    before: str | None = None,
) -> ResultPage[ItemRow]:
    """Return items, the newest first: all, or those of a publication, or those in a state."""
    place = read_cursor(before)
    wanted = select(Item).options(joinedload(Item.publication)).order_by(Item.id.desc()).limit(checked_limit(limit) + 1)
    with context.reading() as session:
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


def get_item(context: ServiceContext, urn: str) -> ItemDetail:
    """Return one item, with who is at work on it and what can be done to it."""
    with context.reading() as session:
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


def stop(context: ServiceContext, urn: str) -> bool:
    """Ask for an item to be stopped; say whether it is already. Its collectors obey within two seconds."""
    with context.changing("item.stop", urn) as session:
        return request_stop(session, urn, datetime.now(UTC))


def extend(context: ServiceContext, urn: str, until: str) -> datetime:
    """Give an item more time, as ``2d``, or until a moment; return its deadline."""
    with context.changing("item.extend", urn, until=until[:100]) as session:
        return extend_deadline(session, context.installation, urn, until, datetime.now(UTC))


def resume(context: ServiceContext, urn: str) -> None:
    """Go on with an item where it was, in a process of its own."""
    context.person.check(Role.CURATOR)
    processes.check_free(context, urn)
    with context.reading() as session:
        item = find_item(session, urn)
        if _workers(session, item):
            raise ConflictError(f"Somebody is at work on item {urn} already.")
        name, state = item.publication.name, item.state
    if state != ItemState.CONVERTING:
        check_can_begin(context.installation, name, urn)
    with context.changing("item.resume", urn) as session:
        name, next_state = reopen_in_session(session, urn)
    processes.start(context, name, urn, next_state)


def convert(context: ServiceContext, urn: str) -> None:
    """Make the copy of an item that can be browsed, or make it anew, in a process of its own."""
    processes.check_free(context, urn)
    with context.changing("item.convert", urn) as session:
        state = find_item(session, urn).state
        if "convert" not in allowed_verbs(ItemState(state)):
            raise ConflictError(f"Item {urn} is {state}. Its links can be converted when that has ended.")
    processes.run(context, urn, convert_command(urn))


def remove(context: ServiceContext, urn: str) -> list[str]:
    """Remove an item for good; return a sentence for each body that a later item loses by it."""
    # Written down first: what is removed halfway was begun by somebody.
    with context.changing("item.remove", urn, needed=Role.ADMINISTRATOR) as session:
        check_removable(find_item(session, urn))
    return remove_item(context.installation, context.database, urn)


def log_tail(context: ServiceContext, urn: str, lines: int = 200) -> list[str]:
    """Return the last lines of what the processes of an item said."""
    with context.reading() as session:
        directory = context.installation.items / find_item(session, urn).urn
    return read_log_tail(directory, lines)


def _state(text: str) -> ItemState:
    try:
        return ItemState(text)
    except ValueError:
        raise TarantulaError(f"{text[:40]!r} is no state of items. Write one of: {', '.join(ItemState)}.") from None


def _workers(session: Session, item: Item) -> list[LiveCollector]:
    return [worker for worker in live_collectors(session.connection()) if worker.item_id == item.id]


class ExportRow(BaseModel):
    """An export that can be fetched, or lies in the home's ``exports``."""

    name: str
    format: ExportFormat
    bytes: int | None
    """Nothing for a folder."""
    made_at: datetime


def list_exports(context: ServiceContext, urn: str) -> list[ExportRow]:
    """Return the exports of an item that are there."""
    with context.reading() as session:
        find_item(session, urn)
    return [_row(path, form) for form in ExportFormat if (path := _path(context, urn, form)).exists()]


def start_export(context: ServiceContext, urn: str, form: ExportFormat) -> None:
    """Write an item for deposit, in the place of an export that is there."""
    processes.check_free(context, urn)
    with context.changing("item.export", urn, format=form) as session:
        state = find_item(session, urn).state
        if state in UNFINISHED_STATES:
            raise ConflictError(f"Item {urn} is {state}. Export it when it has been collected.")
    processes.run(context, urn, export_command(urn, form))


def exported_file(context: ServiceContext, urn: str, form: ExportFormat) -> Path:
    """Return the file of an export; a folder is fetched from the home."""
    with context.reading() as session:
        # The path is made of a name that is stored, never of one that was sent.
        path = _path(context, find_item(session, urn).urn, form)
    if not path.is_file():
        raise NotFoundError(
            f"There is no file {path.name} to fetch. Make it first; a {ExportFormat.BAGIT} lies in the home."
        )
    return path


def _path(context: ServiceContext, urn: str, form: ExportFormat) -> Path:
    return context.installation.home / "exports" / f"{urn}{SUFFIXES[form]}"


def _row(path: Path, form: ExportFormat) -> ExportRow:
    found = path.stat()
    made_at = datetime.fromtimestamp(found.st_mtime, UTC)
    return ExportRow(name=path.name, format=form, bytes=found.st_size if path.is_file() else None, made_at=made_at)


def watch_item(context: ServiceContext, urn: str) -> ItemWatch:
    """Return who looks at an item, for those who may."""
    context.person.check(Role.READER)
    return ItemWatch(context.installation, context.database, urn)
