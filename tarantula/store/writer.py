"""Group-committing writer of a collector: one thread that writes bodies to WARC, then rows to SQL.

A WARC record is flushed before the transaction that names it. A document and the links in it are one transaction.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from itertools import chain

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from tarantula.core.states import COLLECTED_STATES, DocumentState, is_final
from tarantula.fetch.exchange import Exchange
from tarantula.fetch.politeness import ServerPause
from tarantula.frontier.queues import FrontierEntry, PreviousCapture
from tarantula.links.link import Link
from tarantula.store.commit_group import (
    CommitGroup,
    CommitResult,
    FinishedDocument,
    GroupCommitThread,
    LeasedServer,
    LeaseRequest,
    LeaseReturn,
    RefillRequest,
    resolve_future,
)
from tarantula.store.documents import DiscoveredUrl, DocumentOutcome, DocumentTable, InsertedUrls
from tarantula.store.errors import is_database_away, storage_error
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.leases import ItemLeases, Lease
from tarantula.store.liveness import HEARTBEAT_TIMEOUT_SECONDS
from tarantula.store.visits import VisitSettlement
from tarantula.store.warc_files import open_files, register_files, store_synced_size
from tarantula.store.warc_records import payload_digest
from tarantula.store.warc_writer import StoredRecord, WarcWriter

JudgeLinks = Callable[[FrontierEntry, list[Link]], list[DiscoveredUrl]]


class DepthUpdater:
    """Lowers the depth of documents when a shorter path is found, and judges their links again."""

    def __init__(self, table: DocumentTable, judge: JudgeLinks) -> None:
        self._table = table
        self._judge = judge
        self._lowered: dict[int, FrontierEntry] = {}

    def propagate(
        self, connection: Connection, lowered: list[tuple[FrontierEntry, int]]
    ) -> tuple[list[FrontierEntry], list[FrontierEntry]]:
        """Propagate lowered depths (with document states); return newly waiting documents and those with lower
        depth."""
        waiting: list[FrontierEntry] = []
        nearer: list[FrontierEntry] = []
        while lowered:
            pending = [entry for entry, state in lowered if not is_final(state)]
            self._lowered.update((entry.id, entry) for entry in pending)
            nearer += pending
            more, lowered = self._judge_again(connection, [entry for entry, state in lowered if is_final(state)])
            waiting += more
        return waiting, nearer

    def recheck(self, connection: Connection, finished: Iterable[tuple[int, int]]) -> InsertedUrls:
        """Judge again the links of finished documents whose depth was lowered while they were being collected.

        *finished* has document ids with the depth that their links were judged with.
        """
        late = []
        for identity, judged_depth in finished:
            entry = self._lowered.get(identity)
            if entry is not None and entry.depth < judged_depth:
                late.append(entry)
        return self._judge_again(connection, late)

    def _judge_again(self, connection: Connection, entries: list[FrontierEntry]) -> InsertedUrls:
        found: list[DiscoveredUrl] = []
        for entry in entries:
            found += self._judge(entry, self._table.links_of(connection, entry.id))
        return self._table.insert_urls(connection, found)


class RowWriter:
    """Writes the rows of a group in the right order, within one transaction."""

    def __init__(
        self,
        table: DocumentTable,
        leases: ItemLeases,
        depths: DepthUpdater,
        window: int,
        reload_settings: Callable[[Connection], None] = lambda _: None,
        find_previous: Callable[[Connection, Iterable[FrontierEntry]], None] = lambda _connection, _entries: None,
        unusual_pause: Callable[[str], ServerPause | None] = lambda _server: None,
        visits: VisitSettlement | None = None,
    ) -> None:
        self._table = table
        self._leases = leases
        self._depths = depths
        self._window = window
        self._reload_settings = reload_settings
        self._find_previous = find_previous
        self._unusual_pause = unusual_pause
        self._visits = visits
        self.paused_for: str | None = None
        """Why the collector pauses, for its row."""

    @property
    def item_id(self) -> int:
        """The item whose rows are written."""
        return self._table.item_id

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Restore leases and caches if the transaction fails."""
        held, noted = dict(self._leases.held), self._leases.stored_pauses
        try:
            yield
        except BaseException:
            self._leases.held, self._leases.stored_pauses = held, noted
            self._table.forget_servers()
            raise

    def write(self, connection: Connection, group: CommitGroup, beat: bool) -> CommitResult:
        """Write a group and return its result."""
        result = CommitResult()
        if beat:
            self._leases.paused_for = self.paused_for
            result.lost = self._leases.beat(connection)
            result.contested = self._leases.contested(connection) + self._leases.surplus(connection)
            self._leases.store_pauses(connection, self._unusual_pause)
        # Before the group's documents: the frontier does not know yet that they are finished.
        released = self._release(connection)
        waiting = released + self._write_documents(connection, group, result)
        self._leases.store_waits(connection, _long_waits(group))
        for given_back in group.given_back:
            self._leases.give_back(connection, given_back.waits, given_back.yielding)
        result.waiting = [entry for entry in waiting if entry.server in self._leases.held]
        self._lease_new(connection, waiting, result)
        if group.seeks:
            self._open(connection, self._leases.seek(connection), result)
            result.work_left = self.work_left(connection)
        result.refilled = [
            self._table.next_waiting(connection, refill.server, refill.held, refill.limit)
            for refill, _ in group.refills
        ]
        if beat or result.opened or result.refilled:
            # After the rows: a reader that sees a newly accepted row also sees the setting that accepted it.
            self._reload_settings(connection)
        self._find_previous(connection, result.entries())
        return result

    def work_left(self, connection: Connection) -> bool:
        """Whether any document of the item remains to be collected, by any collector."""
        waits = self._leases.work_left(connection)
        return waits if self._visits is None else self._visits.work_left(connection, waits)

    def open_first(self, connection: Connection) -> CommitResult:
        """Lease the first servers."""
        result = CommitResult()
        # After a slow start, other collectors may have considered this one dead.
        self._leases.beat(connection)
        self._open(connection, self._leases.seek(connection), result)
        self._find_previous(connection, result.entries())
        return result

    def _write_documents(self, connection: Connection, group: CommitGroup, result: CommitResult) -> list[FrontierEntry]:
        """Write outcomes, discovered URLs and links; return the documents that wait as a result."""
        done = {finished.outcome.id: finished.depth for finished in group.finished}
        self._table.mark_collecting(connection, [identity for identity in group.started if identity not in done])
        result.unwritten = self._finish(connection, group.finished)
        found = list(chain(group.found, *(finished.found for finished in group.finished)))
        waiting, nearer = self._table.insert_urls(connection, found)
        late, also_nearer = self._depths.recheck(connection, done.items())
        more, result.nearer = self._depths.propagate(connection, nearer + also_nearer)
        return waiting + late + more

    def _release(self, connection: Connection) -> list[FrontierEntry]:
        """Release due visits, except at servers leased to other collectors, which would not learn of them."""
        if self._visits is None:
            return []
        return self._visits.release(connection, lambda: self._leases.leased_to_others(connection))

    def _finish(self, connection: Connection, finished: list[FinishedDocument]) -> set[int]:
        """Write outcomes and links; return the ids of documents that were collected by another visit meanwhile."""
        links = {one.outcome.id: one.links for one in finished if one.links}
        outcomes = [one.outcome for one in finished]
        if self._visits is not None and finished:
            outcomes = self._visits.settle(connection, finished)
            # Links that the document no longer has are deleted.
            links |= {one.outcome.id: {} for one in finished if one.exchange is not None and not one.links}
        unwritten = self._write_outcomes(connection, outcomes)
        links = {identity: found for identity, found in links.items() if identity not in unwritten}
        self._table.insert_links(connection, links)
        # For a refresh item, documents that are gone are reported too.
        reported = [
            one.id
            for one in outcomes
            if one.id not in unwritten and (one.state in COLLECTED_STATES or self._visits is not None)
        ]
        if reported:
            append_to_journal(connection, JournalKind.COLLECTED, self._table.item_id, reported)
        return unwritten

    def _write_outcomes(self, connection: Connection, outcomes: list[DocumentOutcome]) -> set[int]:
        """Write outcomes; return the ids of documents whose outcome does not count.

        Another visit has collected them meanwhile, or they share the body of such a document: these wait again.
        """
        ids = {one.id for one in outcomes}
        sharing = [one for one in outcomes if one.refers_to_id in ids]
        written = self._table.finish(connection, [one for one in outcomes if one.refers_to_id not in ids])
        lost = [one.id for one in sharing if one.refers_to_id not in written]
        if lost:
            self._table.finish(connection, [DocumentOutcome(identity, DocumentState.WAITING) for identity in lost])
        written |= self._table.finish(connection, [one for one in sharing if one.id not in lost])
        return ids - written

    def _lease_new(self, connection: Connection, waiting: list[FrontierEntry], result: CommitResult) -> None:
        """Lease the free servers at which documents now wait."""
        new = {entry.server for entry in chain(waiting, result.nearer)} - self._leases.held.keys()
        if new:
            self._open(connection, self._leases.take(connection, self._table.server_ids(connection, new)), result)

    def _open(self, connection: Connection, leases: list[Lease], result: CommitResult) -> None:
        for lease in leases:
            entries = self._table.next_waiting(connection, lease.server, frozenset(), self._window)
            result.opened.append(LeasedServer(lease, entries))


