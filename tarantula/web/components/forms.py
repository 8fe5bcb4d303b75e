"""Dialogs, input fields and their errors, labels of choices, and the form of a recipient."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
from tarantula.publications.notifications import SERVICES, make_address
from tarantula.streams.kinds import Aggregation, ValueKind
from tarantula.streams.views.config import DAY, HOUR, MINUTE, ViewKind, ViewOperator, WindowFunction
from tarantula.web.components.background import run_in_thread
from tarantula.web.components.elements import text_element
from tarantula.web.i18n import _, language, mark, set_language

MIN_TEXT_LINES = 2
SEPARATOR = "; "


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


VIEW_KIND_LABELS: Mapping[ViewKind, str] = {
    ViewKind.TEXT: mark("Text"),
    ViewKind.ONE_LINE: mark("One line"),
    ViewKind.TABLE: mark("Table"),
    ViewKind.LINE: mark("Line chart"),
    ViewKind.AREA: mark("Area chart"),
    ViewKind.BAR: mark("Bar chart"),
    ViewKind.PIE: mark("Pie chart"),
    ViewKind.GAUGE: mark("Gauge"),
    ViewKind.SCATTER: mark("Scatter plot"),
    ViewKind.TREEMAP: mark("Treemap"),
    ViewKind.TAG_CLOUD: mark("Tag cloud"),
    ViewKind.MAP: mark("Map"),
    ViewKind.NETWORK: mark("Network"),
}
VIEW_KIND_ICONS: Mapping[ViewKind, str] = {
    ViewKind.TEXT: "notes",
    ViewKind.ONE_LINE: "short_text",
    ViewKind.TABLE: "table_rows",
    ViewKind.LINE: "show_chart",
    ViewKind.AREA: "area_chart",
    ViewKind.BAR: "bar_chart",
    ViewKind.PIE: "pie_chart",
    ViewKind.GAUGE: "speed",
    ViewKind.SCATTER: "scatter_plot",
    ViewKind.TREEMAP: "dashboard",
    ViewKind.TAG_CLOUD: "cloud",
    ViewKind.MAP: "place",
    ViewKind.NETWORK: "hub",
}
FUNCTION_LABELS: Mapping[WindowFunction, str] = {
    WindowFunction.LAST: mark("the last value"),
    WindowFunction.FIRST: mark("the first value of the window"),
    WindowFunction.COUNT: mark("the number of values"),
    WindowFunction.SUM: mark("their sum"),
    WindowFunction.MEAN: mark("their mean"),
    WindowFunction.MINIMUM: mark("the smallest"),
    WindowFunction.MAXIMUM: mark("the largest"),
    WindowFunction.CHANGE: mark("the change from first to last"),
}
OPERATOR_LABELS: Mapping[ViewOperator, str] = {
    **{operator: operator.value for operator in ViewOperator},
    ViewOperator.CONTAINS: mark("contains"),
    ViewOperator.CONTAINS_NOT: mark("does not contain"),
}
WINDOW_LABELS: Mapping[float, str] = {
    5 * MINUTE: mark("5 minutes"),
    HOUR: mark("1 hour"),
    6 * HOUR: mark("6 hours"),
    DAY: mark("1 day"),
    7 * DAY: mark("1 week"),
    30 * DAY: mark("30 days"),
    365 * DAY: mark("1 year"),
    3650 * DAY: mark("10 years"),
}


VALUE_KIND_LABELS: Mapping[ValueKind, str] = {
    ValueKind.INTEGER: mark("whole number"),
    ValueKind.DECIMAL: mark("number"),
    ValueKind.PERCENTAGE: mark("percentage"),
    ValueKind.MONEY: mark("money"),
    ValueKind.QUANTITY: mark("quantity"),
    ValueKind.MOMENT: mark("date or time"),
    ValueKind.DURATION: mark("duration"),
    ValueKind.URL: mark("address"),
    ValueKind.TEXT: mark("text"),
}
AGGREGATION_LABELS: Mapping[Aggregation, str] = {
    Aggregation.AVERAGE: mark("average"),
    Aggregation.SUM: mark("sum"),
    Aggregation.MINIMUM: mark("smallest"),
    Aggregation.MAXIMUM: mark("largest"),
    Aggregation.FIRST: mark("first"),
    Aggregation.LAST: mark("last"),
    Aggregation.MODE: mark("most frequent"),
    Aggregation.COUNT: mark("count"),
}


def recipient_button(target: Any) -> None:
    """Show a button that opens the form of a service; *target* is the input that gets the address."""
    ui.button(_("Add a recipient"), icon="person_add", on_click=lambda: RecipientForm(target).open()).props(
        "flat dense"
    )


class RecipientForm:
    """Dialog with the fields of a service."""

    def __init__(self, target: Any) -> None:
        self._target, self._language = target, language()
        self._lines: dict[str, ui.input] = {}
        with target.parent_slot, dialog(_("Add a recipient")) as self._dialog:
            services = {name: _(service.label) for name, service in SERVICES.items()}
            self._service = select_field(_("Service"), services, next(iter(services)))
            self._service.on_value_change(self._draw)
            self._form = ui.element("div").classes("w-full")
            self._errors = FormErrors(dict)
            dialog_buttons(self._dialog, _("Add"), self._add, icon="person_add")
        self._draw()

    def open(self) -> None:
        """Open the dialog."""
        self._dialog.open()

    def _draw(self) -> None:
        set_language(self._language)
        self._errors.clear()
        self._form.clear()
        with self._form:
            self._lines = {}
            for field in SERVICES[self._service.value].fields:
                label = _(field.label) if field.is_required else _("{field} (optional)", field=_(field.label))
                line = ui.input(label, password=field.is_secret, password_toggle_button=field.is_secret)
                line.classes("w-full").props("outlined dense maxlength=1000 autocomplete=off")
                line.props["placeholder"] = field.example
                self._lines[field.key] = line

    async def _add(self) -> None:
        set_language(self._language)
        values = {key: str(line.value or "") for key, line in self._lines.items()}
        with self._errors.capture():
            try:
                address = await run_in_thread(make_address, self._service.value, values)
            except ValueError as error:
                raise TarantulaError(str(error)) from error
            self._target.value = SEPARATOR.join(filter(None, [str(self._target.value or "").strip(" ;"), address]))
            self._dialog.close()
