"""Conversion of an item to a mirror: a folder in which links between collected documents lead to local copies."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from time import monotonic
from typing import Any, Self

from rich.filesize import decimal
from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.archive.mirror.copier import ConversionState, CopierPool, MirrorWorkspace, PendingCopies
from tarantula.archive.mirror.paths import COPIES_FOLDER, CopyIndex
from tarantula.archive.mirror.plan import (
    DOCUMENTS_PER_BATCH,
    CopyTasks,
    count_withheld,
    load_copies,
    make_mirror_plan,
)
from tarantula.archive.omissions import MISSING_LIST, IncompleteError, Omission, as_csv
from tarantula.archive.quality.indicators import MirrorContents, store_mirror_contents
from tarantula.archive.quality.report import ItemReport, make_report
from tarantula.archive.withheld_files import apply_to_item
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError
from tarantula.core.messages import Message
from tarantula.core.states import ItemState
from tarantula.links.relocation import LinkDestination
from tarantula.models import Document, Item
from tarantula.publications.config import PublicationConfig
from tarantula.store.bulk import chunks
from tarantula.store.homes import require_files
from tarantula.store.listings import find_item
from tarantula.store.transitions import lock_item

MAX_SERVER_ROWS = 20
"""Maximum number of servers listed on the index page."""
MAX_MISSING_ROWS = 100
"""Maximum number of missing documents listed on the index page."""

STYLE = """
body { font: 16px/1.5 sans-serif; max-width: 52em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin-bottom: 2em }
caption { text-align: left; font-weight: bold }
th, td { text-align: left; padding: .1em 1.5em .1em 0; vertical-align: top; overflow-wrap: anywhere }
td.number { text-align: right }
"""

TableCells = Iterable[tuple[str | int | float, ...]]

ProgressCallback = Callable[[int, int], None]
"""Called with the number of documents copied and the total."""


def ignore_progress(done: int, total: int) -> None:
    """Progress callback that does nothing."""


@dataclass(frozen=True, slots=True)
class MirrorResult:
    """Result of a conversion."""

    urn: str
    path: Path
    documents: int
    """Number of documents with a copy."""
    changed: int
    """Number of documents whose copy differs from them."""
    bytes: int
    """Bytes of the documents before conversion."""
    skipped: list[Omission]
    """Collected documents that are not in the mirror."""
    seconds: float
    withheld: int
    """Number of documents in whose place there is a notice, because their URL is withheld."""

    @classmethod
    def refused(cls, urn: str, skipped: list[Omission]) -> Self:
        """Return the result of a conversion that replaced nothing."""
        return cls(urn, Path(), 0, 0, 0, skipped, 0.0, 0)

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON; the keys are a stable interface."""
        return {**asdict(self), "path": str(self.path), "skipped": [one._asdict() for one in self.skipped]}


def convert_item(
    installation: Config,
    database: Database,
    urn: str,
    progress: ProgressCallback = ignore_progress,
    live_requests: bool | None = None,
    partial: bool = False,
) -> MirrorResult:
    """Build the mirror of an item in ``archived/<urn>`` below the home, replacing an existing one when complete.

    Documents that cannot be read are left out and listed in the result. An interrupted conversion is resumed. An
    existing mirror that has more of them is not replaced, and `IncompleteError` raised, unless *partial*.
    *live_requests* replaces the setting of the publication: whether pages load what has no copy from the web.
    """
    began = monotonic()
    with database.reading() as session:
        item = find_item(session, urn)
        _check_is_collected(item)
        require_files(session, installation, item)
        if live_requests is None:
            live_requests = PublicationConfig.model_validate(item.configuration).live_requests
    with MirrorWorkspace(installation.archived, urn) as workspace:
        conversion = _Converter(installation, database, urn, workspace, live_requests)
        state = conversion.run(progress)
        skipped, withheld = conversion.write_index()
        contents = MirrorContents.of(state.documents, skipped)
        if skipped:
            if not partial:
                _check_replaceable(workspace, urn, skipped)
            # Before it is in place: if this process ends there, the item must not count as complete.
            _store_contents(database, urn, contents)
        workspace.finish()
        # A URL may have been withheld or released since its copy was written.
        apply_to_item(installation, database, urn)
    _store_contents(database, urn, contents)
    seconds = round(monotonic() - began, 3)
    return MirrorResult(urn, workspace.mirror, state.documents, state.changed, state.bytes, skipped, seconds, withheld)


