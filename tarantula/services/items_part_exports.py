"""Items that leave: written for deposit by a process of their own, and handed out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from tarantula.archive.export.exporter import SUFFIXES, UNFINISHED_STATES, ExportFormat
from tarantula.core.errors import ConflictError, NotFoundError
from tarantula.lifecycle.processes_part_starting import export_command
from tarantula.services import processes
from tarantula.services.context import ServiceContext
from tarantula.store.listings import find_item


class ExportRow(BaseModel):
    """An export that can be fetched, or lies in the home's ``exports``."""

    name: str
    format: ExportFormat
    bytes: int | None
    """Nothing for a folder."""
    made_at: datetime


def list_exports(desk: ServiceContext, urn: str) -> list[ExportRow]:
    """Return the exports of an item that are there."""
    with desk.reading() as session:
        find_item(session, urn)
    return [_row(path, form) for form in ExportFormat if (path := _path(desk, urn, form)).exists()]


def start_export(desk: ServiceContext, urn: str, form: ExportFormat) -> None:
    """Write an item for deposit, in the place of an export that is there."""
    processes.check_free(desk, urn)
    with desk.changing("item.export", urn, format=form) as session:
        state = find_item(session, urn).state
        if state in UNFINISHED_STATES:
            raise ConflictError(f"Item {urn} is {state}. Export it when it has been collected.")
    processes.run(desk, urn, export_command(urn, form))


def exported_file(desk: ServiceContext, urn: str, form: ExportFormat) -> Path:
    """Return the file of an export; a folder is fetched from the home."""
    with desk.reading() as session:
        # The path is made of a name that is stored, never of one that was sent.
        path = _path(desk, find_item(session, urn).urn, form)
    if not path.is_file():
        raise NotFoundError(
            f"There is no file {path.name} to fetch. Make it first; a {ExportFormat.BAGIT} lies in the home."
        )
    return path


def _path(desk: ServiceContext, urn: str, form: ExportFormat) -> Path:
    return desk.installation.home / "exports" / f"{urn}{SUFFIXES[form]}"


def _row(path: Path, form: ExportFormat) -> ExportRow:
    found = path.stat()
    made_at = datetime.fromtimestamp(found.st_mtime, UTC)
    return ExportRow(name=path.name, format=form, bytes=found.st_size if path.is_file() else None, made_at=made_at)