def _long_waits(group: CommitGroup) -> dict[str, float]:
    # Shorter waits are over before another collector could take over from a dead one.
    return {finished.server: finished.wait for finished in group.finished if finished.wait > HEARTBEAT_TIMEOUT_SECONDS}


MAX_REMEMBERED_BODIES = 50_000


class StoredBodies:
    """The bodies that a collector stored last, by digest, size, type, charset and state.

    A body is added before its row is committed: if the transaction fails, the writer ends, and no row refers to it. If
    the row is not written, because another collector has collected the document meanwhile, the body is forgotten.
    """

    def __init__(self, urn: str, most: int = MAX_REMEMBERED_BODIES) -> None:
        self._urn = urn
        self._most = most
        self._captures: OrderedDict[tuple[object, ...], PreviousCapture] = OrderedDict()

    def find(self, finished: FinishedDocument, digest: str) -> PreviousCapture | None:
        """Return the first capture of this item with the same body; None if there is none, or it may not be shared."""
        if not finished.may_share_body():
            return None
        key = _body_key(finished, digest)
        found = self._captures.get(key)
        if found is None or found.id == finished.outcome.id:
            # A document that is collected again must not refer to the record that it replaces.
            return None
        self._captures.move_to_end(key)
        return found

    def forget(self, ids: Set[int]) -> None:
        """Forget the bodies of documents whose rows name other records."""
        if ids:
            self._captures = OrderedDict((key, one) for key, one in self._captures.items() if one.id not in ids)

    def add(self, finished: FinishedDocument, stored: StoredRecord, earlier: PreviousCapture | None) -> None:
        """Remember the body of a stored document: its own, or the one that its record refers to."""
        exchange, outcome = finished.exchange, finished.outcome
        if exchange is None or not finished.may_share_body():
            return
        place = (outcome.id, exchange.url, exchange.started_at, self._urn, stored.file, stored.offset)
        found = earlier or PreviousCapture(*place, stored.digest, outcome.size, outcome.type, outcome.charset)
        self._captures.setdefault(_body_key(finished, stored.digest), found)
        if len(self._captures) > self._most:
            self._captures.popitem(last=False)


