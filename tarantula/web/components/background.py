"""Service calls made in a thread while a page is open, with error messages, confirmations and progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.web.i18n import _, language, set_language
from tarantula.web.layout import show_error
from tarantula.web.limits import PAGES, run_in_pool

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


async def run_in_thread(
    call: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """Call a blocking function in a thread for open pages, within the time budget of a request."""
    return await run_in_pool(PAGES, call, *args, **kwargs)


@contextmanager
def notify_errors() -> Iterator[None]:
    """Show a `TarantulaError` as a notification instead of raising it."""
    try:
        yield
    except TarantulaError as error:
        ui.notify(
            _(str(error)),
            color="red-10",
            text_color="white",
            icon="error",
            multi_line=True,
            timeout=10_000,
            close_button="✕",
        )


def notify_done(sentence: str) -> None:
    """Show a confirmation."""
    ui.notify(sentence, color="green-10", text_color="white", icon="check")


def show_when_loaded(load: Callable[[], Result], show: Callable[[Result], None]) -> None:
    """Show a spinner, call *load* in a thread, and pass its result to *show*."""
    reader_language = language()
    with ui.element("div").classes("w-full") as container:
        ui.spinner(size="lg").props["aria-label"] = _("Loading …")

    async def fill() -> None:
        set_language(reader_language)
        try:
            found = await run_in_thread(load)
        except TarantulaError as error:
            container.clear()
            with container:
                show_error(str(error))
            return
        container.clear()
        with container:
            show(found)

    ui.timer(0.01, fill, once=True)


PROGRESS_POLL_SECONDS = 0.3
"""Shorter operations show no progress bar."""


class ProgressBar:
    """A progress bar that is visible while an operation runs."""

    def __init__(self, label: str) -> None:
        self._fraction = 0.0
        self._bar = ui.linear_progress(0, show_value=False).classes("my-2")
        self._bar.props["aria-label"] = label
        self._bar.set_visibility(False)

    @contextmanager
    def visible(self) -> Iterator[Callable[[int, int], None]]:
        """Yield a callback for the number of completed and of all steps; it may be called from a thread."""
        self._fraction = 0.0
        timer = ui.timer(PROGRESS_POLL_SECONDS, self._redraw)
        try:
            yield self._update
        finally:
            timer.cancel()
            self._bar.set_visibility(False)

    def _update(self, done: int, total: int) -> None:
        self._fraction = done / max(total, 1)

    def _redraw(self) -> None:
        if self._fraction:
            self._bar.value = self._fraction
            self._bar.set_visibility(True)
