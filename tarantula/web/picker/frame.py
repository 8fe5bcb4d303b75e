"""The frame that shows a page in the picker and reports which element was selected."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from nicegui.element import Element
from nicegui.events import GenericEventArguments

MAX_PART_LENGTH = 200
"""Maximum length of a selected part of a text."""
MAX_MARKS = 1000


class PickedElement(NamedTuple):
    """A selected element. A hostile page may have sent the message."""

    number: int
    part: str = ""
    """The selected part of its text, if any."""


class PickerFrame(Element, component="picker_frame.js"):
    """Shows a page and reports selected elements."""

    def __init__(self, label: str, on_pick: Callable[[PickedElement], Awaitable[None]]) -> None:
        super().__init__()
        self._props["address"] = ""
        self._props["label"] = label
        self._props["turn"] = 0
        self._props["picked"] = []
        self._props["like"] = []

        async def receive(event: GenericEventArguments) -> None:
            if (picked := read_pick_message(event.args)) is not None:
                await on_pick(picked)

        self.on("pick", receive)

    def show(self, address: str) -> None:
        """Show an address in a new frame, without the state of the previous one."""
        self._props["address"] = address
        self._props["turn"] += 1
        self._props["picked"], self._props["like"] = [], []
        self.update()

    def mark_elements(self, picked: Iterable[int], like: Iterable[int]) -> None:
        """Highlight the selected elements and those like them."""
        self._props["picked"] = list(picked)[:MAX_MARKS]
        self._props["like"] = list(like)[:MAX_MARKS]
        self.update()


def read_pick_message(message: Any) -> PickedElement | None:
    """Return a valid message of the frame, or None."""
    if not isinstance(message, dict):
        return None
    number, part = message.get("number"), message.get("part")
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        return None
    return PickedElement(number, part) if isinstance(part, str) and len(part) <= MAX_PART_LENGTH else None
