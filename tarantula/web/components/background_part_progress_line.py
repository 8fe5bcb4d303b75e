"""How far something is that takes a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nicegui import ui

PROGRESS_POLL_SECONDS = 0.3
"""Seconds: what is done sooner shows no line at all."""


class ProgressBar:
    """A line that grows while something is done, and is seen only then."""

    def __init__(self, label: str) -> None:
        self._far = 0.0
        self._line = ui.linear_progress(0, show_value=False).classes("my-2")
        self._line.props["aria-label"] = label
        self._line.set_visibility(False)

    @contextmanager
    def shown(self) -> Iterator[Callable[[int, int], None]]:
        """Give what hears how many are done, and of how many; it may be told so in a thread."""
        self._far = 0.0
        looking = ui.timer(PROGRESS_POLL_SECONDS, self._look)
        try:
            yield self._hear
        finally:
            looking.cancel()
            self._line.set_visibility(False)

    def _hear(self, done: int, total: int) -> None:
        self._far = done / max(total, 1)

    def _look(self) -> None:
        if self._far:
            self._line.value = self._far
            self._line.set_visibility(True)
