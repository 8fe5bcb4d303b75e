"""One source: its values now and in time, how reading it goes, what was put aside, and its form."""

from __future__ import annotations

from urllib.parse import quote

from nicegui import background_tasks, ui

from tarantula.core.times import format_duration
from tarantula.services.context import Desk
from tarantula.services.streams import sources as streams
from tarantula.services.streams import values as stream_values
from tarantula.services.streams import views
from tarantula.services.streams.sources_part_rows import SourceRow
from tarantula.streams.kinds import Kind
from tarantula.streams.sources.config_part_state import Status
from tarantula.streams.views.config import ViewConfig, ViewKind, read
from tarantula.streams.views.defaults import usual_window
from tarantula.streams.views.projection_part_sight import Sight
from tarantula.web.components.alerts import AlertForm
from tarantula.web.components.background import away, say, told
from tarantula.web.components.elements import section
from tarantula.web.components.elements_part_style import tagged
from tarantula.web.components.forms_part_dialogs import buttons, dialog
from tarantula.web.components.source_form import SourceForm
from tarantula.web.dashboard.pane import ViewPane
from tarantula.web.format import at_shown
from tarantula.web.i18n import _, language, mark, use
from tarantula.web.i18n_part_retelling import retold
from tarantula.web.layout import heading, page
from tarantula.web.live_part_streams_live import Listener, News, lookout
from tarantula.web.pages.sources import STATES
from tarantula.web.pages.sources_part_asides import Asides

EXPORTS = {"csv": "CSV", "json": "JSON", "parquet": "Parquet", "atom": "Atom"}


@page("/sources/{name}", mark("Source"))
def source(desk: Desk, name: str) -> None:
    """Show a source, to be looked at or changed."""
    row = streams.row(desk, name)
    heading(row.title or row.name)
    if row.title:
        tagged("p", row.name, "m-0 text-slate-600 break-all")
    tagged("p", row.description, "m-0 break-words")
    _actions(desk, row)
    _Live(desk, row)
    with section(_("Export")), ui.row():
        for ending, words in EXPORTS.items():
            ui.link(words, f"/api/streams/{quote(name)}/export.{ending}").classes("p-2")
    if row.may_change:
        with section(_("Edit")):
            SourceForm(desk, name, streams.shown(desk, name))


def _actions(desk: Desk, row: SourceRow) -> None:
    async def follow() -> None:
        with told():
            await away(views.add_source, desk, row.name)
            say(_("It is on your dashboard."))

    def watch() -> None:
        AlertForm(desk, None, lambda: say(_("It is watched from now on.")), row.name).open()

    async def pause() -> None:
        with told():
            await away(streams.edit, desk, row.name, {"paused": not row.paused})
            ui.navigate.reload()

    with ui.row().classes("my-2"):
        ui.button(_("Put on the dashboard"), icon="dashboard", on_click=follow)
        ui.button(_("New alert"), icon="add_alert", on_click=watch).props("outline")
        if row.may_change:
            words, icon = (_("Go on reading"), "play_arrow") if row.paused else (_("Pause"), "pause")
            ui.button(words, icon=icon, on_click=pause).props("outline")
            removal = ui.button(_("Remove"), icon="delete", on_click=lambda: _removal(desk, row.name).open())
            removal.props("outline color=red-10")


def _removal(desk: Desk, name: str) -> ui.dialog:
    async def remove() -> None:
        asked.close()
        with told():
            await away(streams.remove, desk, name)
            ui.navigate.to("/sources")

    with dialog(_("Remove")) as asked:
        tagged("p", _("Forget the source {name} for good, with all that was read of it?", name=name))
        buttons(asked, _("Remove"), remove, icon="delete")
    return asked


class _Live:
    """What changes while somebody looks."""

    def __init__(self, desk: Desk, row: SourceRow) -> None:
        self._desk, self._name, self._spoken = desk, row.name, language()
        self._listener = Listener(self._hear)
        self._client = ui.context.client
        self._client.on_delete(lambda: lookout(desk.database).remove(self._listener))
        with section(_("State")):
            self._state = ui.element("div").classes("w-full")
        self._asides = Asides(desk, row, self._look)
        self._panes: list[ViewPane] = []
        if row.fields:
            with section(_("Values now")):
                self._panes.append(ViewPane(desk, _now(row), self._seen))
        if any(field.kind and Kind(field.kind).is_number for field in row.fields):
            with section(_("History")):
                self._panes.append(ViewPane(desk, _in_time(row), self._seen))
        ui.timer(0.01, self._begin, once=True)

    async def _begin(self) -> None:
        lookout(self._desk.database).add(self._listener)
        await self._look()

    async def _look(self) -> None:
        use(self._spoken)
        with told():
            row = await away(streams.row, self._desk, self._name)
            rows = await away(stream_values.put_aside, self._desk, self._name)
            self._state.clear()
            with self._state:
                _state(row)
            self._asides.show(rows)
            for pane in self._panes:
                await pane.refresh()

    def _seen(self, sight: Sight) -> None:
        self._listener.stamps = sight.stamps

    def _hear(self, news: News) -> None:
        if news.sources:
            with self._client:
                background_tasks.create(self._look())


def _state(row: SourceRow) -> None:
    state = _("paused") if row.paused else _(STATES[Status(row.status)])
    rows = [
        (_("State"), state),
        (_("Read last"), at_shown(row.read_at)),
        (_("Changed last"), at_shown(row.event_at)),
        (_("Every"), format_duration(round(row.interval)) or f"{row.interval:g}s"),
        (_("Tags"), ", ".join(row.tags) or "–"),
        (_("Owner"), _("{owner}, private", owner=row.owner) if row.private else row.owner or "–"),
    ]
    with ui.element("dl").classes("m-0 w-full flex flex-wrap gap-x-8 gap-y-2"):
        for words, value in rows:
            with ui.element("div").classes("min-w-0"):
                tagged("dt", words, "text-sm text-slate-600")
                tagged("dd", value, "m-0 break-words")
    if row.sentence:
        said = tagged("p", retold(row.sentence), "mt-2 text-amber-900 break-words whitespace-pre-line")
        said.props('role="status"')


def _now(row: SourceRow) -> ViewConfig:
    return read({"kind": ViewKind.TABLE, "parts": _parts(row)})


def _in_time(row: SourceRow) -> ViewConfig:
    return read({"kind": ViewKind.LINE, "window": usual_window(row.interval), "parts": _parts(row)})


def _parts(row: SourceRow) -> list[dict[str, str]]:
    return [{"source": row.name, "field": field.key} for field in row.fields[:20]]
