"""Parts that several pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from nicegui import ui

from tarantula.web.words import _


def facts(rows: Iterable[tuple[str, str]]) -> None:
    """Show names and values; the values may be anybody's words."""
    with ui.element("dl").classes("w-full grid grid-cols-[minmax(7rem,auto)_1fr] gap-x-4 gap-y-1 text-sm"):
        for name, value in rows:
            with ui.element("dt").classes("font-medium"):
                ui.label(name)
            with ui.element("dd").classes("min-w-0"):
                ui.label(value).classes("break-all whitespace-pre-wrap")


@contextmanager
def section(title: str) -> Iterator[None]:
    """Show a part of a page under a heading."""
    with ui.element("section").classes("w-full mb-6"):
        ui.label(title).props('role="heading" aria-level="2"').classes("text-h6 mb-1")
        yield


def rows_of(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Show a small table; a wide one is moved sideways by itself."""
    with (
        ui.element("div").classes("w-full overflow-x-auto").props('tabindex="0"'),
        ui.element("table").classes("w-full text-left text-sm"),
    ):
        with ui.element("thead"), ui.element("tr"):
            for heading in headings:
                with ui.element("th").classes("pr-4 align-top").props('scope="col"'):
                    ui.label(heading)
        with ui.element("tbody"):
            for row in rows:
                with ui.element("tr"):
                    for value in row:
                        with ui.element("td").classes("pr-4 align-top"):
                            ui.label(value).classes("break-words")


def when(moment: datetime | None) -> str:
    """Return a moment for a reader."""
    return moment.strftime("%Y-%m-%d %H:%M UTC") if moment is not None else _("never")
