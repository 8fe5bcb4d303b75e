"""Item pages: the list of items, one item with live progress, and its controls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from tarantula.accounts.roles import Role
from tarantula.core.reasons import ITEM_REASONS
from tarantula.core.states import (
    ACTIVE_ITEM_STATES,
    EXTENSIBLE_ITEM_STATES,
    REMOVABLE_ITEM_STATES,
    SHORTAGE_MEANINGS,
    ItemState,
)
from tarantula.lifecycle.removal import RemovalPlan
from tarantula.services import items
from tarantula.services.context import ResultPage, ServiceContext
from tarantula.services.items import ItemDetail
from tarantula.store.listings import ItemRow
from tarantula.web.charts.base import COLOURS, TOOLTIP
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread, show_when_loaded
from tarantula.web.components.elements import TableColumn, data_table, subheading, text_element
from tarantula.web.components.items import item_navigation, item_path, state_choices, state_label
from tarantula.web.i18n import (
    BABEL_LOCALES,
    _,
    format_moment,
    format_number,
    format_size,
    language,
    mark,
    translate_reason,
)
from tarantula.web.layout import heading, page
from tarantula.web.limits import SLOW, run_in_pool
from tarantula.web.live import LIVE_SCRIPT


@page("/items", mark("Items"))
def items_page(context: ServiceContext, publication: str = "", state: str = "", before: str = "") -> None:
    """Show all items with their progress."""
    heading(_("Items of {name}", name=publication) if publication else _("Items"))
    choices = {"": _("all states"), **{str(one): _(one) for one in ItemState}}

    def choose(chosen: str) -> None:
        ui.navigate.to(_address(publication, chosen))

    ui.select(
        choices,
        value=state if state in choices else "",
        label=_("State"),
        on_change=lambda change: choose(change.value),
    ).classes("w-56").props("outlined dense")
    show_when_loaded(
        lambda: items.list_items(context, publication or None, state or None, before=before or None),
        lambda found: _show(found, publication, state, bool(before)),
    )


def _show(found: ResultPage[ItemRow], publication: str, state: str, has_newer: bool) -> None:
    columns = [
        TableColumn("urn", _("Item")),
        TableColumn("state", _("State")),
        TableColumn("validation", _("Validation")),
        TableColumn("started", _("Started")),
        TableColumn("finished", _("Ended")),
        TableColumn("documents", _("Documents"), number=True),
        TableColumn("collected", _("Collected"), number=True),
        TableColumn("waiting", _("Waiting"), number=True),
        TableColumn("bytes", _("Size"), number=True, shown="size"),
        TableColumn("files", _("Files")),
    ]
    data_table(columns, [_row(row) for row in found.rows], _("Items"), key="urn", search=False)
    with ui.row().classes("mt-2"):
        if has_newer:
            ui.link(_("Latest"), _address(publication, state))
        if found.next:
            ui.link(_("Older"), _address(publication, state, found.next))


def _row(row: ItemRow) -> dict[str, Any]:
    reason = translate_reason(row.reason_code, row.reason_parameters)
    return {
        "urn": row.urn,
        "urn_to": item_path(row.urn),
        "state": "; ".join([_(row.state) + (f": {reason}" if reason else ""), *_pauses(row)]),
        "files": _files(row),
        "validation": _(row.validation),
        "started": format_moment(row.started_at),
        "finished": format_moment(row.finished_at),
        "documents": format_number(row.documents),
        "collected": format_number(row.collected),
        "waiting": format_number(row.waiting),
        "bytes": row.bytes,
        "size": format_size(row.bytes),
    }


def _files(row: ItemRow) -> str:
    """Return whether the files of an item were read back, and are whole."""
    if row.read_back is None:
        return (_("damaged") if row.damaged else _("verified")) if row.verified_at else ""
    if row.state != ItemState.CONVERTING:
        return _("not verified yet")
    done, total = format_size(row.read_back.done), format_size(row.read_back.total)
    return _("verifying: {done} of {total}", done=done, total=total)


def _pauses(row: ItemRow) -> Iterator[str]:
    """Yield why collectors of an item pause, in the reader's language."""
    for why in row.paused_for:
        yield _("paused: {why}", why=_(SHORTAGE_MEANINGS[why]))


def _address(publication: str, state: str, before: str = "") -> str:
    query = {"publication": publication, "state": state, "before": before}
    return f"/items?{urlencode({name: value for name, value in query.items() if value})}"


RESUMABLE_STATES = frozenset({ItemState.INTERRUPTED})


