"""One collector at work on one item: the stages, put together."""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tarantula import __version__
from tarantula.config import Config
from tarantula.db import Database
from tarantula.discovery import Discovery
from tarantula.download.addresses import is_public
from tarantula.download.errors import Refused
from tarantula.download.exchange import Head
from tarantula.download.resolve import look_up
from tarantula.errors import TarantulaError
from tarantula.frontier.frontier import Frontier
from tarantula.frontier.queues import WINDOW
from tarantula.frontier.strategies import strategy
from tarantula.items import CollectedDocument, Entry
from tarantula.links.link import Link
from tarantula.media import media_type
from tarantula.politeness import Politeness
from tarantula.publications.config import PublicationConfig
from tarantula.scope.scope import Scope
from tarantula.states import DocumentState
from tarantula.store.documents import DocumentTable, Outcome
from tarantula.store.warc import WarcWriter
from tarantula.store.writer import Finished, Refill, Writer
from tarantula.urls import host_of

logger = logging.getLogger(__name__)


class Collection:
    """What the Scrapy components share while an item is collected."""

    def __init__(
        self,
        installation: Config,
        database: Database,
        config: PublicationConfig,
        scope: Scope,
        urn: str,
        item_id: int,
        deadline: datetime | None = None,
    ) -> None:
        self.installation = installation
        self.database = database
        self.config = config
        self.scope = scope
        self.urn = urn
        self.deadline = deadline
        self.frontier = Frontier(strategy(config.strategy), config.per_server)
        self.politeness = Politeness(config.delay)
        self.discovery = Discovery(scope, config.keep_refused)
        self._table = DocumentTable(item_id, database.placeholder)
        self._writer: Writer | None = None
        self.trouble: TarantulaError | None = None
        """What stopped the collection, if something went wrong."""
        self.interruption: str | None = None
        """Why it ended before its time, if it did."""

    @property
    def seconds_left(self) -> float | None:
        """How long the item may still be collected, if it has a deadline."""
        return None if self.deadline is None else max((self.deadline - datetime.now(UTC)).total_seconds(), 1.0)

    @property
    def may_visit_private(self) -> bool:
        """Whether the collector may be led to private addresses: not from a public base document, unless it says so."""
        if self.config.allow_private:
            return True
        try:
            addresses = look_up(host_of(self.config.base_server))
        except OSError:
            return False
        return any(not is_public(address) for address in addresses)

    @property
    def directory(self) -> Path:
        """Where the item's bodies are."""
        return self.installation.items / self.urn

    @property
    def writer(self) -> Writer:
        """The thread that stores what is learned."""
        assert self._writer is not None, "the collection was not begun"
        return self._writer

    def begin(self, loop: AbstractEventLoop, on_waiting: Callable[[list[Entry], list[Entry]], None]) -> None:
        """Read what waits, and be ready to store."""
        with self.database.session() as session:
            connection = session.connection()
            self._table.reset_collecting(connection)
            for server, count in self._table.waiting_by_server(connection):
                self.frontier.expect(server, count)
            for queue in self.frontier.wanting_refill():
                entries = self._table.next_waiting(connection, queue.name, set(), WINDOW)
                self.frontier.refill(queue.name, entries, exhausted=len(entries) < WINDOW)
        warc = WarcWriter(self.directory / "archive", self.urn, self._warcinfo(), self.installation.warc_size)
        self._writer = Writer(self.database.engine, self._table, warc, loop, self.discovery.judge_again, on_waiting)
        self._writer.start()

    def release(self, entry: Entry) -> None:
        """Hear that a visit is over; the server is left alone for a while."""
        pause = self.politeness.pause(entry.server)
        self.frontier.release(entry, get_running_loop().time() + pause)

    async def store(self, document: CollectedDocument) -> None:
        """Store a document and the links that it names."""
        found, links = self.discovery.discover(document.entry, document.links)
        await self.writer.finish(
            Finished(_outcome(document), document.entry.depth, document.exchange, document.rendered, found, links)
        )

    async def discover(self, via: Entry, url: str) -> None:
        """Take a URL that no page named, as if *via* had."""
        found, _ = self.discovery.discover(via, [Link(url)])
        await self.writer.discover(found)

    async def refill(self) -> None:
        """Fetch the next waiting documents for servers whose window runs dry."""
        for queue in self.frontier.wanting_refill():
            entries = await self.writer.refill(Refill(queue.name, frozenset(queue.held), WINDOW))
            self.frontier.refill(queue.name, entries, exhausted=len(entries) < WINDOW)

    def check_head(self, head: Head) -> None:
        """Refuse a document by its headers, before its body is read."""
        verdict = self.scope.judge_head(head.url, media_type(head.get(b"content-type")), head.length, head.status)
        if not verdict.accepted:
            raise Refused(verdict.state or DocumentState.TYPE_NOT_WANTED, verdict.reason, verdict.rule)

    def end(self) -> None:
        """Store what is left; what was handed out and not collected waits again."""
        if self._writer is not None:
            self._writer.close()
            if self._writer.failure is None:
                with self.database.session() as session:
                    self._table.reset_collecting(session.connection())

    def _warcinfo(self) -> dict[str, str]:
        return {
            "software": f"Tarântula/{__version__}",
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            "isPartOf": self.urn,
            "description": self.config.description or f"The publication {self.config.name}",
            "operator": self.installation.contact or self.installation.mail,
            "http-header-user-agent": self.installation.user_agent,
            "robots": "obeyed" if self.config.robots else "ignored",
        }


def _outcome(document: CollectedDocument) -> Outcome:
    return Outcome(
        id=document.entry.id,
        state=document.state,
        rule=document.rule,
        reason=document.reason,
        type=document.type,
        size=document.size,
        links=len(document.links),
        tries=document.entry.tries + 1,
        collected_at=document.collected_at,
    )