def _check_replaceable(workspace: MirrorWorkspace, urn: str, skipped: Sequence[Omission]) -> None:
    """Discard the new mirror and raise an error if the present one has more files: it may be all that is left."""
    lost = _count_files(workspace.mirror) - _count_files(workspace.folder)
    if lost <= 0:
        return
    workspace.discard()
    raise IncompleteError(
        Message(
            "The mirror of {urn} was not replaced: the new one would have {count:,} copies less than it, because "
            "documents cannot be read. Repair the files and convert again, or replace it with --partial.",
            urn=urn,
            count=lost,
        ),
        skipped,
    )


def _count_files(folder: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(folder / COPIES_FOLDER))


def _store_contents(database: Database, urn: str, contents: MirrorContents) -> None:
    with database.session() as session:
        store_mirror_contents(session, lock_item(session, urn), contents)


def _check_is_collected(item: Item) -> None:
    if item.state in (ItemState.WAITING, ItemState.COLLECTING):
        raise ConflictError(
            "Item {urn} is {state}. Convert its links when it has ended.", urn=item.urn, state=Message(item.state)
        )


class _Converter:
    """Builds one mirror."""

    def __init__(
        self, installation: Config, database: Database, urn: str, workspace: MirrorWorkspace, live_requests: bool
    ) -> None:
        self._live_requests = live_requests
        self._items = installation.items
        self._database = database
        self._urn = urn
        self._workspace = workspace
        with database.reading() as session:
            self._plan = make_mirror_plan(session, find_item(session, urn), live_requests)
        self._state = workspace.state(self._plan.fingerprint)
        self._copies = self._load_copies()

    def run(self, progress: ProgressCallback) -> ConversionState:
        """Write all copies."""
        while self._write_all(progress):
            # Start again, so that links to unreadable documents lead to the web.
            self._workspace.clear()
            self._state = ConversionState(self._plan.fingerprint, skipped=self._state.skipped)
            self._copies = self._load_copies()
        return self._state

    def write_index(self) -> tuple[list[Omission], int]:
        """Write the start page and the report; return the collected documents that are not in the mirror, and the
        number of those that are withheld."""
        with self._database.reading() as session:
            skipped = self._omissions(session)
            item = find_item(session, self._urn)
            base = self._copies.locate(item.configuration["base_url"], False)
            withheld = count_withheld(session, item)
            page = index_page(item, self._report, base, skipped, withheld)
        self._workspace.write("report.json", json.dumps(self._report.as_dict(), indent=2, ensure_ascii=False).encode())
        self._workspace.write("index.html", page.encode())
        if skipped:
            self._workspace.write(MISSING_LIST, as_csv(skipped))
        return skipped, withheld

    def _omissions(self, session: Session) -> list[Omission]:
        lost = self._state.skipped | self._copies.unreadable_redirects
        urls: dict[int, str] = {}
        for some in chunks(sorted(lost)):
            rows = session.execute(select(Document.id, Document.url).where(Document.id.in_(some)))
            urls.update((row.id, row.url) for row in rows)
        return [Omission(urls[number], *lost[number]) for number in sorted(lost)]

    def _make_report(self) -> ItemReport:
        with self._database.reading() as session:
            return make_report(session, find_item(session, self._urn))

    def _load_copies(self) -> CopyIndex:
        with self._database.reading() as session:
            return load_copies(session, self._items, find_item(session, self._urn), self._state.skipped)

    def _write_all(self, progress: ProgressCallback) -> bool:
        """Write the remaining copies; return whether further documents turned out to be unreadable."""
        known = len(self._state.skipped)
        left = self._plan.documents - self._state.documents
        tasks = CopyTasks(self._database, self._items, self._urn, self._state.skipped)
        with CopierPool(self._copies, self._workspace.folder, left, self._live_requests) as pool:
            ahead = 1 + pool.in_flight // DOCUMENTS_PER_BATCH
            waiting: deque[tuple[int, PendingCopies]] = deque()
            for last, some in tasks.batches(max(self._state.done + 1, self._plan.first), self._plan.last):
                waiting.append((last, pool.copy(some)))
                if len(waiting) > ahead:
                    self._record(*waiting.popleft(), progress)
            # Computed while the pool is still copying.
            self._report = self._make_report()
            while waiting:
                self._record(*waiting.popleft(), progress)
        return len(self._state.skipped) > known

    def _record(self, last: int, pending: PendingCopies, progress: ProgressCallback) -> None:
        state = self._state
        for outcome in pending():
            state.documents += outcome.documents
            state.changed += outcome.changed
            state.bytes += outcome.bytes
            state.skipped.update(outcome.skipped)
        state.done = last
        self._workspace.save(state)
        progress(state.documents, self._plan.documents)


