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
from tarantula.items import Entry
from tarantula.store.commit_group import GroupThread, settle
from tarantula.store.commit_group_part_group import Finished, GiveBack, Group, News, Refill, Seek
from tarantula.store.documents_part_found import Found
from tarantula.store.warc_records import payload_digest
from tarantula.store.warc_writer import Stored, WarcWriter
from tarantula.store.writer_part_rows import RowWriter


class Writer(GroupThread[Group, News]):
    """Takes work from the event loop, and answers there."""

    def __init__(
        self,
        engine: Engine,
        rows: RowWriter,
        warc: WarcWriter,
        loop: AbstractEventLoop,
        listen: Callable[[News], None],
    ) -> None:
        super().__init__(engine, loop, "writer")
        self._rows = rows
        self._warc = warc
        self._listen = listen

    def started(self, entry: Entry) -> None:
        """Note that a document is being collected."""
        self._work.put(entry.id)

    def finish(self, finished: Finished) -> Future[None]:
        """Store a document; the future is done when it is committed."""
        return self._ask(finished)

    def discover(self, found: list[Found]) -> Future[None]:
        """Store URLs that no document of the item names."""
        return self._ask(found)

    def refill(self, refill: Refill) -> Future[list[Entry]]:
        """Ask for the next waiting documents of a server."""
        return self._ask(refill)

    def seek(self) -> Future[bool]:
        """Ask for servers that have work; the future says whether the item has any left, anywhere."""
        return self._ask(Seek())

    def give_back(self, waits: dict[str, float], shy: bool = False) -> None:
        """Let go of servers."""
        self._work.put(GiveBack(waits, shy))

    def close(self) -> None:
        """Write what is left, and end."""
        super().close()
        self._warc.close()

    def _new_group(self) -> Group:
        return Group()

    def _prepare(self, group: Group) -> None:
        for finished in group.finished:
            self._keep_bytes(finished)
        self._warc.flush()

    def _write_rows(self, connection: Connection, group: Group, beat: bool) -> News:
        return self._rows.write(connection, group, beat)

    def _undoing(self) -> AbstractContextManager[None]:
        return self._rows.undoing()

    def _deliver(self, group: Group, news: News) -> None:
        self._listen(news)
        for (_, refill), entries in zip(group.refills, news.refilled, strict=True):
            settle(refill, entries)
        for seek in group.seeks:
            settle(seek, news.work_left)
        for future in group.futures:
            settle(future, None)

    def _keep_bytes(self, finished: Finished) -> None:
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

    def _store(self, finished: Finished, exchange: Exchange) -> Stored:
        digest = payload_digest(exchange)
        earlier = finished.kept_before(digest)
        if earlier is None:
            return self._warc.write(exchange, finished.rendered, digest)
        return self._warc.write_revisit(exchange, digest, earlier)
