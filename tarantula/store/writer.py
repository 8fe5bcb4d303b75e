"""The writer: one thread that stores what a collector learns, a group at a time.

A WARC record is flushed before the transaction that names it; a document and the links that
it names are one transaction.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, Engine

from tarantula.fetch.exchange import Exchange
from tarantula.items import FrontierEntry
from tarantula.store.commit_group import GroupCommitThread, resolve_future
from tarantula.store.commit_group_part_group import (
    CommitGroup,
    CommitResult,
    FinishedDocument,
    LeaseRequest,
    LeaseReturn,
    RefillRequest,
)
from tarantula.store.documents_part_found import DiscoveredUrl
from tarantula.store.warc_records import payload_digest
from tarantula.store.warc_writer import StoredRecord, WarcWriter
from tarantula.store.writer_part_rows import RowWriter


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
