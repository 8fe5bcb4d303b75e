"""Items: list, show, follow, stop, resume, extend, convert, export and remove them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel
from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from tarantula.accounts.roles import Role
from tarantula.archive.export.exporter import UNFINISHED_STATES, ExportFormat, default_export_path
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
from tarantula.lifecycle.processes import convert_command, export_command
from tarantula.lifecycle.removal import check_removable, remove_item
from tarantula.models import Document, Item
from tarantula.progress.snapshot import ItemWatch, read_log_tail
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig
from tarantula.services import processes
from tarantula.services.context import ServiceContext
from tarantula.services.pagination import ResultPage, checked_limit, read_cursor, write_cursor
from tarantula.store.listings import DocumentCounts, ItemRow, find_item, item_row
from tarantula.store.liveness import LiveCollector, live_collectors


class CollectorRow(BaseModel):
    """A running process of an item."""

    host: str
    pid: int


class ItemDetail(ItemRow):
    """An item with its running processes and the actions that its state allows."""

    base_url: str
    description: str
    stop_wanted_at: datetime | None
    collectors: list[CollectorRow]
    verbs: list[str]
    """Allowed actions: stop, resume, extend, convert, remove."""


class ExportRow(BaseModel):
    """An export in the home's ``exports`` folder."""

    name: str
    format: ExportFormat
    bytes: int | None
    """``None`` for a folder."""
    made_at: datetime


def list_items(
    context: ServiceContext,
    publication: str | None = None,
    state: str | None = None,
    limit: int = 50,
    before: str | None = None,
) -> ResultPage[ItemRow]:
    """Return items, newest first, optionally of one publication or in one state."""
    place = read_cursor(before)
    query = select(Item).options(joinedload(Item.publication)).order_by(Item.id.desc()).limit(checked_limit(limit) + 1)
    with context.reading() as session:
        if publication is not None:
            query = query.where(Item.publication_id == registry.get_publication(session, publication).id)
        if state is not None:
            query = query.where(Item.state == _parse_state(state))
        if place is not None:
            query = query.where(Item.id < place)
        items = list(session.scalars(query))
        page = items[:limit]
        counts = document_counts(session, page)
        rows = [item_row(item, counts[item.id]) for item in page]
    return ResultPage(rows=rows, next=write_cursor(page[-1].id) if len(items) > limit else None)


def get_item(context: ServiceContext, urn: str) -> ItemDetail:
    """Return one item with its running processes and allowed actions."""
    with context.reading() as session:
        item = find_item(session, urn)
        config = PublicationConfig.model_validate(item.configuration)
        row = item_row(item, document_counts(session, [item])[item.id])
        return ItemDetail(
            **row.model_dump(),
            base_url=config.base_url,
            description=config.description,
            stop_wanted_at=item.stop_wanted_at,
            collectors=[CollectorRow(host=one.host, pid=one.pid) for one in _collectors_of(session, item)],
            verbs=allowed_verbs(ItemState(item.state)),
        )


def item_state(context: ServiceContext, urn: str) -> ItemState:
    """Return the state of an item."""
    with context.reading() as session:
        return ItemState(find_item(session, urn).state)


def watch_item(context: ServiceContext, urn: str) -> ItemWatch:
    """Return the live progress of an item."""
    context.person.check(Role.READER)
    return ItemWatch(context.installation, context.database, urn)


def log_tail(context: ServiceContext, urn: str, lines: int = 200) -> list[str]:
    """Return the last lines of the logs of an item's processes."""
    with context.reading() as session:
        directory = context.installation.items / find_item(session, urn).urn
    return read_log_tail(directory, lines)


def stop(context: ServiceContext, urn: str) -> bool:
    """Request the stop of an item; return whether it has stopped already. Collectors stop within two seconds."""
    with context.changing("item.stop", urn) as session:
        return request_stop(session, urn, datetime.now(UTC))


def extend(context: ServiceContext, urn: str, until: str) -> datetime:
    """Move the deadline of an item by a duration, as ``2d``, or to a moment; return the deadline."""
    with context.changing("item.extend", urn, until=until[:100]) as session:
        return extend_deadline(session, context.installation, urn, until, datetime.now(UTC))


def resume(context: ServiceContext, urn: str) -> None:
    """Start a process that continues an item."""
    context.person.check(Role.CURATOR)
    processes.check_free(context, urn)
    with context.reading() as session:
        item = find_item(session, urn)
        if _collectors_of(session, item):
            raise ConflictError(f"A process is already working on item {urn}.")
        name, state = item.publication.name, item.state
    if state != ItemState.CONVERTING:
        check_can_begin(context.installation, name, urn)
    name, next_state = reopen(context, urn)
    processes.start(context, name, urn, next_state)


def reopen(context: ServiceContext, urn: str) -> tuple[str, ItemState]:
    """Prepare an item for a process of the caller; return its publication, and `converting` if all is collected."""
    with context.changing("item.resume", urn) as session:
        return reopen_in_session(session, urn)


