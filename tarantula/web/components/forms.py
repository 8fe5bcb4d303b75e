"""Dialogs, input fields, and validation errors shown at the field they are about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
from tarantula.web.components.elements import text_element
from tarantula.web.i18n import _

MIN_TEXT_LINES = 2


@contextmanager
def dialog(title: str) -> Iterator[ui.dialog]:
    """Yield a dialog to fill; the caller opens it."""
    element = ui.dialog()
    element.props["aria-label"] = title
    with element, ui.card().classes("w-full"):
        text_element("h2", title, "text-lg font-bold m-0")
        yield element


def text_field(label: str, value: str = "", *, fixed: bool = False) -> ui.input:
    """Return an input for one line of text."""
    element = ui.input(label, value=value).classes("w-full").props("outlined dense maxlength=100")
    return element.props("readonly") if fixed else element


def password_field(label: str, autocomplete: str = "new-password") -> ui.input:
    """Return an input for a password."""
    element = ui.input(label, password=True).classes("w-full").props("outlined dense maxlength=1000")
    element.props["autocomplete"] = autocomplete
    return element


def select_field(label: str, options: dict[str, str], value: str) -> ui.select:
    """Return a selection of one option."""
    return ui.select(options, label=label, value=value).classes("w-full").props("outlined dense")


def text_area(label: str, value: str) -> ui.textarea:
    """Return a text area that is high enough for its value, since it cannot grow while it is hidden."""
    element = ui.textarea(label, value=value).classes("w-full").props("outlined dense spellcheck=false")
    element.props["rows"] = max(value.count("\n") + 1, MIN_TEXT_LINES)
    return element


def dialog_buttons(target: ui.dialog, verb: str, act: Callable[[], Awaitable[None]], icon: str = "save") -> None:
    """Show the buttons of a dialog: the action and *Cancel*."""
    with ui.row():
        ui.button(verb, icon=icon, on_click=act)
        ui.button(_("Cancel"), on_click=target.close).props("flat")


FormControl = ValidationElement[Any]
FormControls = Mapping[str, FormControl]


class FormErrors:
    """Errors of a form: below their fields, and for all others at the place where this object was created."""

    def __init__(self, controls: Callable[[], FormControls]) -> None:
        self._controls = controls
        self._general = text_element("p", "", "m-0 my-1 text-red-900 font-bold whitespace-pre-line break-words")
        self._general.props('role="alert"')

    @contextmanager
    def capture(self) -> Iterator[None]:
        """Clear the errors, run the block, and show a `TarantulaError` instead of raising it."""
        self.clear()
        try:
            yield
        except TarantulaError as error:
            self.show(error)

    def clear(self) -> None:
        """Remove all errors."""
        self._general.text = ""
        for control in self._controls().values():
            control.error = None

    def show(self, error: TarantulaError) -> None:
        """Show an error at its fields, and move the focus to the first of them."""
        controls, shown_at = self._controls(), list[FormControl]()
        remaining = dict.fromkeys(Message(str(error)).lines())
        for path, sentence in error.fields.items():
            control = _closest_control(controls, path)
            if control is not None:
                control.error = _(sentence)
                _expand_parents(control)
                shown_at.append(control)
                for line in Message(sentence).lines():
                    remaining.pop(line, None)
        self._general.text = "\n".join(map(_, remaining))
        if shown_at:
            shown_at[0].run_method("focus")
        elif remaining:
            ui.run_javascript(f"getHtmlElement({self._general.id})?.scrollIntoView({{block: 'nearest'}})")


def _expand_parents(control: FormControl) -> None:
    """Open the expansions that contain a control, so that its error is visible."""
    for parent in control.ancestors():
        if isinstance(parent, ui.expansion):
            parent.open()


def _closest_control(controls: FormControls, path: str) -> FormControl | None:
    """Return the control of a field path, or of its closest parent: fields.0.unit, fields.0, fields."""
    while path:
        if path in controls:
            return controls[path]
        path = path.rpartition(".")[0]
    return None
