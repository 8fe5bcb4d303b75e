"""Dialogs, input fields, and validation errors shown at the field they are about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement

from tarantula.core.errors import TarantulaError
from tarantula.web.components.elements import text_element
from tarantula.web.i18n import _, translate_sentence

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


FormControl = ValidationElement[Any]
FormControls = Mapping[str, FormControl]


class FormErrors:
    """The complaints of a form: below the field that they are about, and otherwise where this was made."""

    def __init__(self, controls: Callable[[], FormControls]) -> None:
        self._controls = controls
        self._rest = text_element("p", "", "m-0 my-1 text-red-900 font-bold whitespace-pre-line break-words")
        self._rest.props('role="alert"')

    @contextmanager
    def told(self) -> Iterator[None]:
        """Show why something could not be done, and go on; what was said before is said no longer."""
        self.clear()
        try:
            yield
        except TarantulaError as error:
            self.show(error)

    def clear(self) -> None:
        """Say nothing."""
        self._rest.text = ""
        for control in self._controls().values():
            control.error = None

    def show(self, error: TarantulaError) -> None:
        """Say what is wrong, and lead to the first place where it is."""
        controls, said = self._controls(), list[FormControl]()
        rest = dict.fromkeys(str(error).split("\n"))
        for place, sentence in error.fields.items():
            control = _nearest(controls, place)
            if control is not None:
                control.error = translate_sentence(sentence)
                _unfold(control)
                said.append(control)
                for line in sentence.split("\n"):
                    rest.pop(line, None)
        self._rest.text = translate_sentence("\n".join(rest))
        if said:
            said[0].run_method("focus")
        elif rest:
            ui.run_javascript(f"getHtmlElement({self._rest.id})?.scrollIntoView({{block: 'nearest'}})")


def _unfold(control: FormControl) -> None:
    """Open what a control is folded away in: what is wrong is to be seen."""
    for around in control.ancestors():
        if isinstance(around, ui.expansion):
            around.open()


def _nearest(controls: FormControls, place: str) -> FormControl | None:
    """Return the control of a place, or of what the place is a part of: fields.0.unit, fields.0, fields."""
    while place:
        if place in controls:
            return controls[place]
        place = place.rpartition(".")[0]
    return None
