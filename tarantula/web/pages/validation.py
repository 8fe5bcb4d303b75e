"""Validation pages: items without a decision, and the decision about one item."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.archive.quality.baseline import Vanished
from tarantula.archive.quality.indicators import Indicators
from tarantula.core.errors import TarantulaError
from tarantula.core.states import Validation
from tarantula.services import validation
from tarantula.services.context import ServiceContext
from tarantula.services.validation import ItemAttention
from tarantula.web.components.background import run_in_thread
from tarantula.web.components.elements import section, small_table
from tarantula.web.components.items import fact_list, item_navigation, item_path, review_list
from tarantula.web.i18n import (
    _,
    format_moment,
    format_number,
    format_share,
    format_size,
    language,
    mark,
    set_language,
    translate_reason,
    translate_reasons,
)
from tarantula.web.layout import heading, page, show_error

VALIDATION_LABELS = {
    Validation.PENDING: mark("No decision yet."),
    Validation.VALID: mark("Accepted."),
    Validation.REJECTED: mark("Rejected."),
}


def decision_form(context: ServiceContext, urn: str, complete: bool, on_decided: Callable[[], Awaitable[None]]) -> None:
    """Show the form to accept or reject an item, for curators."""
    if not context.person.role.allows(Role.CURATOR):
        ui.label(_("Only curators can accept or reject items."))
        return
    reader_language = language()
    why = ui.textarea(_("Reason")).props("outlined autogrow").classes("w-full max-w-xl")
    ui.label(_("A reason is required to reject an item, and to accept an item that was rejected before.")).classes(
        "text-sm"
    )
    anyway = ui.checkbox(_("Accept it although it is not complete")) if not complete else None
    sentence = ui.label().classes("text-red-800").props('role="alert"')

    async def decide(decision: Validation) -> None:
        set_language(reader_language)
        reason = str(why.value or "").strip()
        if decision == Validation.REJECTED and not reason:
            sentence.text = _("A rejection needs a reason.")
            return
        if decision == Validation.VALID and anyway is not None and not anyway.value:
            sentence.text = _("The item is not complete. Reject it, or tick the box to accept it anyway.")
            return
        try:
            if decision == Validation.VALID:
                await run_in_thread(validation.validate, context, urn, reason, anyway is not None)
            else:
                await run_in_thread(validation.reject, context, urn, reason)
        except TarantulaError as error:
            sentence.text = _(str(error))
            return
        sentence.text = ""
        why.value = ""
        ui.notify(_(VALIDATION_LABELS[decision]))
        await on_decided()

    with ui.row():
        ui.button(_("Accept"), icon="check", on_click=lambda: decide(Validation.VALID)).props("color=green-9")
        ui.button(_("Reject"), icon="close", on_click=lambda: decide(Validation.REJECTED)).props("color=red-9")


@page("/validation", mark("Validation"))
async def validation_page(context: ServiceContext) -> None:
    """List the items without a decision, and those that were damaged after they were accepted."""
    heading(_("Validation"))
    waiting = await run_in_thread(validation.list_undecided, context)
    if not waiting:
        ui.label(_("No item is waiting for a decision."))
    for item in waiting:
        with ui.card().classes("w-full mb-2"):
            ui.link(item.urn, item_path(item.urn, "/validate")).classes("text-lg")
            ui.label(_("Ended: {moment}", moment=format_moment(item.finished_at)))
            for reason in translate_reasons(item.attention_reasons):
                _warning(reason)


@page("/items/{urn}/validate", mark("Validate"))
def validate_page(context: ServiceContext, urn: str) -> None:
    """Show the indicators of an item and the decision form."""
    heading(_("Validate {urn}", urn=urn))
    item_navigation(urn, "/validate")
    reader_language = language()
    contents = ui.element("div").classes("w-full")
    with contents:
        ui.spinner(size="lg")

    async def fill() -> None:
        set_language(reader_language)
        try:
            attention = await run_in_thread(validation.item_attention, context, urn)
            history = await run_in_thread(validation.list_decisions, context, urn)
        except TarantulaError as error:
            contents.clear()
            with contents:
                show_error(_(str(error)))
            return
        contents.clear()
        with contents:
            _state(attention)
            with section(_("Decision")):
                if attention.ended:
                    decision_form(context, urn, attention.complete, fill)
                else:
                    ui.label(_("An item can be accepted or rejected only after it has ended."))
            with section(_("Review first")):
                review_list(attention.looks)
                if not attention.looks:
                    ui.label(_("Nothing needs review."))
            with section(_("Indicators")):
                fact_list(_indicator_rows(attention.indicators))
            with section(_("Decisions")):
                small_table(
                    _("Decisions"),
                    [_("Decided"), _("By"), _("When"), _("Reason")],
                    [(_(one.validation), one.by, format_moment(one.at), _(one.why)) for one in reversed(history)],
                )

    ui.timer(0, fill, once=True)


def _state(attention: ItemAttention) -> None:
    ui.label(_(VALIDATION_LABELS[Validation(attention.validation)])).classes("text-lg").props('role="status"')
    ui.label(_("The item is complete.") if attention.complete else _("The item is not complete."))
    for reason in translate_reasons([attention.later_damage] if attention.later_damage else []):
        _warning(reason)
    for rule in attention.rules:
        _warning(translate_reason(rule.reason_code, rule.reason_parameters))
    ui.link(_("Browse its pages"), item_path(attention.urn, "/browse"))


def _warning(sentence: str) -> None:
    with ui.row().classes("items-center no-wrap gap-2"):
        ui.icon("warning", color="orange-10").props('aria-hidden="true"')
        ui.label(sentence)


def _indicator_rows(indicators: Indicators) -> list[tuple[str, str]]:
    requisites, before = indicators.requisites, indicators.before
    rows = [
        (_("Documents"), format_number(indicators.documents)),
        (_("Collected"), format_number(indicators.collected)),
        (_("Bytes"), format_size(indicators.bytes)),
        (_("Errors"), _("{errors} of {asked} requested", errors=indicators.errors, asked=indicators.asked)),
        (_("Base document"), f"{indicators.base.url} ({indicators.base.state})"),
        (
            _("Requisites"),
            _(
                "{wanted}: {collected} collected, {refused} refused, {missing} missing",
                wanted=requisites.wanted,
                collected=requisites.collected,
                refused=requisites.refused,
                missing=requisites.missing,
            ),
        ),
        (_("Lost bodies"), format_number(indicators.missing_bodies)),
        (_("Damaged files"), format_number(indicators.damaged_files)),
    ]
    if mirror := indicators.mirror:
        contents = _("{copies} copies, {missing} documents missing", copies=mirror.copies, missing=mirror.missing)
        examples = [(_("Missing in the mirror"), f"{one.url}: {one.reason}") for one in mirror.examples]
        rows += [(_("Mirror"), contents), *examples]
    if before is None:
        return rows
    return [
        *rows,
        (_("Compared with"), ", ".join(before.items)),
        (_("Usual documents"), f"{format_number(round(before.documents))}{_change_text(before.documents_change)}"),
        (_("Usual bytes"), f"{format_size(before.bytes)}{_change_text(before.bytes_change)}"),
        (_("Missing servers"), _missing_text(before.servers)),
        (_("Missing types"), _missing_text(before.types)),
    ]


def _change_text(change: float | None) -> str:
    return "" if change is None else f" ({'+' if change > 0 else ''}{format_share(change)})"


def _missing_text(vanished: Vanished) -> str:
    names = f": {', '.join(vanished.names)}" if vanished.names else ""
    return _("{number} of {total}", number=format_number(vanished.number), total=format_number(vanished.of)) + names
