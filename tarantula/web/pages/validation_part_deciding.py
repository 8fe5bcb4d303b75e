"""Accepting or rejecting an item, with a reason."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Awaitable, Callable

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.core.errors import TarantulaError
from tarantula.core.states import Validation
from tarantula.services import validation
from tarantula.services.context import ServiceContext
from tarantula.web.i18n import _, language, mark, set_language
from tarantula.web.i18n_part_retelling import translate_sentence

VALIDATION_LABELS = {
    Validation.PENDING: mark("Nobody has decided yet."),
    Validation.VALID: mark("It was accepted."),
    Validation.REJECTED: mark("It was rejected."),
}


def decision_form(desk: ServiceContext, urn: str, complete: bool, on_decided: Callable[[], Awaitable[None]]) -> None:
    """Ask whoever may decide for a decision."""
    if not desk.person.role.allows(Role.CURATOR):
        ui.label(_("A curator decides about items."))
        return
    spoken = language()
    why = ui.textarea(_("Reason")).props("outlined autogrow").classes("w-full max-w-xl")
    ui.label(_("A rejection needs a reason; accepting what was rejected before needs one too.")).classes("text-sm")
    anyway = ui.checkbox(_("Accept it though it is not complete")) if not complete else None
    sentence = ui.label().classes("text-red-800").props('role="alert"')

    async def decide(decision: Validation) -> None:
        set_language(spoken)
        told = str(why.value or "").strip()
        if decision == Validation.REJECTED and not told:
            sentence.text = _("A rejection needs a reason.")
            return
        if decision == Validation.VALID and anyway is not None and not anyway.value:
            sentence.text = _("It is not complete. Reject it, or say that it is accepted all the same.")
            return
        try:
            if decision == Validation.VALID:
                await to_thread(validation.validate, desk, urn, told, anyway is not None)
            else:
                await to_thread(validation.reject, desk, urn, told)
        except TarantulaError as error:
            sentence.text = translate_sentence(str(error))
            return
        sentence.text = ""
        why.value = ""
        ui.notify(_(VALIDATION_LABELS[decision]))
        await on_decided()

    with ui.row():
        ui.button(_("Accept"), icon="check", on_click=lambda: decide(Validation.VALID)).props("color=green-9")
        ui.button(_("Reject"), icon="close", on_click=lambda: decide(Validation.REJECTED)).props("color=red-9")
