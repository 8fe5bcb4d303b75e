"""Group-committing writer of a collector: one thread that writes bodies to WARC, then rows to SQL.

A WARC record is flushed before the transaction that names it. A document and the links in it are one transaction.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import chain

from sqlalchemy import Connection, Engine

from tarantula.core.states import COLLECTED_STATES, is_final
from tarantula.fetch.exchange import Exchange
from tarantula.fetch.politeness import ServerPause
from tarantula.items import FrontierEntry
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
from tarantula.store.documents import DiscoveredUrl, DocumentTable, InsertedUrls
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.leases import ItemLeases, Lease
from tarantula.store.liveness import HEARTBEAT_TIMEOUT_SECONDS
from tarantula.store.visits import VisitSettlement
from tarantula.store.warc_records import payload_digest
from tarantula.store.warc_writer import StoredRecord, WarcWriter

JudgeLinks = Callable[[FrontierEntry, list[Link]], list[DiscoveredUrl]]


class DepthUpdater:
    """Follows what becomes nearer."""

    def __init__(self, table: DocumentTable, judge: JudgeLinks) -> None:
        self._table = table
        self._judge = judge
        self._nearer: dict[int, FrontierEntry] = {}

    def follow(
        self, connection: Connection, lowered: list[tuple[FrontierEntry, int]]
    ) -> tuple[list[FrontierEntry], list[FrontierEntry]]:
        """Take documents that came nearer, with their states; return what waits because of it, and what is nearer."""
        waiting: list[FrontierEntry] = []
        nearer: list[FrontierEntry] = []
        while lowered:
            pending = [entry for entry, state in lowered if not is_final(state)]
            self._nearer.update((entry.id, entry) for entry in pending)
            nearer += pending
            more, lowered = self._again(connection, [entry for entry, state in lowered if is_final(state)])
            waiting += more
        return waiting, nearer

    def missed(self, connection: Connection, finished: Iterable[tuple[int, int]]) -> InsertedUrls:
        """Judge again the links of documents (with the depth that was believed) that came nearer while under way."""
        late = []
        for identity, believed in finished:
            entry = self._nearer.get(identity)
            if entry is not None and entry.depth < believed:
                late.append(entry)
        return self._again(connection, late)

    def _again(self, connection: Connection, entries: list[FrontierEntry]) -> InsertedUrls:
        found: list[DiscoveredUrl] = []
        for entry in entries:
            found += self._judge(entry, self._table.links_of(connection, entry.id))
        return self._table.insert_found(connection, found)


class RowWriter:
    """Knows in which order a group's rows must be written."""

    def __init__(
        self,
        table: DocumentTable,
        leases: ItemLeases,
        ways: DepthUpdater,
        window: int,
        reread: Callable[[Connection], None] = lambda _: None,
        recall: Callable[[Connection, Iterable[FrontierEntry]], None] = lambda _connection, _entries: None,
        unusual: Callable[[str], ServerPause | None] = lambda _server: None,
        visited: VisitSettlement | None = None,
    ) -> None:
        self._table = table
        self._leases = leases
        self._ways = ways
        self._window = window
        self._reread = reread
        self._recall = recall
        self._unusual = unusual
        self._visited = visited

    @contextmanager
    def undoing(self) -> Iterator[None]:
        """Forget what was learned in a transaction that failed."""
        held, noted = dict(self._leases.held), self._leases.noted
        try:
            yield
        except BaseException:
            self._leases.held, self._leases.noted = held, noted
            self._table.forget_servers()
            raise

    def write(self, connection: Connection, group: CommitGroup, beat: bool) -> CommitResult:
        """Write a group; return what it brought about."""
        news = CommitResult()
        if beat:
            news.lost = self._leases.beat(connection)
            news.contested = self._leases.contested(connection) + self._leases.surplus(connection)
            self._leases.note_pauses(connection, self._unusual)
        # Before what the group brings: the frontier has not heard yet that its documents are done with.
        released = self._release(connection)
        waiting = released + self._write_documents(connection, group, news)
        self._leases.note_visits(connection, _long_waits(group))
        for given_back in group.given_back:
            self._leases.give_back(connection, given_back.waits, given_back.shy)
        news.waiting = [entry for entry in waiting if entry.server in self._leases.held]
        self._take_new(connection, waiting, news)
        if group.seeks:
            self._open(connection, self._leases.seek(connection), news)
            news.work_left = self.work_left(connection)
        news.refilled = [
            self._table.next_waiting(connection, refill.server, refill.held, refill.limit)
            for refill, _ in group.refills
        ]
        if beat or news.opened or news.refilled:
            # Behind the rows: who sees a row that was let in meanwhile also sees what let it in.
            self._reread(connection)
        self._recall(connection, news.entries())
        return news

    def work_left(self, connection: Connection) -> bool:
        """Whether something of the item is still to be done, by anybody."""
        waits = self._leases.work_left(connection)
        return waits if self._visited is None else self._visited.work_left(connection, waits)

    def open_first(self, connection: Connection) -> CommitResult:
        """Take the first servers."""
        news = CommitResult()
        # Whoever took long to get here may have been taken for dead.
        self._leases.beat(connection)
        self._open(connection, self._leases.seek(connection), news)
        self._recall(connection, news.entries())
        return news

    def _write_documents(self, connection: Connection, group: CommitGroup, news: CommitResult) -> list[FrontierEntry]:
        """Write what became of documents and what they name; return what waits because of it."""
        done = {finished.outcome.id: finished.depth for finished in group.finished}
        self._table.mark_collecting(connection, [identity for identity in group.started if identity not in done])
        self._finish(connection, group.finished)
        found = list(chain(group.found, *(finished.found for finished in group.finished)))
        waiting, nearer = self._table.insert_found(connection, found)
        late, also_nearer = self._ways.missed(connection, done.items())
        more, news.nearer = self._ways.follow(connection, nearer + also_nearer)
        return waiting + late + more

    def _release(self, connection: Connection) -> list[FrontierEntry]:
        """Let documents wait whose visits are due, at servers of which no other collector would have to hear of it."""
        if self._visited is None:
            return []
        return self._visited.release(connection, lambda: self._leases.are_of_others(connection))

    def _finish(self, connection: Connection, finished: list[FinishedDocument]) -> None:
        links = {one.outcome.id: one.links for one in finished if one.links}
        outcomes = [one.outcome for one in finished]
        if self._visited is not None and finished:
            outcomes = self._visited.settle(connection, finished)
            # What a document named before, it may not name any more.
            links |= {one.outcome.id: {} for one in finished if one.exchange is not None and not one.links}
        self._table.insert_links(connection, links)
        self._table.finish(connection, outcomes)
        # Of a page that is visited again it is told as well that it is gone.
        told = [one.id for one in outcomes if one.state in COLLECTED_STATES or self._visited is not None]
        if told:
            append_to_journal(connection, JournalKind.COLLECTED, self._table.item_id, told)

    def _take_new(self, connection: Connection, waiting: list[FrontierEntry], news: CommitResult) -> None:
        """Take the servers of which documents now wait, if nobody has them."""
        new = {entry.server for entry in chain(waiting, news.nearer)} - self._leases.held.keys()
        if new:
            self._open(connection, self._leases.take(connection, self._table.server_ids(connection, new)), news)

    def _open(self, connection: Connection, leases: list[Lease], news: CommitResult) -> None:
        for lease in leases:
            entries = self._table.next_waiting(connection, lease.server, frozenset(), self._window)
            news.opened.append(LeasedServer(lease, entries))


