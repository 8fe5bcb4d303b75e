"""Items: list, show, follow, stop, resume, extend, convert, export and remove them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from tarantula.accounts.roles import Role
from tarantula.archive.export.exporter import (
    UNFINISHED_STATES,
    ExportFormat,
    check_export,
    default_export_path,
    missing_list_of,
)
from tarantula.archive.omissions import count_omissions
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.core.messages import Message
from tarantula.core.reasons import Reason
from tarantula.core.states import ACTIVE_ITEM_STATES, EXTENSIBLE_ITEM_STATES, REMOVABLE_ITEM_STATES, ItemState
from tarantula.lifecycle.coordinator import check_can_begin, reopen_in_session, repair_item
from tarantula.lifecycle.processes import convert_command, export_command, remove_command
from tarantula.lifecycle.removal import LostBodies, RemovalPlan, check_removable, plan_removal, remove_item
from tarantula.lifecycle.supervisor import extend_deadline, request_stop
from tarantula.models import Item
from tarantula.progress.snapshot import ItemWatch, read_log_tail
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig
from tarantula.services import machines
from tarantula.services.context import ResultPage, ServiceContext, checked_limit, read_cursor, write_cursor
from tarantula.store import listings
from tarantula.store.homes import require_files
from tarantula.store.listings import ItemRow, find_item, item_rows
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
    egress: dict[str, Any] | None
    """Which addresses its collectors may connect to, a reason; ``None`` before its first collector."""
    collectors: list[CollectorRow]
    verbs: list[str]
    """Allowed actions: stop, resume, extend, convert, remove."""


class ExportRow(BaseModel):
    """An export in the home's ``exports`` folder."""

    name: str
    format: ExportFormat
    bytes: int | None
    """``None`` for a folder, and where none was written."""
    made_at: datetime
    written: bool = True
    """Whether the export exists; if not, the last attempt was refused because something is missing."""
    missing: int = 0
    """Number of documents and records that are left out."""


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
        rows = item_rows(session, page)
    return ResultPage(rows=rows, next=write_cursor(page[-1].id) if len(items) > limit else None)


def list_all_items(context: ServiceContext, publication: str | None = None) -> list[ItemRow]:
    """Return all items, or those of one publication, oldest first."""
    with context.reading() as session:
        owner = None if publication is None else registry.get_publication(session, publication)
        return listings.list_items(session, owner)


def get_item(context: ServiceContext, urn: str) -> ItemDetail:
    """Return one item with its running processes and allowed actions."""
    with context.reading() as session:
        item = find_item(session, urn)
        config = PublicationConfig.model_validate(item.configuration)
        (row,) = item_rows(session, [item])
        return ItemDetail(
            **row.model_dump(),
            base_url=config.base_url,
            description=config.description,
            stop_wanted_at=item.stop_wanted_at,
            egress=item.egress,
            collectors=[CollectorRow(host=one.host, pid=one.pid) for one in _collectors_of(session, item)],
            verbs=allowed_verbs(ItemState(item.state)),
        )


def item_state(context: ServiceContext, urn: str) -> ItemState:
    """Return the state of an item."""
    with context.reading() as session:
        return ItemState(find_item(session, urn).state)


def state_with_reason(context: ServiceContext, urn: str) -> tuple[ItemState, Reason | None]:
    """Return the state of an item, and the reason why it ended."""
    with context.reading() as session:
        item = find_item(session, urn)
        return ItemState(item.state), item.reason


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
    machines.check_free(context, urn)
    with context.reading() as session:
        item = find_item(session, urn)
        if _collectors_of(session, item):
            raise ConflictError("A process is already working on item {urn}.", urn=urn)
        require_files(session, context.installation, item)
        name, state = item.publication.name, item.state
    if state != ItemState.CONVERTING:
        check_can_begin(context.installation, name, urn)
    _, next_state = reopen(context, urn)
    machines.start(context, urn, next_state)


def reopen(context: ServiceContext, urn: str) -> tuple[str, ItemState]:
    """Prepare an item for a process of the caller; return its publication, and `converting` if all is collected."""
    context.person.check(Role.CURATOR)
    repair_item(context.installation, context.database, urn)
    with context.changing("item.resume", urn) as session:
        return reopen_in_session(session, urn)


def convert(context: ServiceContext, urn: str) -> None:
    """Start a process that builds the mirror of an item, or builds it again."""
    machines.check_free(context, urn)
    record_conversion(context, urn, refused=(*UNFINISHED_STATES, ItemState.CONVERTING))
    machines.run(context, urn, convert_command(urn))


def record_conversion(context: ServiceContext, urn: str, refused: Collection[ItemState] = UNFINISHED_STATES) -> None:
    """Write to the audit log that an item is converted, unless it is in one of the *refused* states."""
    with context.changing("item.convert", urn) as session:
        item = find_item(session, urn)
        if item.state in refused:
            raise ConflictError(
                "Item {urn} is {state}. Convert its links when it has ended.", urn=urn, state=Message(item.state)
            )
        require_files(session, context.installation, item)


