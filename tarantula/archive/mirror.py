"""The mirror of an item: a folder in which links between collected documents lead to their copies."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from tarantula.archive.collected import RENDERED, copies_of, documents, plan_of
from tarantula.archive.copies import Copies
from tarantula.archive.copying import Pending, Task
from tarantula.archive.crew import Crew
from tarantula.archive.index_page import index_page
from tarantula.archive.workplace import State, Workplace
from tarantula.config import Config
from tarantula.db import Database
from tarantula.errors import NotNow, TarantulaError
from tarantula.listings import find_item
from tarantula.models import Document, Item
from tarantula.reports import report
from tarantula.states import ItemState
from tarantula.store.captures import capture_of

AHEAD = 1
"""How many times some documents are asked for before what came of the first is known."""

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
        raise NotNow(f"Item {item.urn} is {item.state}. Its links can be converted when that has ended.")


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
        self._copies = self._known_copies()

    def run(self, progress: Progress) -> State:
        """Write every copy."""
        while self._write_all(progress):
            # Once more from the beginning: links to what could not be read shall lead to the web.
            self._workplace.clear()
            self._state = State(self._plan.fingerprint, skipped=self._state.skipped)
            self._copies = self._known_copies()
        return self._state

    def write_index(self) -> list[Skipped]:
        """Write the page with which the mirror opens; return what is not in the mirror though it was collected."""
        lost = self._state.skipped | self._copies.lost_redirects
        with self._database.reading() as session:
            skipped = [Skipped(session.get_one(Document, number).url, why) for number, why in sorted(lost.items())]
            item = find_item(session, self._urn)
            counted = report(session, item)
            base = self._copies.locate(item.configuration["base_url"], False)
            page = index_page(item, counted, base, skipped)
        self._workplace.write("report.json", json.dumps(counted.as_dict(), indent=2, ensure_ascii=False).encode())
        self._workplace.write("index.html", page.encode())
        return skipped

    def _known_copies(self) -> Copies:
        with self._database.reading() as session:
            return copies_of(session, self._items, find_item(session, self._urn), self._state.skipped)

    def _write_all(self, progress: Progress) -> bool:
        """Write the copies that are still to be written; say whether some could not be, of which nobody knew."""
        known = len(self._state.skipped)
        left = self._plan.documents - self._state.documents
        with Crew(self._copies, self._workplace.folder, left) as crew:
            waiting: deque[tuple[int, Pending]] = deque()
            for last, tasks in self._batches():
                waiting.append((last, crew.copy(tasks)))
                if len(waiting) > AHEAD:
                    self._note(*waiting.popleft(), progress)
            while waiting:
                self._note(*waiting.popleft(), progress)
        return len(self._state.skipped) > known

    def _note(self, last: int, pending: Pending, progress: Progress) -> None:
        state = self._state
        for outcome in pending():
            if outcome.problem:
                state.skipped[outcome.id] = outcome.problem
            else:
                state.documents += 1
                state.changed += outcome.changed
                state.bytes += outcome.size
        state.done = last
        self._workplace.keep(state)
        progress(state.documents, self._plan.documents)

    def _batches(self) -> Iterator[tuple[int, list[Task]]]:
        """Yield what is to be copied, some at a time, with the number of the last document of each time."""
        last = self._state.done
        while True:
            with self._database.reading() as session:
                item = find_item(session, self._urn)
                found = documents(session, item, last)
                tasks = [task for one in found if (task := self._task(session, one))]
            if not found:
                return
            last = found[-1].id
            yield last, tasks

    def _task(self, session: Session, document: Document) -> Task | None:
        if document.id in self._state.skipped:
            return None
        try:
            capture = capture_of(session, self._items, document)
        except TarantulaError as error:
            self._state.skipped[document.id] = str(error)
            return None
        if capture is None:
            self._state.skipped[document.id] = "Its bytes are not there."
            return None
        if capture.rendered_offset is not None:
            return Task(document.id, document.url, RENDERED, capture.path, capture.rendered_offset)
        return Task(document.id, document.url, document.type, capture.path, capture.offset)
