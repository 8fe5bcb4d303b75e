"""Progress of a collection as a table in the terminal, or as a line in a log."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic
from typing import NamedTuple, Protocol

from rich.console import Group, RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from tarantula.core.states import DocumentState, state_meaning
from tarantula.core.times import format_duration
from tarantula.items import CollectedDocument
from tarantula.store.visits import VisitProgress

SPEED_WINDOW_SECONDS = 10.0
"""Period over which the speed is measured."""
BUSIEST_SERVERS = 5


class _Tick(NamedTuple):
    at: float
    documents: int


class FrontierCounts(Protocol):
    """Counts of the frontier that the display shows."""

    waiting: int
    in_flight: int

    def waiting_at(self, server: str) -> int:
        """Return the number of documents that wait at a server."""


class TerminalProgress:
    """Counts stored documents and renders the progress."""

    def __init__(
        self,
        urn: str,
        frontier: FrontierCounts,
        visit_progress: Callable[[], VisitProgress | None] = lambda: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._urn = urn
        self._frontier = frontier
        self._visit_progress = visit_progress
        self._clock = clock
        self._began = clock()
        self._ticks: deque[_Tick] = deque([_Tick(self._began, 0)])
        self._states: Counter[int] = Counter()
        self._servers: Counter[str] = Counter()
        self.done = 0
        self.bytes = 0

    def stored(self, document: CollectedDocument) -> None:
        """Count a document, unless it will be retried."""
        if document.state == DocumentState.WAITING:
            return
        self.done += 1
        self._states[document.state] += 1
        self._servers[document.entry.server] += 1
        if document.exchange is not None:
            self.bytes += document.size or 0

    def count(self, states: dict[int, int], servers: dict[str, int], size: int) -> None:
        """Set the counts, from another source."""
        self._states, self._servers = Counter(states), Counter(servers)
        self.done, self.bytes = self._states.total(), size

    def speed(self) -> float:
        """Return the documents a second over the last `SPEED_WINDOW_SECONDS`."""
        now = self._clock()
        self._ticks.append(_Tick(now, self.done))
        # One older tick stays, so that rare calls measure the whole time since the last one.
        while len(self._ticks) > 2 and self._ticks[1].at <= now - SPEED_WINDOW_SECONDS:
            self._ticks.popleft()
        first = self._ticks[0]
        return (self.done - first.documents) / max(now - first.at, 0.001) if now > first.at else 0.0

    def line(self) -> str:
        """Return the progress as one line, for a log or a pipe."""
        return (
            f"{self._urn}: {self.done} {'document' if self.done == 1 else 'documents'} done, "
            f"{self._frontier.waiting} waiting, "
            f"{self._frontier.in_flight} in progress, {self.speed():.1f} documents/s, {decimal(self.bytes)}"
            f"{self._visits()}"
        )

    def table(self) -> RenderableType:
        """Return the progress as a table, for a terminal."""
        elapsed = int(self._clock() - self._began)
        head = Text.assemble(
            (self._urn, "bold"),
            f"  {elapsed // 3600}:{elapsed // 60 % 60:02}:{elapsed % 60:02}  ",
            (f"{self.done:,}", "bold green"), " done  ",
            (f"{self._frontier.waiting:,}", "bold yellow"), " waiting  ",
            (f"{self.speed():.1f}", "bold cyan"), " documents/s  ",
            (decimal(self.bytes), "bold"),
            self._visits().replace(", ", "  "),
        )  # fmt: skip
        tables = Table.grid(padding=(0, 4))
        tables.add_row(self._state_table(), self._server_table())
        return Group(head, tables)

    def _visits(self) -> str:
        """Return the progress of the visits of a refresh item as text."""
        visit_progress = self._visit_progress()
        if visit_progress is None:
            return ""
        text = f", {visit_progress.made:,} of {visit_progress.planned:,} visits made"
        if visit_progress.next_due is None:
            return text
        seconds = int((visit_progress.next_due - datetime.now(UTC)).total_seconds())
        return f"{text}, next in {format_duration(seconds)}" if seconds > 0 else f"{text}, next now"

    def _state_table(self) -> Table:
        table = Table("state", "meaning", "documents", box=None, header_style="dim")
        table.columns[2].justify = "right"
        for state, number in self._states.most_common(8):
            table.add_row(str(state), state_meaning(state), f"{number:,}")
        return table

    def _server_table(self) -> Table:
        table = Table("busiest servers", "done", "waiting", box=None, header_style="dim")
        for column in table.columns[1:]:
            column.justify = "right"
        for server, number in self._servers.most_common(BUSIEST_SERVERS):
            table.add_row(server, f"{number:,}", f"{self._frontier.waiting_at(server):,}")
        return table
