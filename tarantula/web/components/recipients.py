"""The form of a notification service, which adds an address to a field of addresses."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.publications.notification_services import SERVICES, make_address
from tarantula.web.components.background import run_in_thread
from tarantula.web.components.forms import FormErrors, dialog, dialog_buttons, select_field
from tarantula.web.i18n import _, language, set_language

SEPARATOR = "; "


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
