"""Deciding about items: which wait for it, what helps, and what was decided."""

from __future__ import annotations

from asyncio import to_thread

from nicegui import ui

from tarantula.archive.quality.baseline import Vanished
from tarantula.archive.quality.indicators import Indicators
from tarantula.core.errors import TarantulaError
from tarantula.core.states import Validation
from tarantula.services import validation as decisions
from tarantula.services.context import Desk
from tarantula.services.validation import Attention
from tarantula.web.components.elements import few_rows, section
from tarantula.web.components.items_part_common import address, facts, parts_of
from tarantula.web.components.items_part_look_list import draw_looks
from tarantula.web.format_part_figures import moment, number, percent, size
from tarantula.web.i18n import _, language, mark, use
from tarantula.web.i18n_part_retelling import retold
from tarantula.web.layout import complain, heading, page
from tarantula.web.pages.validation_part_deciding import STATES, decision_form


@page("/validation", mark("Validation"))
def validation(desk: Desk) -> None:
    """List the items that somebody should decide about."""
    heading(_("Validation"))
    waiting = decisions.undecided(desk)
    if not waiting:
        ui.label(_("Every item that has ended is decided about."))
    for item in waiting:
        with ui.card().classes("w-full mb-2"):
            ui.link(item.urn, address(item.urn, "/validate")).classes("text-lg")
            ui.label(_("Ended: {moment}", moment=moment(item.finished_at)))
            for reason in item.attention:
                _warning(reason)


@page("/items/{urn}/validate", mark("Validate"))
def validate(desk: Desk, urn: str) -> None:
    """Show what helps to decide about an item, and ask for the decision."""
    heading(_("Validate {urn}", urn=urn))
    parts_of(urn, "/validate")
    spoken = language()
    contents = ui.element("div").classes("w-full")
    with contents:
        ui.spinner(size="lg")

    async def fill() -> None:
        use(spoken)
        try:
            found = await to_thread(decisions.attention, desk, urn)
            history = await to_thread(decisions.decisions, desk, urn)
        except TarantulaError as error:
            contents.clear()
            with contents:
                complain(retold(str(error)))
            return
        contents.clear()
        with contents:
            _state(found)
            with section(_("Decision")):
                if found.ended:
                    decision_form(desk, urn, found.complete, fill)
                else:
                    ui.label(_("There is nothing to decide before it has ended."))
            with section(_("To look at first")):
                draw_looks(found.looks)
                if not found.looks:
                    ui.label(_("Nothing stands out."))
            with section(_("Indicators")):
                facts(_figures(found.indicators))
            with section(_("Decisions")):
                few_rows(
                    _("Decisions"),
                    [_("Decided"), _("By"), _("When"), _("Reason")],
                    [(_(one.validation), one.by, moment(one.at), retold(one.why)) for one in reversed(history)],
                )

    ui.timer(0, fill, once=True)


def _state(found: Attention) -> None:
    ui.label(_(STATES[Validation(found.validation)])).classes("text-lg").props('role="status"')
    ui.label(_("It is complete.") if found.complete else _("It is not complete."))
    for rule in found.rules:
        _warning(rule.reason)
    ui.link(_("Walk through its pages"), address(found.urn, "/browse"))


def _warning(sentence: str) -> None:
    with ui.row().classes("items-center no-wrap gap-2"):
        ui.icon("warning", color="orange-10").props('aria-hidden="true"')
        ui.label(retold(sentence))


def _figures(indicators: Indicators) -> list[tuple[str, str]]:
    needed, before = indicators.requisites, indicators.before
    rows = [
        (_("Documents"), number(indicators.documents)),
        (_("Collected"), number(indicators.collected)),
        (_("Bytes"), size(indicators.bytes)),
        (_("Errors"), _("{errors} of {asked} that were asked for", errors=indicators.errors, asked=indicators.asked)),
        (_("Base document"), f"{indicators.base.url} ({indicators.base.state})"),
        (
            _("Requisites"),
            _(
                "{wanted}: {collected} collected, {refused} refused, {missing} missing",
                wanted=needed.wanted,
                collected=needed.collected,
                refused=needed.refused,
                missing=needed.missing,
            ),
        ),
    ]
    if before is None:
        return rows
    return [
        *rows,
        (_("Compared with"), ", ".join(before.items)),
        (_("Usual documents"), f"{number(round(before.documents))}{_change(before.documents_change)}"),
        (_("Usual bytes"), f"{size(before.bytes)}{_change(before.bytes_change)}"),
        (_("Vanished servers"), _vanished(before.servers)),
        (_("Vanished types"), _vanished(before.types)),
    ]


def _change(change: float | None) -> str:
    return "" if change is None else f" ({'+' if change > 0 else ''}{percent(change)})"


def _vanished(vanished: Vanished) -> str:
    names = f": {', '.join(vanished.names)}" if vanished.names else ""
    return _("{number} of {total}", number=number(vanished.number), total=number(vanished.of)) + names
