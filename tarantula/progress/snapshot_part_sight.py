"""What is seen of an item at one moment. The same for whoever looks: words are chosen where it is read."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel


class StateCount(BaseModel):
    """How many documents are in a state."""

    state: int
    documents: int


class ServerProgress(BaseModel):
    """A server that is busy, or left alone for a while."""

    server: str
    done: int
    waiting: int
    pause: float
    """Seconds between two visits."""
    backoff: float
    """How many of them because it was in trouble."""
    wait: float
    """Seconds for which it must still be left alone; what is short is not told."""


class RecentDocument(BaseModel):
    """A document that was done with lately."""

    id: int
    url: str
    state: int
    type: str | None
    size: int | None


class SpeedHistory(BaseModel):
    """How many documents were done with in each of the last seconds."""

    last: int
    """Which second the last number is of, since 1970."""
    documents: list[int]


class ItemSnapshot(BaseModel):
    """An item at one moment."""

    urn: str
    state: str
    reason: str | None
    is_alive: bool
    stop_wanted: bool
    started_at: datetime | None
    deadline: datetime | None
    documents: int
    """All that are known of."""
    done: int
    """Those whose turn came."""
    waiting: int
    under_way: int
    refused: int
    """Those that a rule refused before their turn came."""
    bytes: int
    per_second: float
    """Documents, over the last ten seconds."""
    seconds_left: int | None
    """Until nothing waits, if it goes on as in the last minute and nothing more is found; nothing if nobody knows."""
    collectors: int
    states: list[StateCount]
    servers: list[ServerProgress]
    last: list[RecentDocument]
    """The latest first."""
    speed: SpeedHistory
    log: list[str]
