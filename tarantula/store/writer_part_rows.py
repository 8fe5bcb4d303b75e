"""The rows of a group, in one transaction: documents, links, leases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain

from sqlalchemy import Connection

from tarantula.core.states import COLLECTED_STATES
from tarantula.fetch.politeness import ServerPause
from tarantula.items import FrontierEntry
from tarantula.store.commit_group_part_group import CommitGroup, CommitResult, FinishedDocument, LeasedServer
from tarantula.store.documents import DocumentTable
from tarantula.store.journal import JournalKind, append_to_journal
from tarantula.store.leases import ItemLeases
from tarantula.store.leases_part_server_leases import Lease
from tarantula.store.liveness_part_collectors import HEARTBEAT_TIMEOUT_SECONDS
from tarantula.store.visits_part_visited import VisitSettlement
from tarantula.store.writer_part_shorter_ways import DepthUpdater


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
