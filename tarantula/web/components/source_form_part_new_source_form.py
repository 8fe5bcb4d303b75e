"""What people call a new source, how often it is read, and who sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.forms import FormControl, FormControls, FormErrors
from tarantula.web.components.forms_part_dialogs import select_field
from tarantula.web.i18n import _, mark

INTERVAL_LABELS = {
    "1": mark("every second"),
    "10": mark("every 10 seconds"),
    "60": mark("every minute"),
    "300": mark("every 5 minutes"),
    "900": mark("every 15 minutes"),
    "3600": mark("every hour"),
    "21600": mark("every 6 hours"),
    "86400": mark("every day"),
}
DEFAULT_INTERVAL = "300"


class NewSourceForm:
    """The form beside what was chosen; what nobody touched follows the page."""

    def __init__(self, save: Callable[[], Awaitable[None]], others: Callable[[], FormControls]) -> None:
        self._suggested: dict[str, str] = {}
        self._others = others
        with ui.element("div").classes("grid grid-cols-1 gap-3 w-full"):
            self._title = _line(_("Title"), _("What people call it."))
            self._name = _line(_("Name of the source"), _("Words with dots between them, as weather.lisboa."))
            self._description = _line(_("Description"), _("What it is, in words."))
            self._tags = _line(_("Tags"), _("Words by which it is found, with commas between them."))
            self._interval = select_field(
                _("How often it is read"), {key: _(words) for key, words in INTERVAL_LABELS.items()}, DEFAULT_INTERVAL
            )
            self._private = ui.checkbox(_("Only I see it"))
        self.complaints = FormErrors(self._controls)
        ui.button(_("Save"), icon="save", on_click=save).classes("mt-2")

    def _controls(self) -> dict[str, FormControl]:
        lines = {"title": self._title, "name": self._name, "description": self._description, "tags": self._tags}
        return {**lines, "interval": self._interval, **self._others()}

    def suggest(self, **values: str) -> None:
        """Fill in what nobody has written."""
        lines = {"title": self._title, "name": self._name, "tags": self._tags}
        for key, value in values.items():
            line = lines[key]
            if (line.value or "") in ("", self._suggested.get(key, "")):
                line.value = value
            self._suggested[key] = value

    def suggest_interval(self, seconds: float) -> None:
        """Choose the interval that is usual for a source, or the next longer one."""
        fitting = [key for key in INTERVAL_LABELS if float(key) >= seconds]
        self._interval.value = fitting[0] if fitting else list(INTERVAL_LABELS)[-1]

    def values(self) -> dict[str, Any]:
        """Return what stands there, as the model reads it."""
        return {
            "name": str(self._name.value or "").strip(),
            "title": str(self._title.value or "").strip(),
            "description": str(self._description.value or "").strip(),
            "tags": [tag.strip() for tag in str(self._tags.value or "").split(",") if tag.strip()],
            "interval": float(self._interval.value),
            "private": bool(self._private.value),
        }


def _line(label: str, help_: str) -> ui.input:
    with ui.element("div").classes("min-w-0"):
        line = ui.input(label).classes("w-full").props("outlined dense maxlength=300")
        text_element("p", help_, "help m-0")
    return line