def item_controls(context: ServiceContext, found: ItemDetail) -> None:
    """Show the controls of an item; the script hides those that the present state does not allow."""
    if not context.person.role.allows(Role.CURATOR):
        return
    urn = found.urn
    with ui.row().classes("my-3 items-end"):
        _only_in(ui.button(_("Stop"), icon="stop", on_click=lambda: _stop(context, urn)), found, ACTIVE_ITEM_STATES)
        _only_in(
            ui.button(_("Resume"), icon="play_arrow", on_click=lambda: _resume(context, urn)), found, RESUMABLE_STATES
        )
        with _only_in(ui.row().classes("items-end gap-2"), found, EXTENSIBLE_ITEM_STATES):
            more = ui.input(_("Additional time"), value="1d").props("dense outlined").classes("w-40")
            more.tooltip(_("Such as 2d or 12h, or an end time: 2026-07-01 08:00"))
            ui.button(_("Extend"), icon="more_time", on_click=lambda: _extend(context, urn, more.value or "")).props(
                "outline"
            )
        button = ui.button(_("Convert again"), icon="sync", on_click=lambda: _convert(context, urn)).props("outline")
        _only_in(button, found, REMOVABLE_ITEM_STATES)
        if context.person.role.allows(Role.ADMINISTRATOR):
            button = ui.button(_("Remove"), icon="delete", on_click=lambda: _confirm_removal(context, urn))
            _only_in(button.props('outline color="red-10"'), found, REMOVABLE_ITEM_STATES)


def _only_in(element: ui.element, found: ItemDetail, states: frozenset[ItemState]) -> ui.element:
    element.props["data-states"] = " ".join(sorted(states))
    if ItemState(found.state) not in states:
        element.props["hidden"] = True
    return element


async def _stop(context: ServiceContext, urn: str) -> None:
    with notify_errors():
        stopped = await run_in_thread(items.stop, context, urn)
        notify_done(_("The item is interrupted.") if stopped else _("The collectors will stop within a few seconds."))


async def _resume(context: ServiceContext, urn: str) -> None:
    with notify_errors():
        await run_in_thread(items.resume, context, urn)
        notify_done(_("The item continues in a separate process."))
        # Pages that had stopped watching start again.
        ui.run_javascript("window.dispatchEvent(new Event('watch-again'))")


async def _extend(context: ServiceContext, urn: str, until: str) -> None:
    with notify_errors():
        deadline = await run_in_thread(items.extend, context, urn, until)
        notify_done(_("The deadline is now {moment}.", moment=format_moment(deadline)))


async def _convert(context: ServiceContext, urn: str) -> None:
    with notify_errors():
        await run_in_thread(items.convert, context, urn)
        notify_done(_("The mirror is created again in a separate process; the log shows when it is done."))


async def _confirm_removal(context: ServiceContext, urn: str) -> None:
    with notify_errors():
        plan = await run_in_pool(SLOW, items.removal_plan, context, urn)
        _removal_dialog(context, plan).open()


def _removal_dialog(context: ServiceContext, plan: RemovalPlan) -> ui.dialog:
    """Return the dialog that lists what a removal destroys, and asks for the item's name."""
    with ui.dialog() as dialog, ui.card() as card:
        for line in _destroyed(plan):
            ui.label(line)
        ui.label(_("All collected data will be lost. Type {urn} to remove the item.", urn=plan.urn))
        typed = ui.input(_("Item name")).classes("w-full")
        with ui.row():
            ui.button(_("Cancel"), on_click=dialog.close)

            async def remove() -> None:
                if typed.value == plan.urn:
                    await _remove(context, plan, card)
                else:
                    ui.notify(_("That is not {urn}: nothing was removed.", urn=plan.urn))

            ui.button(_("Remove permanently"), on_click=remove).props('color="red-10"')
    return dialog


def _destroyed(plan: RemovalPlan) -> Iterator[str]:
    """Yield a sentence for each kind of thing that a removal destroys."""
    numbers = {"documents": format_number(plan.documents), "decisions": format_number(plan.decisions)}
    yield _("The removal destroys {documents} documents and {decisions} decisions.", **numbers)
    for path in plan.exports:
        yield _("It destroys the export {path}.", path=path)
    for path, number in plan.unreadable_files.items():
        yield _(
            "{number} bodies that later items need cannot be read in {path}: they will be lost for good.",
            number=format_number(number),
            path=path,
        )
    for urn, number in plan.losing_items.items():
        yield _("{urn} loses {number} bodies.", urn=urn, number=format_number(number))


async def _remove(context: ServiceContext, plan: RemovalPlan, card: ui.card) -> None:
    with notify_errors():
        force = bool(plan.unreadable)
        await run_in_thread(items.start_removal, context, plan.urn, force=force, confirm=plan.urn)
        card.clear()
        with card:
            ui.label(_("The item is being removed in a separate process. The list of items shows how much is left."))
            ui.link(_("Items"), "/items")


