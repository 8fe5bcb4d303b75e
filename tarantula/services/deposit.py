"""Python interface to collected items, for programs that embed Tarântula."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Self

from sqlalchemy import select

from tarantula.archive.diff.pages import text_lines
from tarantula.archive.export.exporter import ExportResult, export_item
from tarantula.archive.quality import validation
from tarantula.archive.quality.indicators import Indicators, load_indicators
from tarantula.archive.quality.validation import ItemDecision, decide_and_call_hooks
from tarantula.core.config import Config
from tarantula.core.states import Validation
from tarantula.core.urls import canonical, key_of
from tarantula.fetch.media_types import charset_of, media_type
from tarantula.models import Document
from tarantula.publications import registry
from tarantula.store import listings
from tarantula.store.captures import capture_of
from tarantula.store.database import open_database
from tarantula.store.homes import require_files
from tarantula.store.listings import DocumentRow, ItemRow, find_item
from tarantula.store.warc_reader import decode_payload, read_record


def text_of(body: bytes, content_type: str | None) -> str | None:
    """Return the visible text of a body with this Content-Type; None if it is not text."""
    lines = text_lines(body, media_type(content_type), charset_of(content_type))
    return "\n".join(lines) if lines is not None else None


class Deposit:
    """Items, documents and bodies of one installation; close it, or use it as a context manager."""

    def __init__(self, installation: Config | None = None) -> None:
        self._installation = installation or Config()
        self._database = open_database(self._installation)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def items(self, publication: str | None = None, validation: str | None = None) -> list[ItemRow]:
        """Return items, oldest first, optionally of one publication or with one validation (pending, valid,
        rejected)."""
        with self._database.reading() as session:
            rows = listings.list_items(
                session, registry.get_publication(session, publication) if publication is not None else None
            )
        return [row for row in rows if validation in (None, row.validation)]

    def documents(self, urn: str) -> Iterator[DocumentRow]:
        """Yield an item's documents in order of discovery, in any state."""
        with self._database.reading() as session:
            yield from listings.list_documents(session, find_item(session, urn))

    def body_of(self, urn: str, url: str) -> bytes | None:
        """Return the decoded response body of a URL; None if the item has none."""
        with self._database.reading() as session:
            item = find_item(session, urn)
            key = key_of(canonical(url) or url)
            document = session.scalar(select(Document).where(Document.item_id == item.id, Document.key == key))
            capture = capture_of(session, self._installation.items, document) if document is not None else None
        return decode_payload(read_record(capture.path, capture.offset)).body if capture is not None else None

    def directory(self, urn: str) -> Path:
        """Return the folder of an item's WARC files (``archive``) and index (``indexes``)."""
        with self._database.reading() as session:
            item = find_item(session, urn)
            require_files(session, self._installation, item)
            return self._installation.items / item.urn

    def mirror(self, urn: str) -> Path | None:
        """Return the folder of an item's mirror, if it was converted."""
        with self._database.reading() as session:
            item = find_item(session, urn)
            require_files(session, self._installation, item)
            folder = self._installation.archived / item.urn
        return folder if folder.is_dir() else None

    def export(self, urn: str, form: str, output: Path, force: bool = False, partial: bool = False) -> ExportResult:
        """Export an item as ``wacz``, ``bagit`` or another format; *force* replaces an existing export.

        Raise `IncompleteError`, whose ``omissions`` list what is missing, unless a *partial* export is wanted."""
        return export_item(self._installation, self._database, urn, form, output, force, partial=partial)

    def indicators(self, urn: str) -> Indicators:
        """Return the quality indicators of an item."""
        with self._database.reading() as session:
            return load_indicators(session, find_item(session, urn))

    def decisions(self, urn: str) -> list[ItemDecision]:
        """Return the decisions about an item, oldest first."""
        with self._database.reading() as session:
            return validation.list_decisions(session, find_item(session, urn))

    def validate(self, urn: str, by: str, why: str = "", anyway: bool = False) -> ItemDecision:
        """Accept an item and call the hooks; *anyway* accepts an incomplete one."""
        return self._decide(urn, Validation.VALID, by, why, anyway)

    def reject(self, urn: str, by: str, why: str) -> ItemDecision:
        """Reject an item and call the hooks."""
        return self._decide(urn, Validation.REJECTED, by, why)

    def _decide(self, urn: str, decision: Validation, by: str, why: str, anyway: bool = False) -> ItemDecision:
        session = self._database.session()
        return decide_and_call_hooks(self._installation, session, urn, decision, by=by, why=why, anyway=anyway)
