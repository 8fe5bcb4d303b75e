"""The picker page: open an address, select values on it, save a source."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from nicegui import Client, ui

from tarantula.accounts.roles import Role
from tarantula.services.context import ServiceContext
from tarantula.services.streams import sources as management
from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.picker.draft import SourceDraft, source_name_for
from tarantula.streams.picker.offers import document_title, is_page, offers_of
from tarantula.streams.sources.config import BrowserAction, BrowserStep
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements import section, text_element
from tarantula.web.components.forms import FormControl, FormErrors, select_field
from tarantula.web.components.source_form import NewSourceForm, RequestForm, variables_field
from tarantula.web.i18n import _, language, mark, set_language, translate_sentence
from tarantula.web.layout import heading, page
from tarantula.web.picker.frame import PickedElement, PickerFrame
from tarantula.web.picker.offers import CategoryForm, OfferList
from tarantula.web.picker.selection import ReadingPreview, SelectionList
from tarantula.web.picker.service import PageRequest, frame_address, picker_service

ACTION_LABELS = {
    BrowserAction.GO: mark("go to an address"),
    BrowserAction.FILL: mark("fill in a field"),
    BrowserAction.CHOOSE: mark("select an option"),
    BrowserAction.CLICK: mark("click"),
    BrowserAction.WAIT: mark("wait until it appears"),
}
MAX_STEPS = 20


class AccessForm:
    """A switch for scripts, a list of steps, what stands for words in braces, and what is sent."""

    def __init__(self) -> None:
        self._rows: list[_StepRow] = []
        self._render = ui.switch(_("Load in a browser, with scripts"))
        with ui.expansion(_("Steps and variables")).classes("w-full border border-slate-300 rounded mb-2"):
            text_element("p", _("A browser performs the steps in order each time the source is read."), "help")
            self._list = ui.element("ol").classes("w-full m-0 p-0 list-none")
            ui.button(_("Add a step"), icon="add", on_click=self._add).props("flat no-caps")
            self._variables = variables_field({})
        with ui.expansion(_("Request")).classes("w-full border border-slate-300 rounded mb-2"):
            self._sent = RequestForm()

    @property
    def controls(self) -> dict[str, FormControl]:
        """Return where what may be wrong is written."""
        return {"variables": self._variables.control, **self._sent.controls}

    @property
    def render(self) -> bool:
        """Whether a browser makes the page."""
        return bool(self._render.value or self._rows)

    def steps(self) -> list[BrowserStep]:
        """Return the steps as they stand there."""
        return [row.step() for row in self._rows]

    def variables(self) -> dict[str, str]:
        """Return the variables, or say which line is none."""
        return self._variables.values()

    def sent(self) -> dict[str, Any]:
        """Return how the server is asked, or say which line is no header."""
        return self._sent.values()

    def _add(self) -> None:
        if len(self._rows) >= MAX_STEPS:
            return
        with self._list:
            self._rows.append(_StepRow(self._remove))
        self._name()

    def _remove(self, row: _StepRow) -> None:
        self._rows.remove(row)
        self._list.remove(row.place)
        self._name()

    def _name(self) -> None:
        for number, row in enumerate(self._rows, 1):
            row.legend.set_text(_("Step {number}", number=number))


class _StepRow:
    """One step."""

    def __init__(self, remove: Callable[[_StepRow], None]) -> None:
        self.place = ui.element("li").classes("w-full")
        with self.place, ui.element("fieldset").classes("w-full border border-slate-300 rounded p-2 mb-2 min-w-0"):
            self.legend = text_element("legend", "", "text-sm font-bold px-1")
            with ui.element("div").classes("grid grid-cols-1 sm:grid-cols-3 gap-2 w-full"):
                actions = {str(action): _(words) for action, words in ACTION_LABELS.items()}
                self._action = select_field(_("Action"), actions, str(BrowserAction.CLICK))
                self._where = ui.input(_("Where: a CSS selector, or an address")).props("outlined dense maxlength=1000")
                self._value = ui.input(_("Value")).props("outlined dense maxlength=1000")
            ui.button(_("Remove"), icon="delete", on_click=lambda: remove(self)).props(
                "flat dense no-caps color=red-10"
            )

    def step(self) -> BrowserStep:
        """Return it as the model has it."""
        return BrowserStep(
            action=BrowserAction(self._action.value),
            where=str(self._where.value or ""),
            value=str(self._value.value or ""),
        )


class PickerView:
    """The whole of it, for one person."""

    def __init__(self, desk: ServiceContext, client: Client) -> None:
        self._desk, self._client = desk, client
        self._language = language()
        self._draft: SourceDraft | None = None
        self._asked = PageRequest("")
        self._category = ""
        self._bar()
        self._hint = text_element("p", _("Enter the address of a page, open it, and click the value to follow."), "")
        with ui.element("div").classes("w-full grid grid-cols-1 lg:grid-cols-5 gap-4 items-start") as self._work:
            # It stays in sight while what was chosen of it grows longer than the window.
            seen = ui.element("section").classes("min-w-0 lg:col-span-3 lg:sticky lg:top-16")
            with seen.props(f'aria-label="{_("The page")}"'):
                self._page()
            with ui.element("div").classes("min-w-0 lg:col-span-2"):
                with section(_("Selected")):
                    self._list = SelectionList(self._changed)
                with section(_("The source")):
                    self._form = NewSourceForm(self._save, lambda: self._list.controls)
        self._work.set_visibility(False)

    def begin_at(self, address: str) -> None:
        """Show a page at once, if one was asked for."""
        if address:
            self._address.value = address
            ui.timer(0.05, self.open, once=True)

    async def open(self) -> None:
        """Ask for the page at the address, and show it."""
        async with self._asking(self._complaints):
            wish = self._wish()
            answer, private = await picker_service(self._client).ask(self._desk.person, wish)
            self._asked = wish
            if is_page(answer):
                await self._show_page(answer, private)
            else:
                await self._show_offers(answer)

    async def _prepare(self, values: dict[str, Any]) -> None:
        """Read a source that a category made, before it is saved; whoever asked says what went wrong."""
        async with self._asking():
            sent = {key: values[key] for key in ("method", "headers", "body") if key in values}
            wish = PageRequest(values["url"], values.get("render", False), (), values.get("variables", {}), **sent)
            answer, _private = await picker_service(self._client).ask(self._desk.person, wish)
            self._asked = wish
            self._offers.hide()
            self._framed.set_visibility(False)
            title = str(values.get("title") or "") or await run_in_thread(document_title, answer)
            self._form.suggest(title=title, name=values.get("name", ""), tags=", ".join(values.get("tags", [])))
            self._form.suggest_interval(values.get("interval", 300.0))
            await self._begin(await run_in_thread(SourceDraft.prepared, answer, values))
            self._category = values.get("category", "")

    @asynccontextmanager
    async def _asking(self, complaints: FormErrors | None = None) -> AsyncIterator[None]:
        set_language(self._language)
        self._complaints.clear()
        self._notice.text = _("Loading …")
        self._opening.disable()
        self._category = ""
        try:
            with complaints.told() if complaints is not None else nullcontext():
                yield
        finally:
            self._notice.text = ""
            self._opening.enable()

    async def _show_page(self, answer: SourceResponse, private: bool) -> None:
        key, look = await picker_service(self._client).open(self._desk.person, answer, allow_private=private)
        # Before it is shown: whoever clicks at once means this page, and not the one before.
        await self._begin(SourceDraft(answer, look.tree))
        self._offers.hide()
        self._framed.set_visibility(True)
        self._frame.show(frame_address(self._client, key))
        self._suggest(look.page.title, answer.url)

    async def _show_offers(self, answer: SourceResponse) -> None:
        offers = await run_in_thread(offers_of, answer)
        self._framed.set_visibility(False)
        self._suggest(await run_in_thread(document_title, answer), answer.url)
        await self._offers.show(answer, offers)

    async def _begin(self, draft: SourceDraft) -> None:
        self._draft = draft
        self._hint.set_visibility(False)
        self._work.set_visibility(True)
        self._form.complaints.clear()
        await self._listed()

    def _suggest(self, title: str, url: str) -> None:
        self._form.suggest(title=title, name=source_name_for(self._desk.person.name, title, url))

    def _bar(self) -> None:
        with ui.row().classes("w-full items-start gap-2 mb-2 flex-nowrap"):
            self._address = ui.input(_("Address of the page")).classes("grow min-w-0")
            self._address.props("outlined dense type=url maxlength=2000 placeholder=https://")
            self._address.on("keydown.enter", self.open)
            self._opening = ui.button(_("Open"), icon="travel_explore", on_click=self.open).classes("h-10")
        # Both are there when somebody complains: what is wrong with the address is said right below it.
        self._complaints = FormErrors(lambda: {"url": self._address, **self._way_there.controls})
        self._way_there = AccessForm()
        CategoryForm(self._desk, self._prepare)
        # One line, also while it says nothing: the page below must not move away from under the mouse.
        self._notice = ui.label().classes("text-sm w-full h-6 truncate").props('role="status"')

    def _wish(self) -> PageRequest:
        there = self._way_there
        address = str(self._address.value or "").strip()
        return PageRequest(address, there.render, there.steps(), there.variables(), **there.sent())

    def _page(self) -> None:
        with ui.element("div").classes("w-full") as self._framed:
            how = _("Click a value. To follow only part of a text, select that part with the mouse.")
            text_element("p", how, "help")
            keys = _("Keyboard: ← and → move, ↑ and ↓ select more or less, Enter selects, Delete hides.")
            text_element("p", keys, "help")
            with ui.element("div").classes("w-full h-[60vh] border border-slate-400 bg-white"):
                self._frame = PickerFrame(_("Page to select values on"), self._pointed)
        self._offers = OfferList(self._begin, self._listed)
        self._offers.hide()
        self._now = ReadingPreview()

    async def _listed(self) -> None:
        await self._list.show(self._draft)
        await self._now.show(self._draft)

    async def _changed(self) -> None:
        await self._marked()
        await self._now.show(self._draft)

    async def _pointed(self, pointed: PickedElement) -> None:
        """Take what somebody pointed at; whoever spoke for the page can name an element, and no more than that."""
        set_language(self._language)
        if self._draft is None:
            return
        with notify_errors():
            taken = await run_in_thread(self._draft.point, pointed.number, pointed.part)
            self._notice.text = _("Selected: {title}, {value}", title=taken.title, value=taken.text[:80])
        await self._marked()
        await self._listed()

    async def _marked(self) -> None:
        draft = self._draft
        if draft is None:
            return
        picks = [one.pick.number for one in draft.fields if one.pick is not None]
        self._frame.mark_elements(picks, draft.like_numbers())

    async def _save(self) -> None:
        set_language(self._language)
        with self._form.complaints.told():
            assert self._draft is not None, "the form is seen beside a draft"
            asked = self._asked
            fields = await run_in_thread(
                self._draft.configuration,
                **self._form.values(),
                url=asked.address if asked.is_template else self._draft.answer.url,
                render=asked.render,
                steps=[step.model_dump() for step in asked.steps],
                variables=dict(asked.variables),
                method=asked.method,
                headers=dict(asked.headers),
                body=asked.body,
                category=self._category,
            )
            added = await run_in_thread(management.add_picked_source, self._desk, fields, self._draft.answer)
            if added.sentence:
                ui.notify(translate_sentence(added.sentence))
            ui.navigate.to("/dashboard")


@page("/streams/new", mark("Follow a value"), needed=Role.CURATOR)
def picker_page(desk: ServiceContext, url: str = "") -> None:
    """Show a page to be pointed at."""
    heading(_("Follow a value"))
    PickerView(desk, ui.context.client).begin_at(url)
