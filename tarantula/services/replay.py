"""Archived content of an item for the replay origin. Access is granted by tickets, not by accounts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy.orm import Session

from tarantula.archive import replay
from tarantula.archive.replay import MirrorFile, ReplayContent
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import NotFoundError
from tarantula.models import Document
from tarantula.store.homes import check_home
from tarantula.store.listings import find_item
from tarantula.store.withholding import check_access

T = TypeVar("T")

MAX_DOCUMENT_NUMBER = 2**63
NOT_FOUND_MESSAGE = "There is nothing at this address."


class ReplayService:
    """Reads mirrors and stored documents. Every method raises `NotFoundError` if there is no such content."""

    def __init__(self, installation: Config, database: Database) -> None:
        self._installation = installation
        self._database = database

    def mirror_file(self, urn: str, path: str) -> MirrorFile:
        """Return a file of the mirror of an item."""
        with self._database.reading() as session:
            item = find_item(session, urn)
            check_home(session, self._installation.items, item)
            return _existing(replay.mirror_file(session, self._installation.archived / item.urn, item, path))

    def mirror_path(self, urn: str, number: int) -> str | None:
        """Return the path of a document below the mirror of its item, or None if it has no copy there."""
        with self._document(urn, number) as (session, document):
            check_access(session, document)
            return replay.path_of_document(session, self._installation.archived / urn, document)

    def displayed(self, urn: str, number: int) -> ReplayContent:
        """Return a document as a browser rendered it, or else as the server sent it."""
        with self._document(urn, number) as (session, document):
            return _existing(replay.displayed_content(session, self._installation.items, document))

    def original(self, urn: str, number: int) -> ReplayContent:
        """Return a document as the server sent it."""
        with self._document(urn, number) as (session, document):
            return _existing(replay.original_content(session, self._installation.items, document))

    @contextmanager
    def _document(self, urn: str, number: int) -> Iterator[tuple[Session, Document]]:
        with self._database.reading() as session:
            item = find_item(session, urn)
            document = session.get(Document, number) if number < MAX_DOCUMENT_NUMBER else None
            if document is None or document.item_id != item.id:
                raise NotFoundError(NOT_FOUND_MESSAGE)
            yield session, document


def _existing(found: T | None) -> T:
    if found is None:
        raise NotFoundError(NOT_FOUND_MESSAGE)
    return found
