"""Basic page elements: style sheet, headings, sections, icon buttons, small tables, links to other sites."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from nicegui import app, ui
from nicegui.elements.mixins.text_element import TextElement

from tarantula import __version__
from tarantula.core.urls import is_web

ui.add_head_html(f'<link rel="stylesheet" href="/static/pages.css?{__version__}">', shared=True)
# The loading bar has no accessible name.
app.config.quasar_config["loadingBar"]["skipHijack"] = True


def text_element(tag: str, text: str, classes: str = "") -> TextElement:
    """Show a text in an HTML element, such as a heading, legend or paragraph."""
    return TextElement(tag=tag, text=text).classes(classes)


def subheading(text: str) -> TextElement:
    """Show the heading of a section."""
    return text_element("h2", text, "text-lg font-bold mt-4 mb-2")


def icon_button(icon: str, label: str) -> ui.button:
    """Show an icon button with an accessible label and a tooltip."""
    button = ui.button(icon=icon).props("flat dense round color=grey-10")
    button.props["aria-label"] = label
    return button.tooltip(label)


@contextmanager
def section(title: str) -> Iterator[None]:
    """Show a section with a heading."""
    with ui.element("section").classes("w-full mb-6"):
        subheading(title)
        yield


class AddressText(str):
    """A text that is an address and shown as a link."""


def small_table(
    label: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Collection[int] = (),
    high: str = "",
) -> None:
    """Show a small table, which scrolls if it is wide or high. Values may come from other sites.

    Columns in *numbers* are right-aligned.
    """
    region = ui.element("div").classes(f"w-full overflow-auto {high}").props('tabindex="0" role="region"')
    region.props["aria-label"] = label
    with region, ui.element("table").classes("few-rows w-full text-left text-sm"):
        with ui.element("thead"), ui.element("tr"):
            for index, heading in enumerate(headings):
                text_element("th", heading, _aligned(index in numbers)).props('scope="col"')
        with ui.element("tbody"):
            for row in rows:
                with ui.element("tr"):
                    for index, value in enumerate(row):
                        _cell(value, index in numbers)


def _cell(value: str, is_number: bool) -> None:
    if not isinstance(value, AddressText):
        text_element("td", value, _aligned(is_number))
        return
    with ui.element("td").classes(_aligned(False)):
        external_link(value)


def external_link(address: str) -> None:
    """Show an address from another site, as a link without referrer if it is a web address."""
    if is_web(address):
        ui.link(address, address, new_tab=True).classes("break-all").props('rel="noopener noreferrer nofollow"')
    else:
        text_element("span", address, "break-all")


def _aligned(is_number: bool) -> str:
    return "pr-4 align-top text-right tabular-nums whitespace-nowrap" if is_number else "pr-4 align-top break-words"
