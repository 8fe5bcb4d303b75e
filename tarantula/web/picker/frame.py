"""A frame with a page that somebody points at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from nicegui.element import Element
from nicegui.events import GenericEventArguments

MAX_PART_LENGTH = 200
"""Letters of a part of a text."""
MAX_MARKS = 1000


class PickedElement(NamedTuple):
    """What somebody pointed at; the page may have been told to say so."""

    number: int
    part: str = ""
    """Only this part of its text, if any was marked."""


class PickerFrame(Element, component="picker_frame.js"):
    """Shows a page, and hears which of its elements was chosen."""

    def __init__(self, label: str, on_pick: Callable[[PickedElement], Awaitable[None]]) -> None:
        super().__init__()
        self._props["address"] = ""
        self._props["label"] = label
        self._props["turn"] = 0
        self._props["picked"] = []
        self._props["like"] = []

        async def hear(event: GenericEventArguments) -> None:
            if (pointed := read_pick_message(event.args)) is not None:
                await on_pick(pointed)

        self.on("pick", hear)

    def show(self, address: str) -> None:
        """Show what is at an address, in a new frame that knows nothing of the one before."""
        self._props["address"] = address
        self._props["turn"] += 1
        self._props["picked"], self._props["like"] = [], []
        self.update()

    def mark_elements(self, picked: Iterable[int], like: Iterable[int]) -> None:
        """Mark what was chosen, and what is like it."""
        self._props["picked"] = list(picked)[:MAX_MARKS]
        self._props["like"] = list(like)[:MAX_MARKS]
        self.update()


def read_pick_message(said: Any) -> PickedElement | None:
    """Return what a frame said, if it has the form of something that can be said."""
    if not isinstance(said, dict):
        return None
    number, part = said.get("number"), said.get("part")
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        return None
    return PickedElement(number, part) if isinstance(part, str) and len(part) <= MAX_PART_LENGTH else None
