"""Time budget of a request: work that exceeds it ends with a sentence, and frees its thread and its connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import NamedTuple

from tarantula.core.errors import TarantulaError


class TimeBudget(NamedTuple):
    """Seconds that work may take, and the monotonic time at which they are over."""

    seconds: float
    ends_at: float

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
    """Limit the time of a block, in this thread and in those to which its context is copied; an outer limit holds."""
    outer, wanted = _budget.get(), TimeBudget(seconds, monotonic() + seconds)
    token = _budget.set(wanted if outer is None or wanted.ends_at < outer.ends_at else outer)
    try:
        yield
    finally:
        _budget.reset(token)


def current_budget() -> TimeBudget | None:
    """Return the time budget of the running work, or None."""
    return _budget.get()


def check_time() -> None:
    """Raise `TimeBudgetError` if the time budget is over; loops that take long call it."""
    budget = _budget.get()
    if budget is not None and monotonic() >= budget.ends_at:
        raise TimeBudgetError(budget.seconds)
