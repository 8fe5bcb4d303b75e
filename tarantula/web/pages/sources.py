"""Source pages: the list by hierarchy, words and tags; one source with its values, held readings and form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from nicegui import background_tasks, ui

from tarantula.accounts.roles import Role
from tarantula.core.times import format_duration
from tarantula.services.context import ServiceContext
from tarantula.services.streams import sources, values, views
from tarantula.services.streams.sources import HierarchyBranch, SourceRow
from tarantula.services.streams.values import AsideRow
from tarantula.streams.ingest.put_aside import AsideDecision
from tarantula.streams.kinds import ValueKind
from tarantula.streams.sources.config import SourceStatus
from tarantula.streams.views.config import ViewConfig, ViewKind, read_view
from tarantula.streams.views.projection import ViewProjection, default_window
from tarantula.web.components.alerts import notify_alert_saved, open_alert_form
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements import TableColumn, data_table, section, text_element
from tarantula.web.components.forms import dialog, dialog_buttons
from tarantula.web.components.source_form import SourceForm
from tarantula.web.dashboard.pane import ViewPane
from tarantula.web.i18n import _, format_timestamp, language, mark, set_language
from tarantula.web.layout import heading, page
from tarantula.web.live import SourceChanges, SourceListener, source_poller

STATUS_LABELS = {
    SourceStatus.NEW: mark("not read yet"),
    SourceStatus.READ: mark("read"),
    SourceStatus.MISSING: mark("not found"),
    SourceStatus.DOUBTFUL: mark("put aside"),
    SourceStatus.UNREACHED: mark("unreachable"),
    SourceStatus.REFUSED: mark("refused"),
}


@page("/sources", mark("Sources"))
def sources_page(context: ServiceContext, below: str = "", words: str = "") -> None:
    """Show the levels of the name hierarchy and the sources below it."""
    heading(_("Sources"))
    reader_language = language()
    if context.person.role.allows(Role.CURATOR):
        follow_button = ui.button(
            _("Follow a value"), icon="ads_click", on_click=lambda: ui.navigate.to("/streams/new")
        )
        follow_button.classes("mb-2")
    _path(below)
    line = ui.input(_("Search names, titles, descriptions and tags"), value=words).classes("w-full mb-2")
    line.props('type=search outlined dense clearable debounce="200" maxlength=200')
    container = ui.element("div").classes("w-full")

    async def show() -> None:
        set_language(reader_language)
        with notify_errors():
            query = str(line.value or "")
            rows = await run_in_thread(sources.find_sources, context, query, below)
            branches = [] if query.strip() else await run_in_thread(sources.hierarchy, context, below)
            if query == str(line.value or ""):
                container.clear()
                with container:
                    _branches([branch for branch in branches if branch.name != below])
                    if rows or query.strip():
                        _listed(rows)
                    else:
                        text_element("p", _("Nothing is followed yet."))

    line.on_value_change(show)
    ui.timer(0.01, show, once=True)


def _path(below: str) -> None:
    parts = below.split(".") if below else []
    with ui.element("nav").classes("mb-2").props(f'aria-label="{_("Position in the hierarchy")}"'):
        ui.link(_("All"), "/sources")
        for number, part in enumerate(parts, 1):
            ui.label("›").classes("inline px-1")
            ui.link(part, f"/sources?below={quote('.'.join(parts[:number]))}")


def _branches(branches: list[HierarchyBranch]) -> None:
    with ui.element("ul").classes("flex flex-wrap gap-x-4 gap-y-1 m-0 mb-3 p-0 list-none"):
        for branch in branches:
            with ui.element("li"):
                ui.link(f"{branch.name} ({branch.sources})", f"/sources?below={quote(branch.name)}")


def _listed(rows: list[SourceRow]) -> None:
    columns = [
        TableColumn("name", _("Name")),
        TableColumn("title", _("Title")),
        TableColumn("tags", _("Tags")),
        TableColumn("state", _("State")),
        TableColumn("changed", _("Last change"), shown="changed_shown"),
        TableColumn("owner", _("Owner")),
    ]
    data_table(columns, [_row(row) for row in rows], _("Sources"), key="name", search=False)


def _row(row: SourceRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "name_to": f"/sources/{quote(row.name)}",
        "title": row.title,
        "tags": ", ".join(row.tags),
        "state": _("paused") if row.paused else _(STATUS_LABELS[SourceStatus(row.status)]),
        "changed": row.event_at,
        "changed_shown": format_timestamp(row.event_at),
        "owner": _("{owner}, private", owner=row.owner) if row.private else row.owner,
    }


class HeldReadings:
    """Readings that were put aside and need a decision."""

    def __init__(self, context: ServiceContext, row: SourceRow, on_decided: Callable[[], Awaitable[None]]) -> None:
        self._context, self._row, self._on_decided = context, row, on_decided
        self._container = ui.element("div").classes("w-full")

    def show(self, rows: list[AsideRow]) -> None:
        """Show the readings that need a decision; without any, the section is hidden."""
        self._container.clear()
        if rows:
            with self._container, section(_("Put aside")), ui.element("ul").classes("w-full m-0 p-0 list-none"):
                for row in rows:
                    with ui.element("li").classes("mb-3 border-l-4 border-amber-600 pl-3"):
                        self._reading(row)

    def _reading(self, row: AsideRow) -> None:
        where = f"{row.field} · {row.row}" if row.row else row.field
        text_element("p", f"{where}: {row.read}", "m-0 font-bold break-words")
        text_element("p", _(row.why), "m-0 break-words")
        text_element(
            "p", _("{when}, read {number} times", when=format_timestamp(row.at), number=row.times), "m-0 text-sm"
        )
        if self._row.may_change:
            with ui.row():
                self._button(row, _("Accept this value"), AsideDecision.ACCEPTED, "check")
                self._button(row, _("Reject this value"), AsideDecision.DISMISSED, "close")

    def _button(self, row: AsideRow, label: str, decision: AsideDecision, icon: str) -> None:
        async def decide() -> None:
            with notify_errors():
                await run_in_thread(values.decide_put_aside, self._context, self._row.name, row.id, decision)
            await self._on_decided()

        button = ui.button(label, icon=icon, on_click=decide).props("outline dense no-caps")
        button.props["aria-label"] = f"{label}: {row.read}"


EXPORT_FORMATS = {"csv": "CSV", "json": "JSON", "parquet": "Parquet", "atom": "Atom"}


@page("/sources/{name}", mark("Source"))
async def source_page(context: ServiceContext, name: str) -> None:
    """Show a source, editable for its owner."""
    row = await run_in_thread(sources.get_source_row, context, name)
    heading(row.title or row.name)
    if row.title:
        text_element("p", row.name, "m-0 text-slate-600 break-all")
    text_element("p", row.description, "m-0 break-words")
    _actions(context, row)
    _LiveSection(context, row)
    with section(_("Export")), ui.row():
        for ending, label in EXPORT_FORMATS.items():
            ui.link(label, f"/api/streams/{quote(name)}/export.{ending}").classes("p-2")
    if row.may_change:
        with section(_("Edit")):
            SourceForm(context, name, await run_in_thread(sources.get_source, context, name))


def _actions(context: ServiceContext, row: SourceRow) -> None:
    async def follow() -> None:
        with notify_errors():
            await run_in_thread(views.add_source_view, context, row.name)
            notify_done(_("Added to your dashboard."))

    async def watch() -> None:
        with notify_errors():
            await open_alert_form(context, None, notify_alert_saved, row.name)

    async def pause() -> None:
        with notify_errors():
            await run_in_thread(sources.edit_source, context, row.name, {"paused": not row.paused})
            ui.navigate.reload()

    with ui.row().classes("my-2"):
        ui.button(_("Add to dashboard"), icon="dashboard", on_click=follow)
        ui.button(_("New alert"), icon="add_alert", on_click=watch).props("outline")
        if row.may_change:
            label, icon = (_("Resume reading"), "play_arrow") if row.paused else (_("Pause"), "pause")
            ui.button(label, icon=icon, on_click=pause).props("outline")
            removal = ui.button(_("Remove"), icon="delete", on_click=lambda: _removal(context, row.name).open())
            removal.props("outline color=red-10")


def _removal(context: ServiceContext, name: str) -> ui.dialog:
    async def remove() -> None:
        confirmation.close()
        with notify_errors():
            await run_in_thread(sources.remove_source, context, name)
            ui.navigate.to("/sources")

    with dialog(_("Remove")) as confirmation:
        text_element("p", _("Remove the source {name} and its history permanently?", name=name))
        dialog_buttons(confirmation, _("Remove"), remove, icon="delete")
    return confirmation


class _LiveSection:
    """The parts of the page that change while it is open."""

    def __init__(self, context: ServiceContext, row: SourceRow) -> None:
        self._context, self._name, self._language = context, row.name, language()
        self._listener = SourceListener(self._on_changes)
        self._client = ui.context.client
        self._client.on_delete(lambda: source_poller(context.database).remove(self._listener))
        with section(_("State")):
            self._state = ui.element("div").classes("w-full")
        self._held_readings = HeldReadings(context, row, self._reload)
        self._panes: list[ViewPane] = []
        if row.fields:
            with section(_("Current values")):
                self._panes.append(ViewPane(context, _table_view(row), self._on_loaded))
        if any(field.kind and ValueKind(field.kind).is_number for field in row.fields):
            with section(_("History")):
                self._panes.append(ViewPane(context, _chart_view(row), self._on_loaded))
        ui.timer(0.01, self._start, once=True)

    async def _start(self) -> None:
        source_poller(self._context.database).add(self._listener)
        await self._reload()

    async def _reload(self) -> None:
        set_language(self._language)
        with notify_errors():
            row = await run_in_thread(sources.get_source_row, self._context, self._name)
            rows = await run_in_thread(values.list_put_aside, self._context, self._name)
            self._state.clear()
            with self._state:
                _state(row)
            self._held_readings.show(rows)
            for pane in self._panes:
                await pane.refresh()

    def _on_loaded(self, projection: ViewProjection) -> None:
        self._listener.stamps = projection.stamps

    def _on_changes(self, changes: SourceChanges) -> None:
        if changes.sources:
            with self._client:
                background_tasks.create(self._reload())


def _state(row: SourceRow) -> None:
    state = _("paused") if row.paused else _(STATUS_LABELS[SourceStatus(row.status)])
    rows = [
        (_("State"), state),
        (_("Last reading"), format_timestamp(row.read_at)),
        (_("Last change"), format_timestamp(row.event_at)),
        (_("Every"), format_duration(round(row.interval)) or f"{row.interval:g}s"),
        (_("Tags"), ", ".join(row.tags) or "–"),
        (_("Owner"), _("{owner}, private", owner=row.owner) if row.private else row.owner or "–"),
    ]
    with ui.element("dl").classes("m-0 w-full flex flex-wrap gap-x-8 gap-y-2"):
        for label, value in rows:
            with ui.element("div").classes("min-w-0"):
                text_element("dt", label, "text-sm text-slate-600")
                text_element("dd", value, "m-0 break-words")
    if row.sentence:
        message = text_element("p", _(row.sentence), "mt-2 text-amber-900 break-words whitespace-pre-line")
        message.props('role="status"')


def _table_view(row: SourceRow) -> ViewConfig:
    return read_view({"kind": ViewKind.TABLE, "parts": _parts(row)})


def _chart_view(row: SourceRow) -> ViewConfig:
    return read_view({"kind": ViewKind.LINE, "window": default_window(row.interval), "parts": _parts(row)})


def _parts(row: SourceRow) -> list[dict[str, str]]:
    return [{"source": row.name, "field": field.key} for field in row.fields[:20]]
