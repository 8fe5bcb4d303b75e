"""One collector at work on one item: frontier, scope, politeness, discovery and writer put together."""

from __future__ import annotations

from asyncio import AbstractEventLoop, get_running_loop, sleep, to_thread
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import sleep as blocking_sleep
from typing import Any

from sqlalchemy import Connection, select, update

from tarantula import __version__
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import DatabaseUnreachableError, TarantulaError
from tarantula.core.reasons import ItemReason, Reason
from tarantula.core.states import DocumentState
from tarantula.core.termination import is_terminating
from tarantula.core.times import SteadyClock
from tarantula.crawl.discovery import Discovery
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import Exchange, RefusedByRule, ResponseHead
from tarantula.fetch.politeness import Politeness
from tarantula.frontier.frontier import Frontier
from tarantula.frontier.queues import WINDOW_SIZE
from tarantula.frontier.strategies import load_strategy
from tarantula.items import CollectedDocument, FrontierEntry
from tarantula.links.link import Link
from tarantula.models import Item
from tarantula.publications.config import PublicationConfig
from tarantula.scope.scope import Scope
from tarantula.store import server_settings
from tarantula.store.captures import NO_KEPT_HEADERS, PreviousCaptures, headers_to_keep, restore_or_forget
from tarantula.store.commit_group import DATABASE_RETRY_SECONDS, CommitResult, FinishedDocument, RefillRequest
from tarantula.store.documents import DocumentOutcome, DocumentTable
from tarantula.store.leases import ItemLeases
from tarantula.store.server_settings import egress_policy
from tarantula.store.visits import VisitProgress, VisitSettlement, VisitTable
from tarantula.store.warc_writer import WarcWriter
from tarantula.store.writer import DepthUpdater, RowWriter, StoredBodies, Writer


class ItemControl:
    """Applies the deadline, stop requests and server settings in the database to a running collection."""

    def __init__(
        self,
        item_id: int,
        deadline: datetime | None,
        leases: ItemLeases,
        scope: Scope,
        politeness: Politeness,
        discovery: Discovery,
        permit: Callable[[PublicationConfig], EgressPolicy],
        config: PublicationConfig,
    ) -> None:
        self._item_id = item_id
        self._deadline = deadline
        self._stop_wanted = False
        self._leases = leases
        self._scope = scope
        self._politeness = politeness
        self._discovery = discovery
        self._permit = permit
        self.egress = permit(config)
        """Which addresses may be connected to."""
        self._known: tuple[Any, ...] = ()
        self._counted: set[str] = set()
        self._clock = SteadyClock()

    @property
    def over(self) -> Reason | None:
        """Reason to end the collection now, if there is one."""
        if self._stop_wanted:
            return Reason.of(ItemReason.STOPPED)
        is_over = self._deadline is not None and self._deadline <= self._clock.now()
        return Reason.of(ItemReason.DEADLINE) if is_over else None

    def read(self, connection: Connection) -> None:
        """Read the deadline, the stop request and the server settings, and apply them."""
        found = connection.execute(
            select(Item.publication_id, Item.configuration, Item.deadline, Item.stop_wanted_at).where(
                Item.id == self._item_id
            )
        ).one()
        self._deadline, self._stop_wanted = found.deadline, found.stop_wanted_at is not None
        settings = server_settings.effective_server_settings(connection, found.publication_id)
        self._count_requests(connection, {name for name, own in settings.items() if own.documents is not None})
        if (found.configuration, settings) == self._known:
            return
        self._known = (found.configuration, settings)
        config = PublicationConfig.model_validate(found.configuration)
        self._scope.adapt(config, settings)
        self._follow_egress(connection, self._permit(config))
        self._politeness.delays = {name: own.delay for name, own in settings.items() if own.delay is not None}
        self._discovery.forget()

    def _follow_egress(self, connection: Connection, policy: EgressPolicy) -> None:
        """Permit the addresses of servers that were accepted meanwhile."""
        if policy != self.egress:
            described = policy.describe().as_data()
            connection.execute(update(Item).where(Item.id == self._item_id).values(egress=described))
            self.egress = policy

    def _count_requests(self, connection: Connection, limited: set[str]) -> None:
        """Count the documents that others requested from newly leased servers with a document limit."""
        held = limited & self._leases.held.keys()
        if new := held - self._counted:
            self._scope.servers.budget.count(server_settings.requested_counts(connection, self._item_id, sorted(new)))
        self._counted = held


IDLE_POLL_SECONDS = 0.5
"""Pause between two searches for work while other collectors hold all of it."""
MAX_IDLE_WAIT = timedelta(minutes=5)
"""A process started by a daemon exits if the next visit is farther away."""


