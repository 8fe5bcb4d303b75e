"""Dialogs in which something is filled in, and stored or not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from nicegui import ui

from tarantula.web.components.elements_part_style import text_element
from tarantula.web.i18n import _

MIN_TEXT_LINES = 2


@contextmanager
def dialog(title: str) -> Iterator[ui.dialog]:
    """Give a dialog to be filled; it is opened by whoever made it."""
    made = ui.dialog()
    made.props["aria-label"] = title
    with made, ui.card().classes("w-full"):
        text_element("h2", title, "text-lg font-bold m-0")
        yield made


def text_field(label: str, value: str = "", *, fixed: bool = False) -> ui.input:
    """Ask for a line of text."""
    made = ui.input(label, value=value).classes("w-full").props("outlined dense maxlength=100")
    return made.props("readonly") if fixed else made


def password_field(label: str, autocomplete: str = "new-password") -> ui.input:
    """Ask for a password."""
    made = ui.input(label, password=True).classes("w-full").props("outlined dense maxlength=1000")
    made.props["autocomplete"] = autocomplete
    return made


def select_field(label: str, options: dict[str, str], value: str) -> ui.select:
    """Ask for one of a few."""
    return ui.select(options, label=label, value=value).classes("w-full").props("outlined dense")


def text_area(label: str, value: str) -> ui.textarea:
    """Ask for some lines, all of which are seen at first, also where they were folded away: there nothing grows."""
    made = ui.textarea(label, value=value).classes("w-full").props("outlined dense spellcheck=false")
    made.props["rows"] = max(value.count("\n") + 1, MIN_TEXT_LINES)
    return made


def dialog_buttons(shown: ui.dialog, verb: str, act: Callable[[], Awaitable[None]], icon: str = "save") -> None:
    """Show what can be done with a dialog."""
    with ui.row():
        ui.button(verb, icon=icon, on_click=act)
        ui.button(_("Cancel"), on_click=shown.close).props("flat")
