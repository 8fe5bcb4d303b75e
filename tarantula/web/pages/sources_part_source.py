"""One source: its values now and in time, how reading it goes, what was put aside, and its form."""

from __future__ import annotations

from urllib.parse import quote

from nicegui import background_tasks, ui

from tarantula.core.times import format_duration
from tarantula.services.context import ServiceContext
from tarantula.services.streams import sources as streams
from tarantula.services.streams import values as stream_values
from tarantula.services.streams import views
from tarantula.services.streams.sources_part_rows import SourceRow
from tarantula.streams.kinds import ValueKind
from tarantula.streams.sources.config_part_state import SourceStatus
from tarantula.streams.views.config import ViewConfig, ViewKind, read_view
from tarantula.streams.views.defaults import default_window
from tarantula.streams.views.projection_part_sight import ViewProjection
from tarantula.web.components.alerts import AlertForm
from tarantula.web.components.background import notify_done, notify_errors, run_in_thread
from tarantula.web.components.elements import section
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.forms_part_dialogs import dialog, dialog_buttons
from tarantula.web.components.source_form import SourceForm
from tarantula.web.dashboard.pane import ViewPane
from tarantula.web.format import format_timestamp
from tarantula.web.i18n import _, language, mark, set_language
from tarantula.web.i18n_part_retelling import translate_sentence
from tarantula.web.layout import heading, page
from tarantula.web.live_part_streams_live import SourceChanges, SourceListener, source_watcher
from tarantula.web.pages.sources import STATUS_LABELS
from tarantula.web.pages.sources_part_asides import HeldReadings

EXPORT_FORMATS = {"csv": "CSV", "json": "JSON", "parquet": "Parquet", "atom": "Atom"}


@page("/sources/{name}", mark("Source"))
def source_page(desk: ServiceContext, name: str) -> None:
    """Show a source, to be looked at or changed."""
    row = streams.get_source_row(desk, name)
    heading(row.title or row.name)
    if row.title:
        text_element("p", row.name, "m-0 text-slate-600 break-all")
    text_element("p", row.description, "m-0 break-words")
    _actions(desk, row)
    _Live(desk, row)
    with section(_("Export")), ui.row():
        for ending, words in EXPORT_FORMATS.items():
            ui.link(words, f"/api/streams/{quote(name)}/export.{ending}").classes("p-2")
    if row.may_change:
        with section(_("Edit")):
            SourceForm(desk, name, streams.get_source(desk, name))


def _actions(desk: ServiceContext, row: SourceRow) -> None:
    async def follow() -> None:
        with notify_errors():
            await run_in_thread(views.add_source_view, desk, row.name)
            notify_done(_("It is on your dashboard."))

    def watch() -> None:
        AlertForm(desk, None, lambda: notify_done(_("It is watched from now on.")), row.name).open()

    async def pause() -> None:
        with notify_errors():
            await run_in_thread(streams.edit_source, desk, row.name, {"paused": not row.paused})
            ui.navigate.reload()

    with ui.row().classes("my-2"):
        ui.button(_("Put on the dashboard"), icon="dashboard", on_click=follow)
        ui.button(_("New alert"), icon="add_alert", on_click=watch).props("outline")
        if row.may_change:
            words, icon = (_("Go on reading"), "play_arrow") if row.paused else (_("Pause"), "pause")
            ui.button(words, icon=icon, on_click=pause).props("outline")
            removal = ui.button(_("Remove"), icon="delete", on_click=lambda: _removal(desk, row.name).open())
            removal.props("outline color=red-10")


def _removal(desk: ServiceContext, name: str) -> ui.dialog:
    async def remove() -> None:
        asked.close()
        with notify_errors():
            await run_in_thread(streams.remove_source, desk, name)
            ui.navigate.to("/sources")

    with dialog(_("Remove")) as asked:
        text_element("p", _("Forget the source {name} for good, with all that was read of it?", name=name))
        dialog_buttons(asked, _("Remove"), remove, icon="delete")
    return asked


class _Live:
    """What changes while somebody looks."""

    def __init__(self, desk: ServiceContext, row: SourceRow) -> None:
        self._desk, self._name, self._spoken = desk, row.name, language()
        self._listener = SourceListener(self._hear)
        self._client = ui.context.client
        self._client.on_delete(lambda: source_watcher(desk.database).remove(self._listener))
        with section(_("State")):
            self._state = ui.element("div").classes("w-full")
        self._asides = HeldReadings(desk, row, self._look)
        self._panes: list[ViewPane] = []
        if row.fields:
            with section(_("Values now")):
                self._panes.append(ViewPane(desk, _now(row), self._seen))
        if any(field.kind and ValueKind(field.kind).is_number for field in row.fields):
            with section(_("History")):
                self._panes.append(ViewPane(desk, _in_time(row), self._seen))
        ui.timer(0.01, self._begin, once=True)

    async def _begin(self) -> None:
        source_watcher(self._desk.database).add(self._listener)
        await self._look()

    async def _look(self) -> None:
        set_language(self._spoken)
        with notify_errors():
            row = await run_in_thread(streams.get_source_row, self._desk, self._name)
            rows = await run_in_thread(stream_values.list_put_aside, self._desk, self._name)
            self._state.clear()
            with self._state:
                _state(row)
            self._asides.show(rows)
            for pane in self._panes:
                await pane.refresh()

    def _seen(self, sight: ViewProjection) -> None:
        self._listener.stamps = sight.stamps

    def _hear(self, news: SourceChanges) -> None:
        if news.sources:
            with self._client:
                background_tasks.create(self._look())


def _state(row: SourceRow) -> None:
    state = _("paused") if row.paused else _(STATUS_LABELS[SourceStatus(row.status)])
    rows = [
        (_("State"), state),
        (_("Read last"), format_timestamp(row.read_at)),
        (_("Changed last"), format_timestamp(row.event_at)),
        (_("Every"), format_duration(round(row.interval)) or f"{row.interval:g}s"),
        (_("Tags"), ", ".join(row.tags) or "–"),
        (_("Owner"), _("{owner}, private", owner=row.owner) if row.private else row.owner or "–"),
    ]
    with ui.element("dl").classes("m-0 w-full flex flex-wrap gap-x-8 gap-y-2"):
        for words, value in rows:
            with ui.element("div").classes("min-w-0"):
                text_element("dt", words, "text-sm text-slate-600")
                text_element("dd", value, "m-0 break-words")
    if row.sentence:
        said = text_element(
            "p", translate_sentence(row.sentence), "mt-2 text-amber-900 break-words whitespace-pre-line"
        )
        said.props('role="status"')


def _now(row: SourceRow) -> ViewConfig:
    return read_view({"kind": ViewKind.TABLE, "parts": _parts(row)})


def _in_time(row: SourceRow) -> ViewConfig:
    return read_view({"kind": ViewKind.LINE, "window": default_window(row.interval), "parts": _parts(row)})


def _parts(row: SourceRow) -> list[dict[str, str]]:
    return [{"source": row.name, "field": field.key} for field in row.fields[:20]]
