"""Service calls made in a thread while a page is open, with error messages, confirmations and progress."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.web.i18n import _, language, set_language, translate_sentence
from tarantula.web.layout import show_error

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


async def run_in_thread(
    call: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """Do something that takes a while, and let others be served meanwhile."""
    return await asyncio.to_thread(call, *args, **kwargs)


@contextmanager
def notify_errors() -> Iterator[None]:
    """Show why something could not be done, and go on."""
    try:
        yield
    except TarantulaError as error:
        ui.notify(
            translate_sentence(str(error)),
            color="red-10",
            text_color="white",
            icon="error",
            multi_line=True,
            timeout=10_000,
            close_button="✕",
        )


def notify_done(sentence: str) -> None:
    """Show that something was done."""
    ui.notify(sentence, color="green-10", text_color="white", icon="check")


def show_when_loaded(ask: Callable[[], Result], show: Callable[[Result], None]) -> None:
    """Show something that takes a while to be counted, as soon as it is there."""
    spoken = language()
    with ui.element("div").classes("w-full") as place:
        ui.spinner(size="lg").props["aria-label"] = _("Loading …")

    async def fill() -> None:
        set_language(spoken)
        try:
            found = await run_in_thread(ask)
        except TarantulaError as error:
            place.clear()
            with place:
                show_error(str(error))
            return
        place.clear()
        with place:
            show(found)

    ui.timer(0.01, fill, once=True)


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