class Collection:
    """State shared by the Scrapy components while an item is collected."""

    def __init__(
        self,
        installation: Config,
        database: Database,
        config: PublicationConfig,
        scope: Scope,
        urn: str,
        item_id: int,
        deadline: datetime | None = None,
        visits: VisitTable | None = None,
        may_leave: bool = False,
    ) -> None:
        self.installation = installation
        self.database = database
        self.config = config
        self.scope = scope
        self.urn = urn
        self.frontier = Frontier(load_strategy(config.strategy), config.per_server, config.delay)
        self.politeness = Politeness(config.delay)
        self.discovery = Discovery(scope, config.keep_refused)
        self._table = DocumentTable(item_id)
        self._leases = ItemLeases(item_id)
        self._item_id = item_id
        self.visits = visits
        """Visits of a refresh item."""
        self._may_leave = may_leave
        self._settlement = VisitSettlement(visits) if visits is not None else None
        self._control = ItemControl(
            item_id,
            deadline,
            self._leases,
            scope,
            self.politeness,
            self.discovery,
            partial(egress_policy, installation),
            config,
        )
        self._writer: Writer | None = None
        self.counts: Counter[str] = Counter()
        """Values of the stats."""
        self.trouble: TarantulaError | None = None
        """The error that stopped the collection."""
        self.interruption: Reason | None = None
        """Why the collection was interrupted."""
        self.is_handed_over = False
        """Whether the item was left to another collector."""

    @property
    def egress(self) -> EgressPolicy:
        """Which addresses may be connected to at present."""
        return self._control.egress

    @property
    def is_drained(self) -> bool:
        """Whether this machine is being emptied: the item continues elsewhere."""
        return self._leases.is_drained

    @property
    def over(self) -> Reason | None:
        """Reason to end the collection now, if there is one."""
        return self._control.over

    @property
    def directory(self) -> Path:
        """Directory of the item's files."""
        return self.installation.items / self.urn

    @property
    def writer(self) -> Writer:
        """The thread that stores documents."""
        assert self._writer is not None, "the collection was not begun"
        return self._writer

    def begin(self, loop: AbstractEventLoop, on_work: Callable[[], None]) -> None:
        """Lease the first servers and start the writer; *on_work* is called when there are new entries."""
        self.database.log_outages()
        self._await_database()
        self._loop = loop
        self._on_work = on_work
        ways = DepthUpdater(self._table, self.discovery.judge_again)
        earlier = PreviousCaptures(self.installation.items, self.config)
        unusual = self.politeness.unusual
        rows = RowWriter(
            self._table, self._leases, ways, WINDOW_SIZE, self._control.read, earlier.attach, unusual, self._settlement
        )
        with self.database.session() as session:
            earlier.load_items(session.connection(), self._item_id)
            news = rows.open_first(session.connection())
            self._control.read(session.connection())
        self._open(news)
        warc = WarcWriter(self.directory / "archive", self.urn, self._warcinfo(), self.installation.warc_size)
        # A later visit of a refresh item may replace the body that another document refers to.
        shares = self.config.keep_once and self.visits is None
        bodies = StoredBodies(self.urn) if shares else None
        self._writer = Writer(self.database.leasing_engine, rows, warc, loop, self._on_commit, bodies)
        self._writer.start()

    def _await_database(self) -> None:
        """Wait for a database that went away since the item was begun: nothing else can be done in the meantime."""
        while True:
            try:
                with self.database.read_connection() as connection:
                    connection.execute(select(1))
                return
            except DatabaseUnreachableError:
                if is_terminating():
                    raise
            blocking_sleep(DATABASE_RETRY_SECONDS)

    def _on_commit(self, news: CommitResult) -> None:
        """Update the frontier with the result of a commit."""
        for server in news.lost:
            self.frontier.close(server)
        for server in news.contested:
            self.frontier.retire(server)
        self.frontier.add(news.waiting)
        for entry in news.nearer:
            self.frontier.nearer(entry)
        self._open(news)
        if news.waiting or news.nearer or news.opened:
            self._on_work()

    def _open(self, news: CommitResult) -> None:
        now = self._loop.time()
        for lease, entries in news.opened:
            # A stream reader visited the server with its own pauses; ours may be longer.
            wait = max(lease.wait, self.politeness.pause(lease.server) - lease.read_ago)
            self.frontier.open(lease.server, now + wait, entries, exhausted=len(entries) < WINDOW_SIZE)

    def tidy(self) -> None:
        """Return the leases of servers without work, and of those that other collectors want."""
        idle = self.frontier.idle(self._loop.time())
        wanted_by_others = {name for name in idle if self.frontier.servers[name].retiring}
        for yielding in (False, True):
            waits = {name: wait for name, wait in idle.items() if (name in wanted_by_others) is yielding}
            if waits:
                self.writer.give_back(waits, yielding)
        for name in idle:
            self.frontier.close(name)

    async def look_for_more(self) -> None:
        """Lease servers that have become free; wait for them if the frontier is empty."""
        if self.frontier.is_empty():
            await self.look_for_work()
        else:
            await self.writer.seek()

    async def look_for_work(self) -> None:
        """Wait until the frontier has work, or no collector of the item has any left."""
        while self.frontier.is_empty() and self.trouble is None and not self.over:
            self.tidy()
            if not await self.writer.seek() or not self.frontier.is_empty() or self._is_long_to_next_visit():
                return
            await sleep(IDLE_POLL_SECONDS)

    @property
    def visit_progress(self) -> VisitProgress | None:
        """Progress of the visits of a refresh item."""
        return self._settlement.progress if self._settlement is not None else None

    def _is_long_to_next_visit(self) -> bool:
        """Whether the process should exit until the next visit; the daemon starts it again."""
        if self._settlement is None or not (self._may_leave and self._settlement.only_future_visits):
            return False
        due = self._settlement.progress.next_due
        return due is not None and due > datetime.now(UTC) + MAX_IDLE_WAIT

    def holds(self, entry: FrontierEntry) -> bool:
        """Whether the server stays reserved until the browser has rendered the page."""
        return self.config.render

    def release(self, entry: FrontierEntry) -> None:
        """End a visit; the server is free again after its pause."""
        pause = self.politeness.pause(entry.server)
        self.frontier.release(entry, get_running_loop().time() + pause)

    async def store(self, document: CollectedDocument) -> None:
        """Store a document and its links; returns after the commit."""
        if document.exchange is not None and document.links:
            body = document.rendered or document.exchange.body
            self.scope.learn_body(document.entry.server, document.entry.url, body)
        found, links = self.discovery.discover(document.entry, document.links)
        entry = document.entry
        await self.writer.finish(
            FinishedDocument(
                _outcome(document),
                depth=entry.depth,
                exchange=document.exchange,
                rendered=document.rendered,
                found=found,
                links=links,
                server=entry.server,
                wait=self.politeness.pause(entry.server),
                earlier=entry.earlier,
            )
        )
        self.frontier.stored(entry)

    async def recall(self, entry: FrontierEntry, answer: Exchange) -> Exchange | None:
        """Return the previous capture after a 304; ``None``, after a pause, if it cannot be read."""
        whole = await to_thread(restore_or_forget, self.installation.items, entry, answer)
        if whole is None:
            await sleep(self.politeness.pause(entry.server))
        return whole

    async def discover(self, via: FrontierEntry, url: str) -> None:
        """Add a URL that no page links to, as if *via* did."""
        found, _ = self.discovery.discover(via, [Link(url)])
        await self.writer.discover(found)

    async def refill(self) -> None:
        """Read the next waiting documents of servers whose window in memory is nearly empty."""
        for queue in self.frontier.wanting_refill():
            entries = await self.writer.refill(RefillRequest(queue.name, frozenset(queue.held), WINDOW_SIZE))
            self.frontier.refill(queue.name, entries, exhausted=len(entries) < WINDOW_SIZE)

    def check_head(self, head: ResponseHead) -> None:
        """Raise `RefusedByRule` if scope refuses a document by its headers, before its body is read."""
        verdict = self.scope.judge_head(head)
        if not verdict.accepted:
            raise RefusedByRule(verdict.state or DocumentState.TYPE_NOT_WANTED, verdict.reason, verdict.rule)

    def end(self) -> None:
        """Store pending documents and stop the writer."""
        if self._writer is not None:
            self._writer.close()

    def join(self, connection: Connection) -> None:
        """Add this process to the collectors of the item, so that no other one ends it."""
        self._leases.join(connection)

    def leave(self, connection: Connection) -> bool:
        """Remove this process from the collectors of the item; return whether it was the last."""
        self._leases.leave(connection)
        return not self.others(connection)

    def others(self, connection: Connection) -> bool:
        """Whether the item has other collectors."""
        return self._leases.has_others(connection)

    def work_left(self, connection: Connection) -> bool:
        """Whether the item has unfinished documents or visits that are not made yet."""
        to_come = self.visits is not None and self.visits.has_unreleased(connection)
        return to_come or self._leases.work_left(connection)

    def _warcinfo(self) -> dict[str, str]:
        return {
            "software": f"Tarântula/{__version__}",
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            "isPartOf": self.urn,
            "description": self.config.description or f"The publication {self.config.name}",
            "operator": self.installation.contact or self.installation.mail,
            "robots": "obeyed" if self.config.robots else "ignored",
        }


def _outcome(document: CollectedDocument) -> DocumentOutcome:
    headers = headers_to_keep(document.exchange) if document.exchange is not None else NO_KEPT_HEADERS
    return DocumentOutcome(
        id=document.entry.id,
        state=document.state,
        rule=document.rule,
        reason=document.why,
        type=document.type,
        size=document.size,
        links=len(document.links),
        # The entry of a document that waits again has the tries made so far.
        tries=document.entry.tries + (document.state != DocumentState.WAITING),
        collected_at=document.collected_at,
        charset=headers.charset,
        encoding=document.encoding,
        etag=headers.etag,
        last_modified=headers.last_modified,
    )
