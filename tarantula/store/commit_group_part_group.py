"""What travels between a collector's event loop and its writer."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from tarantula.fetch.exchange import Exchange
from tarantula.items import FrontierEntry, PreviousCapture
from tarantula.store.documents import DocumentOutcome
from tarantula.store.documents_part_found import DiscoveredUrl
from tarantula.store.leases_part_server_leases import Lease


@dataclass(slots=True)
class FinishedDocument:
    """A document that is done with, or to be tried again."""

    outcome: DocumentOutcome
    depth: int = 0
    """The depth from which its links were judged."""
    exchange: Exchange | None = None
    rendered: bytes | None = None
    found: Sequence[DiscoveredUrl] = ()
    links: Mapping[bytes, int] = field(default_factory=dict)
    """The keys of the URLs that it names, with the kinds of the links."""
    server: str = ""
    wait: float = 0.0
    """Seconds for which its server must then be left alone."""
    earlier: PreviousCapture | None = None
    """What an earlier item kept of it, if its body may be left there."""

    def kept_before(self, digest: str) -> PreviousCapture | None:
        """Return the earlier capture whose body has this digest and means the same, if there is one."""
        earlier, outcome = self.earlier, self.outcome
        if earlier is None or self.rendered is not None or digest != earlier.digest:
            return None
        if self.exchange is not None and self.exchange.not_modified is not None:
            return earlier
        if not outcome.size:
            return None
        # The same bytes may be unpacked or read differently now.
        now = (outcome.size, outcome.type, outcome.charset)
        return earlier if now == (earlier.size, earlier.type, earlier.charset) else None


class RefillRequest(NamedTuple):
    """A wish for the next waiting documents of a server."""

    server: str
    held: Set[int]
    limit: int


class LeaseReturn(NamedTuple):
    """Servers to let go of, with the seconds for which each must still be left alone."""

    waits: dict[str, float]
    shy: bool
    """Whether others come first."""


class LeaseRequest(NamedTuple):
    """A wish for servers that have work."""


@dataclass(slots=True)
class CommitGroup:
    """Everything that arrived while the last group was being written."""

    started: list[int] = field(default_factory=list)
    finished: list[FinishedDocument] = field(default_factory=list)
    found: list[DiscoveredUrl] = field(default_factory=list)
    refills: list[tuple[RefillRequest, Future[list[FrontierEntry]]]] = field(default_factory=list)
    given_back: list[LeaseReturn] = field(default_factory=list)
    seeks: list[Future[bool]] = field(default_factory=list)
    futures: list[Future[None]] = field(default_factory=list)
    last: bool = False

    def add(self, work: Any) -> None:
        """Sort a piece of work into its place."""
        match work:
            case int():
                self.started.append(work)
            case LeaseReturn():
                self.given_back.append(work)
            case (FinishedDocument() as finished, future):
                self.finished.append(finished)
                self.futures.append(future)
            case (RefillRequest() as refill, future):
                self.refills.append((refill, future))
            case (LeaseRequest(), future):
                self.seeks.append(future)
            case (found, future):
                self.found.extend(found)
                self.futures.append(future)
            case None:
                self.last = True

    def waiters(self) -> list[Future[Any]]:
        """Return everyone who waits for this group."""
        return [*self.futures, *(future for _, future in self.refills), *self.seeks]


class LeasedServer(NamedTuple):
    """A server that was taken on lease, with the first of its waiting documents."""

    lease: Lease
    entries: list[FrontierEntry]


@dataclass(slots=True)
class CommitResult:
    """What a group brought about."""

    waiting: list[FrontierEntry] = field(default_factory=list)
    """Documents that wait now, at servers that were on lease before."""
    nearer: list[FrontierEntry] = field(default_factory=list)
    """Documents that wait nearer than before."""
    opened: list[LeasedServer] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Servers that others have taken."""
    contested: list[str] = field(default_factory=list)
    """Servers that others wait for, or that are more than a fair share."""
    refilled: list[list[FrontierEntry]] = field(default_factory=list)
    """For each refill that was asked for, in that order."""
    work_left: bool = True
    """Whether some document of the item waits or is under way, anywhere."""

    def entries(self) -> Iterator[FrontierEntry]:
        """Yield every document that may be handed out because of it."""
        return chain(self.waiting, *(opened.entries for opened in self.opened), *self.refilled)
