"""The picker page: open an address, select values on it, save a source."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from nicegui import Client, ui

from tarantula.accounts.roles import Role
from tarantula.fetch.egress import EgressPolicy
from tarantula.services.context import ServiceContext
from tarantula.services.streams import sources
from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.categories import FOLDER, Category, categories
from tarantula.streams.picker.draft import SourceDraft, document_title, is_page, offers_of, source_name_for
from tarantula.streams.sources.config import BrowserAction, BrowserStep
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements import section, text_element
from tarantula.web.components.forms import FormControl, FormErrors, select_field
from tarantula.web.components.source_form import NewSourceForm, RequestForm, variables_field
from tarantula.web.i18n import _, language, mark, set_language
from tarantula.web.layout import heading, page
from tarantula.web.picker.offers import CategoryForm, OfferList
from tarantula.web.picker.selection import ReadingPreview, SelectionList
from tarantula.web.picker.service import PageRequest, PickedElement, PickerFrame, frame_address, picker_service

ACTION_LABELS = {
    BrowserAction.GO: mark("go to an address"),
    BrowserAction.FILL: mark("fill in a field"),
    BrowserAction.CHOOSE: mark("select an option"),
    BrowserAction.CLICK: mark("click"),
    BrowserAction.WAIT: mark("wait until it appears"),
}
MAX_STEPS = 20


class AccessForm:
    """How a page is reached: in a browser, by steps, with variables, request method, headers and body."""

    def __init__(self) -> None:
        self._rows: list[_StepRow] = []
        self._render = ui.switch(_("Load in a browser, with scripts"))
        with ui.expansion(_("Steps and variables")).classes("w-full border border-slate-300 rounded mb-2"):
            text_element("p", _("A browser performs the steps in order each time the source is read."), "help")
            self._step_list = ui.element("ol").classes("w-full m-0 p-0 list-none")
            ui.button(_("Add a step"), icon="add", on_click=self._add).props("flat no-caps")
            self._variables = variables_field({})
        with ui.expansion(_("Request")).classes("w-full border border-slate-300 rounded mb-2"):
            self._request_form = RequestForm()

    @property
    def controls(self) -> dict[str, FormControl]:
        """Controls by field name, for errors."""
        return {"variables": self._variables.control, **self._request_form.controls}

    @property
    def render(self) -> bool:
        """Whether a browser loads the page."""
        return bool(self._render.value or self._rows)

    def steps(self) -> list[BrowserStep]:
        """Return the steps."""
        return [row.step() for row in self._rows]

    def variables(self) -> dict[str, str]:
        """Return the variables; raise `TarantulaError` for an invalid line."""
        return self._variables.values()

    def request_fields(self) -> dict[str, Any]:
        """Return the request method, headers and body; raise `TarantulaError` for an invalid header line."""
        return self._request_form.values()

    def _add(self) -> None:
        if len(self._rows) >= MAX_STEPS:
            return
        with self._step_list:
            self._rows.append(_StepRow(self._remove))
        self._number_steps()

    def _remove(self, row: _StepRow) -> None:
        self._rows.remove(row)
        self._step_list.remove(row.element)
        self._number_steps()

    def _number_steps(self) -> None:
        for number, row in enumerate(self._rows, 1):
            row.legend.set_text(_("Step {number}", number=number))


class _StepRow:
    """Form of one step."""

    def __init__(self, remove: Callable[[_StepRow], None]) -> None:
        self.element = ui.element("li").classes("w-full")
        with self.element, ui.element("fieldset").classes("w-full border border-slate-300 rounded p-2 mb-2 min-w-0"):
            self.legend = text_element("legend", "", "text-sm font-bold px-1")
            with ui.element("div").classes("grid grid-cols-1 sm:grid-cols-3 gap-2 w-full"):
                actions = {str(action): _(label) for action, label in ACTION_LABELS.items()}
                self._action = select_field(_("Action"), actions, str(BrowserAction.CLICK))
                self._where = ui.input(_("Where: a CSS selector, or an address")).props("outlined dense maxlength=1000")
                self._value = ui.input(_("Value")).props("outlined dense maxlength=1000")
            ui.button(_("Remove"), icon="delete", on_click=lambda: remove(self)).props(
                "flat dense no-caps color=red-10"
            )

    def step(self) -> BrowserStep:
        """Return the step as the model has it."""
        return BrowserStep(
            action=BrowserAction(self._action.value),
            where=str(self._where.value or ""),
            value=str(self._value.value or ""),
        )


class PickerView:
    """The picker: address, page, selected values and the form of the new source."""

    def __init__(self, context: ServiceContext, client: Client, known: Mapping[str, Category]) -> None:
        self._context, self._client, self._known = context, client, known
        self._language = language()
        self._draft: SourceDraft | None = None
        self._request = PageRequest("")
        self._category = ""
        self._address_bar()
        self._hint = text_element("p", _("Enter the address of a page, open it, and click the value to follow."), "")
        with ui.element("div").classes("w-full grid grid-cols-1 lg:grid-cols-5 gap-4 items-start") as self._work:
            # The page stays visible while the list of selected values scrolls.
            page_section = ui.element("section").classes("min-w-0 lg:col-span-3 lg:sticky lg:top-16")
            with page_section.props(f'aria-label="{_("The page")}"'):
                self._page_section()
            with ui.element("div").classes("min-w-0 lg:col-span-2"):
                with section(_("Selected")):
                    self._selection = SelectionList(self._changed)
                with section(_("The source")):
                    self._form = NewSourceForm(self._save, lambda: self._selection.controls)
        self._work.set_visibility(False)

    def start_at(self, address: str) -> None:
        """Open an address at once, if one is given."""
        if address:
            self._address.value = address
            ui.timer(0.05, self.open, once=True)

    async def open(self) -> None:
        """Fetch the page and show it, or what it offers if it is no HTML page."""
        async with self._loading(self._errors):
            request = self._page_request()
            response, policy = await picker_service(self._client).fetch(self._context.person, request)
            self._request = request
            if is_page(response):
                await self._show_page(response, policy)
            else:
                await self._show_offers(response)

    async def _preview_source(self, values: dict[str, Any]) -> None:
        """Fetch the page of a ready-made source for a preview; errors are left to the caller."""
        async with self._loading():
            request_fields = {key: values[key] for key in ("method", "headers", "body") if key in values}
            request = PageRequest(
                values["url"], values.get("render", False), (), values.get("variables", {}), **request_fields
            )
            response, _policy = await picker_service(self._client).fetch(self._context.person, request)
            self._request = request
            self._offers.hide()
            self._framed.set_visibility(False)
            title = str(values.get("title") or "") or await run_in_thread(document_title, response)
            self._form.suggest(title=title, name=values.get("name", ""), tags=", ".join(values.get("tags", [])))
            self._form.suggest_interval(values.get("interval", 300.0))
            await self._start_draft(await run_in_thread(SourceDraft.from_source, response, values))
            self._category = values.get("category", "")

    @asynccontextmanager
    async def _loading(self, errors: FormErrors | None = None) -> AsyncIterator[None]:
        set_language(self._language)
        self._errors.clear()
        self._notice.text = _("Loading …")
        self._open_button.disable()
        self._category = ""
        try:
            with errors.capture() if errors is not None else nullcontext():
                yield
        finally:
            self._notice.text = ""
            self._open_button.enable()

    async def _show_page(self, response: SourceResponse, policy: EgressPolicy) -> None:
        key, page = await picker_service(self._client).open(self._context.person, response, policy)
        # The draft comes first: a quick click has to apply to this page, not to the previous one.
        await self._start_draft(SourceDraft(response, page.tree))
        self._offers.hide()
        self._framed.set_visibility(True)
        self._frame.show(frame_address(self._client, key))
        self._suggest(page.page.title, response.url)

    async def _show_offers(self, response: SourceResponse) -> None:
        offers = await run_in_thread(offers_of, response)
        self._framed.set_visibility(False)
        self._suggest(await run_in_thread(document_title, response), response.url)
        await self._offers.show(response, offers)

    async def _start_draft(self, draft: SourceDraft) -> None:
        self._draft = draft
        self._hint.set_visibility(False)
        self._work.set_visibility(True)
        self._form.errors.clear()
        await self._redraw()

    def _suggest(self, title: str, url: str) -> None:
        self._form.suggest(title=title, name=source_name_for(self._context.person.name, title, url))

    def _address_bar(self) -> None:
        with ui.row().classes("w-full items-start gap-2 mb-2 flex-nowrap"):
            self._address = ui.input(_("Address of the page")).classes("grow min-w-0")
            self._address.props("outlined dense type=url maxlength=2000 placeholder=https://")
            self._address.on("keydown.enter", self.open)
            self._open_button = ui.button(_("Open"), icon="travel_explore", on_click=self.open).classes("h-10")
        # Errors of the address are shown right below it.
        self._errors = FormErrors(lambda: {"url": self._address, **self._access.controls})
        self._access = AccessForm()
        CategoryForm(self._known, self._preview_source)
        # A fixed height, so that the page below does not move under the mouse.
        self._notice = ui.label().classes("text-sm w-full h-6 truncate").props('role="status"')

    def _page_request(self) -> PageRequest:
        access = self._access
        address = str(self._address.value or "").strip()
        return PageRequest(address, access.render, access.steps(), access.variables(), **access.request_fields())

    def _page_section(self) -> None:
        with ui.element("div").classes("w-full") as self._framed:
            how = _("Click a value. To follow only part of a text, select that part with the mouse.")
            text_element("p", how, "help")
            keys = _("Keyboard: ← and → move, ↑ and ↓ select more or less, Enter selects, Delete hides.")
            text_element("p", keys, "help")
            with ui.element("div").classes("w-full h-[60vh] border border-slate-400 bg-white"):
                self._frame = PickerFrame(_("Page to select values on"), self._on_pick)
        self._offers = OfferList(self._start_draft, self._redraw)
        self._offers.hide()
        self._preview = ReadingPreview()

    async def _redraw(self) -> None:
        await self._selection.show(self._draft)
        await self._preview.show(self._draft)

    async def _changed(self) -> None:
        await self._mark_selection()
        await self._preview.show(self._draft)

    async def _on_pick(self, pick: PickedElement) -> None:
        """Add the selected element to the draft. The message comes from a foreign page and can only name an element."""
        set_language(self._language)
        if self._draft is None:
            return
        with notify_errors():
            field = await run_in_thread(self._draft.pick, pick.number, pick.part)
            self._notice.text = _("Selected: {title}, {value}", title=field.title, value=field.text[:80])
        await self._mark_selection()
        await self._redraw()

    async def _mark_selection(self) -> None:
        draft = self._draft
        if draft is None:
            return
        picks = [one.pick.number for one in draft.fields if one.pick is not None]
        self._frame.mark_elements(picks, draft.similar_numbers())

    async def _save(self) -> None:
        set_language(self._language)
        with self._form.errors.capture():
            assert self._draft is not None, "the form is visible only with a draft"
            request = self._request
            fields = await run_in_thread(
                self._draft.configuration,
                **self._form.values(),
                url=request.address if request.is_template else self._draft.answer.url,
                render=request.render,
                steps=[step.model_dump() for step in request.steps],
                variables=dict(request.variables),
                method=request.method,
                headers=dict(request.headers),
                body=request.body,
                category=self._category,
            )
            added = await run_in_thread(sources.add_picked_source, self._context, fields, self._draft.answer)
            if added.sentence:
                ui.notify(_(added.sentence))
            ui.navigate.to("/dashboard")


@page("/streams/new", mark("Follow a value"), role=Role.CURATOR)
async def picker_page(context: ServiceContext, url: str = "") -> None:
    """Show the picker."""
    heading(_("Follow a value"))
    known = await run_in_thread(categories, context.installation.home / FOLDER)
    PickerView(context, ui.context.client, known).start_at(url)
