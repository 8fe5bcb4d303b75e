"""Basic page elements: style sheet, headings, sections, icon buttons, small tables, links to other sites."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from nicegui import app, ui
from nicegui.elements.mixins.text_element import TextElement

from tarantula.core.urls import is_web

CSS = """
:focus-visible { outline: 3px solid #1d4ed8 !important; outline-offset: 2px; }
.help { color: #475569; font-size: 0.8rem; line-height: 1.25; overflow-wrap: anywhere; }
.listing td, .listing th { white-space: normal !important; overflow-wrap: anywhere; }
.listing th { font-weight: 700; white-space: nowrap !important; }
main .nicegui-link { color: #1d4ed8; }
.listing a { color: #1d4ed8; text-decoration: underline; }
.q-field__messages, .q-field--error .q-field__messages { overflow-wrap: anywhere; color: #991b1b; }
.few-rows thead th { position: sticky; top: 0; background: #fff; }
.few-rows tbody tr { border-top: 1px solid #e2e8f0; }
.few-rows th, .few-rows td { padding-top: 0.15rem; padding-bottom: 0.15rem; }
.few-rows th:last-child, .few-rows td:last-child { padding-right: 0; }
.leaflet-tooltip.net-label { background: none; border: 0; box-shadow: none; color: #475569; font-size: 0.7rem; }
.q-tooltip--style { background: #334155; color: #fff; font-size: 0.8rem; }
.q-field--with-bottom { padding-bottom: 0; }
.q-field__bottom--animated { position: static; transform: none; }
.nicegui-echart { min-width: 0; max-width: 100%; overflow: hidden; }
/* Not none at all: Quasar waits for the end of them. */
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after { transition-duration: 1ms !important; transition-delay: 0s !important; }
}
@media (max-width: 599px) {
  .listing thead { position: absolute; display: block; clip-path: inset(50%);
                   width: 1px; height: 1px; overflow: hidden; }
  .listing tbody tr { display: block; border-bottom: 2px solid #cbd5e1; padding: 0.5rem 0; }
  .listing tbody td { display: flex; gap: 0.75rem; height: auto !important; border: 0 !important;
                      padding: 0.15rem 0.5rem !important; text-align: left !important; }
  .listing tbody td::before { content: attr(data-label); flex: 0 0 7.5rem; color: #475569; font-weight: 600;
                              position: static !important; background: none !important; opacity: 1 !important; }
}
"""

ui.add_css(CSS, shared=True)
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
