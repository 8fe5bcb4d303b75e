"""Parts of pages: a stretch under a heading, a few rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from nicegui import ui

from tarantula.core.urls import is_web
from tarantula.web.components.elements_part_style import subheading, text_element


@contextmanager
def section(title: str) -> Iterator[None]:
    """Show a part of a page under a heading."""
    with ui.element("section").classes("w-full mb-6"):
        subheading(title)
        yield


class AddressText(str):
    """A text that is an address, and leads there."""


def small_table(
    label: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Collection[int] = (),
    high: str = "",
) -> None:
    """Show a small table; a wide or a high one is moved by itself. The values may be anybody's words.

    Columns of *numbers* stand one below the other by their last figures.
    """
    around = ui.element("div").classes(f"w-full overflow-auto {high}").props('tabindex="0" role="region"')
    around.props["aria-label"] = label
    with around, ui.element("table").classes("few-rows w-full text-left text-sm"):
        with ui.element("thead"), ui.element("tr"):
            for place, heading in enumerate(headings):
                text_element("th", heading, _aligned(place in numbers)).props('scope="col"')
        with ui.element("tbody"):
            for row in rows:
                with ui.element("tr"):
                    for place, value in enumerate(row):
                        _cell(value, place in numbers)


def _cell(value: str, is_number: bool) -> None:
    if not isinstance(value, AddressText):
        text_element("td", value, _aligned(is_number))
        return
    with ui.element("td").classes(_aligned(False)):
        external_link(value)


def external_link(address: str) -> None:
    """Show an address of anybody's; only one of the web leads there, and does not learn from where."""
    if is_web(address):
        ui.link(address, address, new_tab=True).classes("break-all").props('rel="noopener noreferrer nofollow"')
    else:
        text_element("span", address, "break-all")


def _aligned(is_number: bool) -> str:
    return "pr-4 align-top text-right tabular-nums whitespace-nowrap" if is_number else "pr-4 align-top break-words"
