"""A frame with an archived page in a page of ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from nicegui.element import Element
from nicegui.events import GenericEventArguments

MAX_MESSAGE_LENGTH = 2000
"""Letters of what a frame says."""


class FrameMessage(NamedTuple):
    """What an archived page said; it may have been told to say so."""

    kind: str
    """The place that is shown, where a link leads that is not of the item, or a key that was pressed."""
    text: str


class ReplayFrame(Element, component="sealed_frame.js"):
    """Shows an archived page, and hears what it says."""

    def __init__(self, label: str, on_said: Callable[[FrameMessage], Awaitable[None]] | None = None) -> None:
        super().__init__()
        self._props["address"] = ""
        self._props["label"] = label
        self._props["turn"] = 0
        self._props["marks"] = []

        async def hear(event: GenericEventArguments) -> None:
            if on_said is not None and (said := read_frame_message(event.args)) is not None:
                await on_said(said)

        self.on("said", hear)

    def show(self, address: str, marks: list[str] | None = None) -> None:
        """Show what is at an address, or nothing, in a new frame that knows nothing of the one before."""
        self._props["address"] = address
        self._props["turn"] += 1
        self._props["marks"] = marks or []
        self.update()

    def mark_lines(self, texts: list[str]) -> None:
        """Mark these lines of what is shown."""
        self._props["marks"] = texts
        self.update()


def read_frame_message(said: Any) -> FrameMessage | None:
    """Return what a frame said, if it has the form of something that can be said."""
    if not isinstance(said, dict):
        return None
    kind, text = said.get("kind"), said.get("text")
    if kind not in ("place", "leads", "key") or not isinstance(text, str) or len(text) > MAX_MESSAGE_LENGTH:
        return None
    return FrameMessage(kind, text)
