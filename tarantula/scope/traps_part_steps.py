"""How many steps of a kind led to a page, one after the other."""

from __future__ import annotations

REMEMBERED_PAGES = 50_000
"""Pages; when there are more, all but the last are forgotten."""


class StepCounter:
    """Remembers pages that were reached by steps of a kind, and by how many."""

    def __init__(self, size: int = REMEMBERED_PAGES) -> None:
        self._size = size
        self._steps: dict[int, int] = {}

    def take(self, via: str, url: str) -> int:
        """Go one such step from *via* to *url*; return how many that are in a row."""
        steps = self._steps.get(hash(via), 0) + 1
        if len(self._steps) >= self._size:
            self._steps.clear()
        self._steps[hash(url)] = steps
        return steps
