"""Time budget of a request: work that exceeds it ends with a sentence, and frees its thread and its connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic

from tarantula.core.errors import TarantulaError


@dataclass(slots=True)
class TimeBudget:
    """Seconds that work may take, and the monotonic time at which they are over."""

    seconds: float
    ends_at: float
    is_active: bool = True
    """Tasks that were started in the block live on with its context, but not with its limit."""

    @property
    def left(self) -> float:
        """Seconds that are left; not below zero."""
        return max(self.ends_at - monotonic(), 0.0)


class TimeBudgetError(TarantulaError):
    """A request took longer than it may."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            "This takes longer than {seconds:g} seconds, which is the limit. "
            "Ask for less, such as a shorter period or a simpler expression, or try again later.",
            seconds=seconds,
        )


_budget: ContextVar[TimeBudget | None] = ContextVar("time_budget", default=None)


@contextmanager
def time_budget(seconds: float) -> Iterator[None]:
    """Limit the time of a block, in this thread and in those to which its context is copied."""
    budget = TimeBudget(seconds, monotonic() + seconds)
    token = _budget.set(budget)
    try:
        yield
    finally:
        budget.is_active = False
        _budget.reset(token)


def lift_time_budget() -> None:
    """Let the running work take as long as it needs: what has begun to change something is not ended in the middle."""
    _budget.set(None)


def current_budget() -> TimeBudget | None:
    """Return the time budget of the running work, or None."""
    budget = _budget.get()
    return budget if budget is not None and budget.is_active else None


def check_time() -> None:
    """Raise `TimeBudgetError` if the time budget is over; loops that take long call it."""
    budget = current_budget()
    if budget is not None and not budget.left:
        raise TimeBudgetError(budget.seconds)
