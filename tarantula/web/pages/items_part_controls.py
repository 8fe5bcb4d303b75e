"""What a curator does to an item while looking at it."""

from __future__ import annotations

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.core.states import ACTIVE_ITEM_STATES, EXTENSIBLE_ITEM_STATES, REMOVABLE_ITEM_STATES, ItemState
from tarantula.services import items
from tarantula.services.context import ServiceContext
from tarantula.services.items import ItemDetail
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.format_part_figures import format_moment
from tarantula.web.i18n import _

RESUMABLE_STATES = frozenset({ItemState.INTERRUPTED})


def item_controls(desk: ServiceContext, found: ItemDetail) -> None:
    """Show what can be done; the script hides what the present state does not allow."""
    if not desk.person.role.allows(Role.CURATOR):
        return
    urn = found.urn
    with ui.row().classes("my-3 items-end"):
        _for(ui.button(_("Stop"), icon="stop", on_click=lambda: _stop(desk, urn)), found, ACTIVE_ITEM_STATES)
        _for(ui.button(_("Resume"), icon="play_arrow", on_click=lambda: _resume(desk, urn)), found, RESUMABLE_STATES)
        with _for(ui.row().classes("items-end gap-2"), found, EXTENSIBLE_ITEM_STATES):
            more = ui.input(_("More time"), value="1d").props("dense outlined").classes("w-40")
            more.tooltip(_("As 2d or 12h, or until when: 2026-07-01 08:00"))
            ui.button(_("Extend"), icon="more_time", on_click=lambda: _extend(desk, urn, more.value or "")).props(
                "outline"
            )
        button = ui.button(_("Convert anew"), icon="sync", on_click=lambda: _convert(desk, urn)).props("outline")
        _for(button, found, REMOVABLE_ITEM_STATES)
        if desk.person.role.allows(Role.ADMINISTRATOR):
            button = ui.button(_("Remove"), icon="delete", on_click=lambda: _ask_to_remove(desk, urn))
            _for(button.props('outline color="red-10"'), found, REMOVABLE_ITEM_STATES)


def _for(element: ui.element, found: ItemDetail, states: frozenset[ItemState]) -> ui.element:
    element.props["data-states"] = " ".join(sorted(states))
    if ItemState(found.state) not in states:
        element.props["hidden"] = True
    return element


async def _stop(desk: ServiceContext, urn: str) -> None:
    with notify_errors():
        stopped = await run_in_thread(items.stop, desk, urn)
        notify_done(_("It is interrupted.") if stopped else _("It stops when its collectors hear of it."))


async def _resume(desk: ServiceContext, urn: str) -> None:
    with notify_errors():
        await run_in_thread(items.resume, desk, urn)
        notify_done(_("It goes on in a process of its own."))
        # Whoever had stopped watching looks again.
        ui.run_javascript("window.dispatchEvent(new Event('watch-again'))")


async def _extend(desk: ServiceContext, urn: str, until: str) -> None:
    with notify_errors():
        deadline = await run_in_thread(items.extend, desk, urn, until)
        notify_done(_("It has time until {moment}.", moment=format_moment(deadline)))


async def _convert(desk: ServiceContext, urn: str) -> None:
    with notify_errors():
        await run_in_thread(items.convert, desk, urn)
        notify_done(_("Its copy is made anew in a process of its own; the log tells when that is done."))


def _ask_to_remove(desk: ServiceContext, urn: str) -> None:
    with ui.dialog() as dialog, ui.card():
        ui.label(_("Everything that was collected will be lost. Type {urn} to remove it.", urn=urn))
        typed = ui.input(_("Name of the item")).classes("w-full")
        with ui.row():
            ui.button(_("Keep it"), on_click=dialog.close)

            async def remove() -> None:
                if typed.value == urn:
                    dialog.close()
                    await _remove(desk, urn)
                else:
                    ui.notify(_("That is not {urn}: nothing was removed.", urn=urn))

            ui.button(_("Remove it for good"), on_click=remove).props('color="red-10"')
    dialog.open()


async def _remove(desk: ServiceContext, urn: str) -> None:
    with notify_errors():
        lost = await run_in_thread(items.remove, desk, urn)
        for sentence in lost:
            ui.notify(sentence, color="red-10", text_color="white", timeout=0, close_button="✕")
        if not lost:
            ui.navigate.to("/items")