def _long_waits(group: CommitGroup) -> dict[str, float]:
    # Shorter ones are over before anybody could take over from a collector that died.
    return {finished.server: finished.wait for finished in group.finished if finished.wait > HEARTBEAT_TIMEOUT_SECONDS}


class Writer(GroupCommitThread[CommitGroup, CommitResult]):
    """Takes work from the event loop, and answers there."""

    def __init__(
        self,
        engine: Engine,
        rows: RowWriter,
        warc: WarcWriter,
        loop: AbstractEventLoop,
        listen: Callable[[CommitResult], None],
    ) -> None:
        super().__init__(engine, loop, "writer")
        self._rows = rows
        self._warc = warc
        self._listen = listen

    def started(self, entry: FrontierEntry) -> None:
        """Note that a document is being collected."""
        self._work.put(entry.id)

    def finish(self, finished: FinishedDocument) -> Future[None]:
        """Store a document; the future is done when it is committed."""
        return self._ask(finished)

    def discover(self, found: list[DiscoveredUrl]) -> Future[None]:
        """Store URLs that no document of the item names."""
        return self._ask(found)

    def refill(self, refill: RefillRequest) -> Future[list[FrontierEntry]]:
        """Ask for the next waiting documents of a server."""
        return self._ask(refill)

    def seek(self) -> Future[bool]:
        """Ask for servers that have work; the future says whether the item has any left, anywhere."""
        return self._ask(LeaseRequest())

    def give_back(self, waits: dict[str, float], shy: bool = False) -> None:
        """Let go of servers."""
        self._work.put(LeaseReturn(waits, shy))

    def close(self) -> None:
        """Write what is left, and end."""
        super().close()
        self._warc.close()

    def _new_group(self) -> CommitGroup:
        return CommitGroup()

    def _prepare(self, group: CommitGroup) -> None:
        for finished in group.finished:
            self._keep_bytes(finished)
        self._warc.flush()

    def _write_rows(self, connection: Connection, group: CommitGroup, beat: bool) -> CommitResult:
        return self._rows.write(connection, group, beat)

    def _undoing(self) -> AbstractContextManager[None]:
        return self._rows.undoing()

    def _deliver(self, group: CommitGroup, news: CommitResult) -> None:
        self._listen(news)
        for (_, refill), entries in zip(group.refills, news.refilled, strict=True):
            resolve_future(refill, entries)
        for seek in group.seeks:
            resolve_future(seek, news.work_left)
        for future in group.futures:
            resolve_future(future, None)

    def _keep_bytes(self, finished: FinishedDocument) -> None:
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
        earlier = finished.kept_before(digest)
        if earlier is None:
            return self._warc.write(exchange, finished.rendered, digest)
        return self._warc.write_revisit(exchange, digest, earlier)
