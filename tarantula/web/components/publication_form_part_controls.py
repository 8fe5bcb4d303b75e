"""The control of each field of a publication."""

from __future__ import annotations

from typing import Any, NamedTuple
from zoneinfo import available_timezones

from nicegui import ui

from tarantula.core.times import PERIODS
from tarantula.frontier.strategies import STRATEGIES
from tarantula.services import document_types
from tarantula.services.context import ServiceContext
from tarantula.web.components.publication_form import FIELD_LABELS, is_boolean_field
from tarantula.web.i18n import _

DEBOUNCE_MILLISECONDS = 300
"""Milliseconds after the last key before the model is asked."""
MULTILINE_FIELDS = ("description", "settings", "notify", "attention", "incomplete")


class FieldChoices(NamedTuple):
    """What there is to choose from."""

    profiles: dict[str, str]
    types: list[str]

    @classmethod
    def of(cls, desk: ServiceContext) -> FieldChoices:
        """Return the profiles, with their types, and the known types."""
        profiles = {
            row.name: f"{row.name}: {row.description or ', '.join(row.types)}"
            for row in document_types.list_profiles(desk)
        }
        known = [row.mime for row in document_types.list_types(desk)]
        kinds = sorted({f"{mime.partition('/')[0]}/*" for mime in known})
        return cls(profiles, [*kinds, *known])


def field_control(field: str, text: Any, choices: FieldChoices) -> Any:
    """Make the control of a field, with what stands in it."""
    label = _(FIELD_LABELS[field])
    if is_boolean_field(field):
        return ui.checkbox(label, value=text)
    if field == "profile":
        # A profile that is no longer there is shown, and complained about.
        options = choices.profiles if text in choices.profiles else {text: text, **choices.profiles}
        control: Any = ui.select(options, label=label, value=text, with_input=True)
    elif field.endswith("_types"):
        control = _many(label, text, choices.types)
    elif field in ("every", "strategy"):
        control = _one(label, text, list(PERIODS if field == "every" else STRATEGIES))
    elif field == "zone":
        control = _one(label, text, ["", *sorted(available_timezones())])
    elif field in MULTILINE_FIELDS:
        control = ui.textarea(label, value=text).props(f"autogrow debounce={DEBOUNCE_MILLISECONDS}")
    else:
        control = ui.input(label, value=text).props(f"debounce={DEBOUNCE_MILLISECONDS}")
        if field == "start":
            control.props("type=datetime-local stack-label")
    return control.classes("w-full").props("outlined dense")


def _one(label: str, text: str, known: list[str]) -> ui.select:
    """Choose one of what is known, or write another."""
    options = {one: _(one) for one in (known if text in known else [*known, text])}
    return ui.select(options, label=label, value=text, new_value_mode="add-unique")


def _many(label: str, chosen: list[str], known: list[str]) -> ui.select:
    """Choose some of what is known, or write others."""
    options = [*known, *(one for one in chosen if one not in known)]
    control = ui.select(options, label=label, value=chosen, multiple=True, new_value_mode="add-unique")
    return control.props("use-chips")