def _body_key(finished: FinishedDocument, digest: str) -> tuple[object, ...]:
    outcome = finished.outcome
    # The same bytes may be decoded or interpreted differently.
    return digest, outcome.size, outcome.type, outcome.charset, outcome.state


class Writer(GroupCommitThread[CommitGroup, CommitResult]):
    """Writer thread of a collector: stores WARC records and rows."""

    def __init__(
        self,
        engine: Engine,
        rows: RowWriter,
        warc: WarcWriter,
        loop: AbstractEventLoop,
        on_commit: Callable[[CommitResult], None],
        bodies: StoredBodies | None = None,
    ) -> None:
        super().__init__(engine, loop, "writer")
        self._bodies = bodies
        self._rows = rows
        self._warc = warc
        self._warc.wait_for_space = self._wait_for_space
        self._on_commit = on_commit

    def started(self, entry: FrontierEntry) -> None:
        """Mark a document as being collected."""
        self._work.put(entry.id)

    def finish(self, finished: FinishedDocument) -> Future[None]:
        """Store a document; the future is resolved after the commit."""
        return self._ask(finished)

    def discover(self, found: list[DiscoveredUrl]) -> Future[None]:
        """Store URLs that were not found in a document of the item."""
        return self._ask(found)

    def refill(self, refill: RefillRequest) -> Future[list[FrontierEntry]]:
        """Request the next waiting documents of a server."""
        return self._ask(refill)

    def seek(self) -> Future[bool]:
        """Request servers with waiting documents; the future says whether the item has any work left."""
        return self._ask(LeaseRequest())

    def give_back(self, waits: dict[str, float], yielding: bool = False) -> None:
        """Release servers."""
        self._work.put(LeaseReturn(waits, yielding))

    def close(self) -> None:
        """Write the remaining work, close the WARC file and end."""
        super().close()
        self._warc.close()
        # A file whose rows could not be stored stays open, and is checked when the item is resumed.
        while self.failure is None:
            try:
                with self._storing_files(), self._engine.begin() as connection:
                    self._write_files(connection)
                return
            except SQLAlchemyError as error:
                if not is_database_away(error) or not self._wait_for_database():
                    raise storage_error(error) from error

    def _new_group(self) -> CommitGroup:
        return CommitGroup()

    def _prepare(self, group: CommitGroup) -> None:
        for finished in group.finished:
            self._write_warc(finished)
        self._warc.flush_or_sync()

    def _write_rows(self, connection: Connection, group: CommitGroup, beat: bool) -> CommitResult:
        self._rows.paused_for = self.paused_for
        self._write_files(connection)
        result = self._rows.write(connection, group, beat)
        if self._bodies is not None:
            self._bodies.forget(result.unwritten)
        return result

    @contextmanager
    def _restoring(self) -> Iterator[None]:
        with self._storing_files(), self._rows.restoring():
            yield

    @contextmanager
    def _storing_files(self) -> Iterator[None]:
        """Forget the changes of files once they are committed."""
        yield
        self._warc.opened.clear()
        self._warc.synced = None
        self._warc.closed.clear()

    def _write_files(self, connection: Connection) -> None:
        open_files(connection, self._rows.item_id, self._warc.opened)
        if self._warc.synced is not None:
            store_synced_size(connection, self._rows.item_id, *self._warc.synced)
        register_files(connection, self._rows.item_id, self._warc.closed)

    def _deliver(self, group: CommitGroup, result: CommitResult) -> None:
        self._on_commit(result)
        for (_, refill), entries in zip(group.refills, result.refilled, strict=True):
            resolve_future(refill, entries)
        for seek in group.seeks:
            resolve_future(seek, result.work_left)
        for future in group.futures:
            resolve_future(future, None)

    def _write_warc(self, finished: FinishedDocument) -> None:
        if finished.exchange is None:
            return
        stored = self._store(finished, finished.exchange)
        outcome = finished.outcome
        outcome.digest = stored.digest
        outcome.warc = stored.file
        outcome.warc_offset = stored.offset
        outcome.warc_length = stored.length
        outcome.rendered_offset = stored.rendered_offset
        outcome.refers_to_id = stored.refers_to_id
        outcome.unmodified = finished.exchange.not_modified is not None or None

    def _store(self, finished: FinishedDocument, exchange: Exchange) -> StoredRecord:
        digest = payload_digest(exchange)
        earlier = finished.reusable_capture(digest)
        if earlier is None and self._bodies is not None:
            earlier = self._bodies.find(finished, digest)
        if earlier is None:
            stored = self._warc.write(exchange, finished.rendered, digest)
        else:
            stored = self._warc.write_revisit(exchange, digest, earlier)
        if self._bodies is not None:
            self._bodies.add(finished, stored, earlier)
        return stored