def removal_plan(context: ServiceContext, urn: str) -> RemovalPlan:
    """Return what the removal of an item destroys; refuse an item that cannot be removed in its state."""
    context.person.check(Role.ADMINISTRATOR)
    return plan_removal(context.installation, context.database, urn)


def remove(context: ServiceContext, urn: str, *, force: bool = False, confirm: str = "") -> LostBodies:
    """Delete an item with its files and exports, or continue an interrupted removal.

    With *force*, which needs the item's name in *confirm*, bodies that cannot be handed over are lost; return them.
    """
    _record_removal(context, urn, force, confirm)
    return remove_item(context.installation, context.database, urn, force=force)


def start_removal(context: ServiceContext, urn: str, *, force: bool = False, confirm: str = "") -> None:
    """Start a process that does the same; a daemon continues it if it is interrupted."""
    machines.check_free(context, urn)
    _record_removal(context, urn, force, confirm)
    machines.run(context, urn, remove_command(urn, force))


def _record_removal(context: ServiceContext, urn: str, force: bool, confirm: str) -> None:
    """Write the removal of an item to the audit log; refuse it in its state, and *force* without its name."""
    if force and confirm != urn:
        raise TarantulaError("That is not {urn}: nothing was removed.", urn=urn)
    # The audit entry comes first: an interrupted removal has its author too.
    with context.changing("item.remove", urn, needed=Role.ADMINISTRATOR, force=force) as session:
        item = find_item(session, urn, removing=True)
        check_removable(item)
        require_files(session, context.installation, item)


def list_exports(context: ServiceContext, urn: str) -> list[ExportRow]:
    """Return the existing exports of an item."""
    with context.reading() as session:
        find_item(session, urn)
    rows = (_export_row(_export_path(context, urn, form), form) for form in ExportFormat)
    return [row for row in rows if row is not None]


def start_export(context: ServiceContext, urn: str, form: ExportFormat, partial: bool = False) -> None:
    """Start a process that exports an item, replacing an earlier export; with *partial* also if incomplete."""
    machines.check_free(context, urn)
    record_export(context, urn, form, partial)
    machines.run(context, urn, export_command(urn, form, partial))


def record_export(context: ServiceContext, urn: str, form: str, partial: bool, to: str | None = None) -> None:
    """Write to the audit log that an item is exported; refuse while it is being collected."""
    with context.changing("item.export", urn, format=form, partial=partial, to=to) as session:
        item = find_item(session, urn)
        if item.state in UNFINISHED_STATES:
            raise ConflictError(
                "Item {urn} is {state}. Export it when it has been collected.", urn=urn, state=Message(item.state)
            )
        require_files(session, context.installation, item)


def exported_file(context: ServiceContext, urn: str, form: ExportFormat) -> Path:
    """Return the path of an exported file; folders, and files with a URL that was withheld since, are refused."""
    with context.reading() as session:
        item = find_item(session, urn)
        # The path is built from the stored name, never from the requested one.
        path = _export_path(context, item.urn, form)
        if not path.is_file():
            raise NotFoundError(
                "There is no file {path} to download. Export it first; a {format} stays in the home.",
                path=path.name,
                format=ExportFormat.BAGIT,
            )
        check_export(session, item, path)
    return path


def missing_from_export(context: ServiceContext, urn: str, form: ExportFormat) -> Path:
    """Return the path of the list of what the last export left out, or would have left out."""
    with context.reading() as session:
        path = missing_list_of(_export_path(context, find_item(session, urn).urn, form))
    if not path.is_file():
        raise NotFoundError(
            "There is no list {path}: nothing is missing from the last export, or there is none.", path=path.name
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


def _parse_state(text: str) -> ItemState:
    try:
        return ItemState(text)
    except ValueError:
        raise TarantulaError(
            "{text!r} is not an item state. Write one of: {states}.", text=text[:40], states=", ".join(ItemState)
        ) from None


def _collectors_of(session: Session, item: Item) -> list[LiveCollector]:
    return [one for one in live_collectors(session.connection()) if one.item_id == item.id]


def _export_path(context: ServiceContext, urn: str, form: ExportFormat) -> Path:
    return default_export_path(context.installation, urn, form)


def _export_row(path: Path, form: ExportFormat) -> ExportRow | None:
    missing_list = missing_list_of(path)
    missing = count_omissions(missing_list) if missing_list.exists() else 0
    if not path.exists() and not missing:
        return None
    status = (path if path.exists() else missing_list).stat()
    return ExportRow(
        name=path.name,
        format=form,
        bytes=status.st_size if path.is_file() else None,
        made_at=datetime.fromtimestamp(status.st_mtime, UTC),
        written=path.exists(),
        missing=missing,
    )
