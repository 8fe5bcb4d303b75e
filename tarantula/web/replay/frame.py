"""The frame that shows an archived page in a management page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from nicegui.element import Element
from nicegui.events import GenericEventArguments

MAX_MESSAGE_LENGTH = 2000
"""Maximum length of a message."""


class FrameMessage(NamedTuple):
    """A message of an archived page. A hostile page may have sent it."""

    kind: str
    """One of: place (path of the page shown), leads (target of an external link), key (pressed key)."""
    text: str


class ReplayFrame(Element, component="sealed_frame.js"):
    """Shows an archived page and receives its messages."""

    def __init__(self, label: str, on_message: Callable[[FrameMessage], Awaitable[None]] | None = None) -> None:
        super().__init__()
        self._props["address"] = ""
        self._props["label"] = label
        self._props["turn"] = 0
        self._props["marks"] = []

        async def receive(event: GenericEventArguments) -> None:
            if on_message is not None and (message := read_frame_message(event.args)) is not None:
                await on_message(message)

        self.on("said", receive)

    def show(self, address: str, marks: list[str] | None = None) -> None:
        """Show an address, or nothing, in a new frame without the state of the previous one."""
        self._props["address"] = address
        self._props["turn"] += 1
        self._props["marks"] = marks or []
        self.update()

    def mark_lines(self, texts: list[str]) -> None:
        """Highlight lines of the page."""
        self._props["marks"] = texts
        self.update()


def read_frame_message(message: Any) -> FrameMessage | None:
    """Return a valid message of the frame, or None."""
    if not isinstance(message, dict):
        return None
    kind, text = message.get("kind"), message.get("text")
    if kind not in ("place", "leads", "key") or not isinstance(text, str) or len(text) > MAX_MESSAGE_LENGTH:
        return None
    return FrameMessage(kind, text)