def convert(context: ServiceContext, urn: str) -> None:
    """Start a process that builds the mirror of an item, or builds it again."""
    processes.check_free(context, urn)
    record_conversion(context, urn, refused=(*UNFINISHED_STATES, ItemState.CONVERTING))
    processes.run(context, urn, convert_command(urn))


def record_conversion(context: ServiceContext, urn: str, refused: Collection[ItemState] = UNFINISHED_STATES) -> None:
    """Write to the audit log that an item is converted, unless it is in one of the *refused* states."""
    with context.changing("item.convert", urn) as session:
        state = find_item(session, urn).state
        if state in refused:
            raise ConflictError(f"Item {urn} is {state}. Convert its links when it has ended.")


def remove(context: ServiceContext, urn: str) -> list[str]:
    """Delete an item with its files; return a sentence for each body that a later item loses."""
    # The audit entry comes first: an interrupted removal has its author too.
    with context.changing("item.remove", urn, needed=Role.ADMINISTRATOR) as session:
        check_removable(find_item(session, urn))
    return remove_item(context.installation, context.database, urn)


def check_can_remove(context: ServiceContext, urn: str) -> None:
    """Refuse an item that cannot be removed in its state."""
    with context.reading() as session:
        check_removable(find_item(session, urn))


def list_exports(context: ServiceContext, urn: str) -> list[ExportRow]:
    """Return the existing exports of an item."""
    with context.reading() as session:
        find_item(session, urn)
    return [_export_row(path, form) for form in ExportFormat if (path := _export_path(context, urn, form)).exists()]


def start_export(context: ServiceContext, urn: str, form: ExportFormat) -> None:
    """Start a process that exports an item for deposit and replaces an earlier export."""
    processes.check_free(context, urn)
    record_export(context, urn, form)
    processes.run(context, urn, export_command(urn, form))


def record_export(context: ServiceContext, urn: str, form: str) -> None:
    """Write to the audit log that an item is exported; refuse while it is being collected."""
    with context.changing("item.export", urn, format=form) as session:
        state = find_item(session, urn).state
        if state in UNFINISHED_STATES:
            raise ConflictError(f"Item {urn} is {state}. Export it when it has been collected.")


def exported_file(context: ServiceContext, urn: str, form: ExportFormat) -> Path:
    """Return the path of an exported file; folders cannot be downloaded."""
    with context.reading() as session:
        # The path is built from the stored name, never from the requested one.
        path = _export_path(context, find_item(session, urn).urn, form)
    if not path.is_file():
        raise NotFoundError(
            f"There is no file {path.name} to download. Export it first; a {ExportFormat.BAGIT} stays in the home."
        )
    return path


def allowed_verbs(state: ItemState) -> list[str]:
    """Return the actions that an item's state allows."""
    allowed = {
        "stop": state in ACTIVE_ITEM_STATES,
        "resume": state != ItemState.ARCHIVED,
        "extend": state in EXTENSIBLE_ITEM_STATES,
        "convert": state in REMOVABLE_ITEM_STATES,
        "remove": state in REMOVABLE_ITEM_STATES,
    }
    return [verb for verb, is_allowed in allowed.items() if is_allowed]


def document_counts(session: Session, items: Iterable[Item]) -> dict[int, DocumentCounts]:
    """Return the document counts by item id: the stored ones for ended items, counted now for the others."""
    counts: dict[int, DocumentCounts] = {}
    for item in items:
        if item.indicators is not None and ItemState(item.state) not in ACTIVE_ITEM_STATES:
            counts[item.id] = DocumentCounts(**{field: item.indicators[field] for field in DocumentCounts.model_fields})
        else:
            counts[item.id] = count_documents(session, item.id)
    return counts


def count_documents(session: Session, item_id: int) -> DocumentCounts:
    """Count the documents of an item by state."""
    counts = DocumentCounts()
    rows = session.execute(
        select(Document.state, func.count(), func.sum(Document.size))
        .where(Document.item_id == item_id)
        .group_by(Document.state)
    )
    for state, number, size in rows:
        counts.documents += number
        if state in COLLECTED_STATES:
            counts.collected += number
            counts.bytes += int(size or 0)
        elif state == DocumentState.WAITING:
            counts.waiting += number
    return counts


def _parse_state(text: str) -> ItemState:
    try:
        return ItemState(text)
    except ValueError:
        raise TarantulaError(f"{text[:40]!r} is not an item state. Write one of: {', '.join(ItemState)}.") from None


def _collectors_of(session: Session, item: Item) -> list[LiveCollector]:
    return [one for one in live_collectors(session.connection()) if one.item_id == item.id]


def _export_path(context: ServiceContext, urn: str, form: ExportFormat) -> Path:
    return default_export_path(context.installation, urn, form)


def _export_row(path: Path, form: ExportFormat) -> ExportRow:
    status = path.stat()
    made_at = datetime.fromtimestamp(status.st_mtime, UTC)
    return ExportRow(name=path.name, format=form, bytes=status.st_size if path.is_file() else None, made_at=made_at)