def index_page(
    item: Item, report: ItemReport, base: LinkDestination, skipped: Sequence[Omission], withheld: int
) -> str:
    """Return the start page of a mirror whose base document is at *base*; *skipped* lists unreadable documents, and
    *withheld* counts those with a notice in their place."""
    config = PublicationConfig.model_validate(item.configuration)
    totals = report.totals
    left_out = _missing_documents(skipped) + _withheld_documents(withheld)
    tables = (
        _table("States", ("state", "meaning", "documents"), [(r.state, r.meaning, r.documents) for r in report.states]),
        _table("Types", ("type", "documents", "bytes"), [(r.type, r.documents, r.bytes) for r in report.types]),
        _table(
            "Servers",
            ("server", "documents", "bytes"),
            [(r.server, r.documents, r.bytes) for r in report.servers[:MAX_SERVER_ROWS]],
        ),
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{escape(item.urn)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{escape(item.urn)}</h1>
<p>{escape(config.description)}</p>
<dl>
<dt>Publication</dt><dd>{escape(config.name)}</dd>
<dt>Base document</dt><dd><a href="{escape(_address(base))}">{escape(config.base_url)}</a></dd>
<dt>Collected</dt><dd>{escape(_dates(item))}</dd>
</dl>
<p>{totals.documents:,} documents, {totals.collected:,} of them collected from {totals.servers:,} servers:
{decimal(totals.bytes)}, {totals.links:,} links. The whole report is in <a href="report.json">report.json</a>.</p>
{left_out}{"".join(tables)}</body>
</html>
"""


def _missing_documents(skipped: Sequence[Omission]) -> str:
    if not skipped:
        return ""
    number, shown = len(skipped), skipped[:MAX_MISSING_ROWS]
    first = f"; the first {len(shown)} are below" if number > len(shown) else ""
    return (
        f'<p><strong>This mirror is not complete.</strong> {number:,} collected documents could not be read: <a href="'
        f'{MISSING_LIST}">the whole list</a>{first}.</p>\n'
        f"{_table('Documents that could not be read', ('address', 'cause', 'why'), shown)}"
    )


def _withheld_documents(number: int) -> str:
    # Later changes are made in the mirror without a new start page.
    return f"<p>{number:,} documents were withheld when this mirror was made.</p>\n" if number else ""


def _address(base: LinkDestination) -> str:
    return (base.path or base.url) + base.fragment


def _dates(item: Item) -> str:
    moments = [moment.strftime("%Y-%m-%d %H:%M UTC") for moment in (item.started_at, item.finished_at) if moment]
    return " to ".join(moments) or item.planned_at.strftime("%Y-%m-%d %H:%M UTC")


def _table(caption: str, headings: tuple[str, ...], rows: TableCells) -> str:
    lines = ["".join(map(_cell, row)) for row in rows]
    if not lines:
        return ""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return f"<table>\n<caption>{escape(caption)}</caption>\n<tr>{head}</tr>\n{body}</table>\n"


def _cell(value: str | float) -> str:
    return f"<td>{escape(value)}</td>" if isinstance(value, str) else f'<td class="number">{value:,}</td>'
