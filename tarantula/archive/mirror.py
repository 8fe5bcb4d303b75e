"""The mirror of an item: a folder in which links between collected documents lead to their copies."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from tarantula.archive.copies import RENDERED, Copies, documents, plan_of
from tarantula.archive.index_page import index_page
from tarantula.archive.workplace import State, Workplace
from tarantula.config import Config
from tarantula.db import Database
from tarantula.download.errors import DownloadError
from tarantula.errors import TarantulaError
from tarantula.links.convert import convert_links
from tarantula.links.relocate import Destination, Relocator
from tarantula.listings import find_item
from tarantula.media import charset_of
from tarantula.models import Document, Item
from tarantula.reports import report
from tarantula.states import ItemState
from tarantula.store.captures import capture_of
from tarantula.store.payload import payload_of
from tarantula.store.read import read_record

Progress = Callable[[int, int], None]
"""Hears how many documents have their copy, and of how many."""


class Skipped(NamedTuple):
    """A document whose bytes could not be read."""

    url: str
    reason: str


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a conversion made."""

    urn: str
    path: Path
    documents: int
    """Those that have a copy."""
    changed: int
    """Those whose copy has other links than the document."""
    bytes: int
    """Of the documents, before."""
    skipped: list[Skipped]
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; the keys are an interface."""
        return {**asdict(self), "path": str(self.path), "skipped": [one._asdict() for one in self.skipped]}


def convert_item(
    installation: Config, database: Database, urn: str, progress: Progress = lambda done, total: None
) -> Conversion:
    """Make the mirror of an item in ``archived/<urn>`` below the home; one that is there is replaced when it is done.

    What an earlier call left unfinished is gone on with.
    """
    began = monotonic()
    with database.reading() as session:
        _check_is_collected(find_item(session, urn))
    with Workplace(installation.archived, urn) as workplace:
        conversion = _Converter(installation, database, urn, workplace)
        state = conversion.run(progress)
        skipped = conversion.write_index()
        workplace.finish()
    seconds = round(monotonic() - began, 3)
    return Conversion(urn, workplace.mirror, state.documents, state.changed, state.bytes, skipped, seconds)


def _check_is_collected(item: Item) -> None:
    if item.state in (ItemState.WAITING, ItemState.COLLECTING):
        raise TarantulaError(f"Item {item.urn} is {item.state}. Its links can be converted when that has ended.")


class _Converter:
    """Makes one mirror."""

    def __init__(self, installation: Config, database: Database, urn: str, workplace: Workplace) -> None:
        self._items = installation.items
        self._database = database
        self._urn = urn
        self._workplace = workplace
        with database.reading() as session:
            self._plan = plan_of(session, find_item(session, urn))
        self._state = workplace.state(self._plan.fingerprint)
        self._use_copies()

    def run(self, progress: Progress) -> State:
        """Write every copy."""
        while True:
            known = len(self._state.skipped)
            while self._write_some():
                self._workplace.keep(self._state)
                progress(self._state.documents, self._plan.documents)
            if len(self._state.skipped) == known:
                return self._state
            # Once more from the beginning: links to what could not be read shall lead to the web.
            self._workplace.clear()
            self._state = State(self._plan.fingerprint, skipped=self._state.skipped)
            self._use_copies()

    def write_index(self) -> list[Skipped]:
        """Write the page with which the mirror opens; return what is not in the mirror though it was collected."""
        lost = self._state.skipped | self._copies.lost_redirects
        with self._database.reading() as session:
            skipped = [Skipped(session.get_one(Document, number).url, why) for number, why in sorted(lost.items())]
            item = find_item(session, self._urn)
            counted = report(session, item)
            page = index_page(item, counted, self._base(item), skipped)
        self._workplace.write("report.json", json.dumps(counted.as_dict(), indent=2, ensure_ascii=False).encode())
        self._workplace.write("index.html", page.encode())
        return skipped

    def _base(self, item: Item) -> Destination:
        return self._copies.locate(item.configuration["base_url"], False)

    def _use_copies(self) -> None:
        with self._database.reading() as session:
            item = find_item(session, self._urn)
            self._copies = Copies(session, self._items, item, self._state.skipped)
        self._relocator = Relocator(self._copies.locate)

    def _write_some(self) -> bool:
        """Write the next copies; say whether there were any."""
        state = self._state
        with self._database.reading() as session:
            item = find_item(session, self._urn)
            some = documents(session, item, state.done)
            for document in some:
                if document.id not in state.skipped:
                    self._write(session, document)
                state.done = document.id
        return bool(some)

    def _write(self, session: Session, document: Document) -> None:
        state = self._state
        try:
            body, media_type, charset = self._read(session, document)
        except (TarantulaError, DownloadError) as error:
            state.skipped[document.id] = str(error)
            return
        path = self._copies.path(document.url, media_type)
        folder = path[: path.rindex("/") + 1]
        copy = convert_links(body, media_type, document.url, charset, self._relocator, folder)
        self._workplace.write(path, copy)
        state.documents += 1
        state.changed += copy != body
        state.bytes += len(body)

    def _read(self, session: Session, document: Document) -> tuple[bytes, str | None, str | None]:
        """Return the body, type and charset of a document: the browser's version, if there is one."""
        capture = capture_of(session, self._items, document)
        if capture is None:
            raise TarantulaError("Its bytes are not there.")
        rendered = capture.rendered_offset
        payload = payload_of(read_record(capture.path, capture.offset if rendered is None else rendered))
        media_type = document.type if rendered is None else RENDERED
        return payload.body, media_type, charset_of(payload.get(b"content-type"))