LIVE_FIGURES = (
    ("state", mark("State")),
    ("done", mark("Done")),
    ("waiting", mark("Waiting")),
    ("under_way", mark("In progress")),
    ("refused", mark("Refused")),
    ("bytes", mark("Size")),
    ("per_second", mark("Documents per second")),
    ("left", mark("Time left")),
    ("deadline", mark("Deadline")),
    ("collectors", mark("Collectors")),
)
"""Large figures: the name in the script, and the label."""


@page("/items/{urn}", mark("Item"))
def item_page(context: ServiceContext, urn: str) -> None:
    """Show an item with live progress."""
    heading(urn)
    item_navigation(urn, "")
    nonce = ui.context.client.request.state.nonce
    ui.add_body_html(f'<script type="module" nonce="{nonce}" src="{LIVE_SCRIPT}"></script>')
    show_when_loaded(lambda: items.get_item(context, urn), lambda found: _show_item(context, found))


def _show_item(context: ServiceContext, found: ItemDetail) -> None:
    text_element("p", f"{found.base_url} {found.description}", "break-all")
    if found.egress is not None:
        permitted = translate_reason(found.egress["code"], found.egress["parameters"])
        text_element("p", _("Connections: {permitted}", permitted=permitted), "text-sm")
    with ui.element("section").classes("w-full") as live:
        live.props["id"] = "live"
        live.props["data-stream"] = f"/api{item_path(found.urn, '/live')}"
        live.props["data-texts"] = json.dumps(_script_texts())
        live.props["data-documents"] = item_path(found.urn, "/documents")
        _figures()
        item_controls(context, found)
        live.props["data-chart"] = str(_chart().id)
        _table("states", _("States of the documents"), (_("State"), _("Documents")))
        _table(
            "servers",
            _("Busiest servers"),
            (_("Server"), _("Done"), _("Waiting"), _("Pause"), _("Back-off"), _("Next visit in")),
        )
        _table("last", _("Last documents"), (_("State"), _("URL"), _("Type"), _("Size")))
        subheading(_("Log"))
        log = text_element("pre", "", "text-xs overflow-x-auto p-2 bg-slate-100 max-h-80")
        log.props["data-live"] = "log"
        log.props["tabindex"] = "0"
        log.props["role"] = "region"
        log.props["aria-label"] = _("Log")


def _script_texts() -> dict[str, object]:
    """Return the texts of the script in the reader's language; its events are the same for all readers."""
    return {
        "locale": BABEL_LOCALES[language()].replace("_", "-"),
        "items": {str(state): _(state) for state in ItemState},
        "states": {state: state_label(state) for state in state_choices()},
        "reasons": {code: _(template) for code, template in ITEM_REASONS.items()},
        "stopping": _("stopping"),
        "paused": _("paused: {why}"),
        "shortages": {str(why): _(meaning) for why, meaning in SHORTAGE_MEANINGS.items()},
        "verified": _("All files had been read back by {moment}."),
        "verifying": _("Verifying its files: {done} of {total}."),
        "unverified": _("Its files are not verified yet: {done} of {total} were read back."),
        "away": _("The server does not respond; trying again …"),
    }


def _figures() -> None:
    text_element("p", "", "text-red-900").props('data-live="away" role="alert"')
    with ui.element("dl").classes("w-full grid grid-cols-2 sm:grid-cols-5 gap-2"):
        for name, label in LIVE_FIGURES:
            with ui.element("div").classes("border rounded p-2"):
                text_element("dt", _(label), "text-sm text-slate-700")
                value = text_element("dd", "–", "text-xl font-bold break-words")
                value.props["data-live"] = name
                if name == "state":
                    value.props["aria-live"] = "polite"
    text_element("p", "").props('data-live="reason"')
    text_element("p", "").props('data-live="files"')


def _chart() -> ui.echart:
    subheading(_("Documents completed per second"))
    chart = ui.echart(
        {
            "color": COLOURS,
            "animation": False,
            "grid": {"left": 8, "right": 16, "top": 16, "bottom": 8, "containLabel": True},
            "tooltip": {**TOOLTIP, "trigger": "axis"},
            "xAxis": {"type": "category", "data": []},
            "yAxis": {"type": "value", "minInterval": 1},
            "series": [{"type": "bar", "name": _("Documents"), "data": [], "barCategoryGap": "10%"}],
        }
    ).classes("w-full h-56")
    chart.props["role"] = "img"
    chart.props["aria-label"] = _("Chart: documents completed per second during the last two minutes.")
    return chart


def _table(name: str, title: str, headings: Sequence[str]) -> None:
    subheading(title)
    with ui.element("div").classes("w-full overflow-x-auto") as region:
        region.props["tabindex"] = "0"
        region.props["role"] = "region"
        region.props["aria-label"] = title
        with ui.element("table").classes("live-table w-full text-left"):
            with ui.element("thead"), ui.element("tr"):
                for text in headings:
                    text_element("th", text, "pr-4").props('scope="col"')
            ui.element("tbody").props["data-rows"] = name
