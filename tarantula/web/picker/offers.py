"""Sources that need no pointing: ready-made categories, and values offered by documents that are not HTML pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nicegui import ui

from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.categories import (
    AnswerKind,
    Category,
    FormQuestion,
    form_questions,
    source_from_answers,
)
from tarantula.streams.picker.draft import SourceDraft
from tarantula.streams.suggestions import DocumentOffer, FieldSuggestion, RowChoice
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements import text_element
from tarantula.web.components.forms import FormErrors, select_field
from tarantula.web.i18n import _, language, mark, set_language


class CategoryForm:
    """Form of a ready-made category; passes the resulting source fields to a callback."""

    def __init__(self, known: Mapping[str, Category], on_source: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        self._on_source = on_source
        self._language = language()
        self._categories = known
        self._controls: dict[str, ui.input | ui.select] = {}
        titles = {name: _(category.title) for name, category in self._categories.items()}
        with ui.expansion(_("Ready-made: a feed, the weather, a quote …")) as expansion:
            expansion.classes("w-full border border-slate-300 rounded mb-2")
            chosen = select_field(_("Category"), titles, "feed" if "feed" in titles else next(iter(titles)))
            self._container = ui.element("div").classes("w-full mt-2")
        chosen.on_value_change(lambda event: self._show(self._categories[event.value]))
        self._show(self._categories[chosen.value])

    def _show(self, category: Category) -> None:
        set_language(self._language)
        self._controls.clear()
        self._container.clear()
        with self._container:
            text_element("p", _(category.help) if category.help else "", "help")
            with ui.element("div").classes("grid grid-cols-1 sm:grid-cols-2 gap-3 w-full"):
                for question in form_questions(category):
                    with ui.element("div").classes("min-w-0"):
                        self._controls[question.key] = _control(question)
                        text_element("p", _(question.help) if question.help else "", "help m-0")
            errors = FormErrors(lambda: self._controls)
            ui.button(_("Preview"), icon="bolt", on_click=lambda: self._create(category, errors)).classes("mt-2")

    async def _create(self, category: Category, errors: FormErrors) -> None:
        set_language(self._language)
        with errors.capture():
            await self._on_source(
                source_from_answers(category, {key: str(one.value or "") for key, one in self._controls.items()})
            )


def _control(question: FormQuestion) -> ui.input | ui.select:
    label = _(question.label)
    if question.kind is AnswerKind.CHOICE:
        options = {answer: answer for answer in question.choices}
        return select_field(label, options, question.default or next(iter(options)))
    line = ui.input(label, value=question.default).classes("w-full").props("outlined dense maxlength=2000")
    line.props["placeholder"] = question.example
    return line


ROW_LABELS = {
    RowChoice.ONE: mark("Single values"),
    RowChoice.LAST: mark("The last row"),
    RowChoice.FIRST: mark("The first row"),
    RowChoice.NAMED: mark("Every row of {where}, by name"),
    RowChoice.NEWS: mark("Every new row, as news"),
    RowChoice.NEXT: mark("Next calendar event"),
}


class OfferList:
    """Offers of one document; selected values are added to a draft."""

    def __init__(
        self, on_draft: Callable[[SourceDraft], Awaitable[None]], on_change: Callable[[], Awaitable[None]]
    ) -> None:
        self._on_draft, self._on_change = on_draft, on_change
        self._language = language()
        self._container = ui.element("div").classes("w-full p-2 overflow-y-auto max-h-[75vh]").props('tabindex="0"')

    def hide(self) -> None:
        """Hide the list."""
        self._container.clear()
        self._container.set_visibility(False)

    async def show(self, answer: SourceResponse, offers: list[DocumentOffer], chosen: int = 0) -> None:
        """Show one of the offers, and the choice of the others."""
        set_language(self._language)
        offer = offers[chosen]
        naming = offer.named_by
        draft = SourceDraft(answer, None, offer.adapter, offer.options, naming.place if naming is not None else None)
        if naming is not None:
            draft.add_value(naming.title, _text(naming), naming.place)
        self._container.clear()
        self._container.set_visibility(True)
        with self._container:
            if len(offers) > 1:
                self._offer_choice(answer, offers, chosen)
            text_element("p", _("Values to follow"), "m-0 mt-2 font-bold")
            for value in offer.values:
                self._value(draft, value, fixed=value is naming)
        await self._on_draft(draft)

    def _offer_choice(self, answer: SourceResponse, offers: list[DocumentOffer], chosen: int) -> None:
        async def change() -> None:
            await self.show(answer, offers, int(radio.value))

        text_element("p", _("What to follow"), "m-0 font-bold").props('id="offer-following"')
        labels = {number: _offer_label(offer) for number, offer in enumerate(offers)}
        radio = ui.radio(labels, value=chosen).props('aria-labelledby="offer-following"')
        radio.on_value_change(change)

    def _value(self, draft: SourceDraft, value: FieldSuggestion, *, fixed: bool) -> None:
        async def change() -> None:
            set_language(self._language)
            with notify_errors():
                if box.value:
                    await run_in_thread(draft.add_value, value.title or value.key, _text(value), value.place)
                elif (field := draft.field_at(value.place)) is not None:
                    await run_in_thread(draft.remove, field)
            await self._on_change()

        label = ": ".join(filter(None, (value.title or value.key, _text(value)[:80])))
        box = ui.checkbox(label, value=fixed).classes("w-full break-words")
        if fixed:
            box.disable()
        else:
            box.on_value_change(change)


def _text(value: FieldSuggestion) -> str:
    return next(iter(value.samples), "")


def _offer_label(offer: DocumentOffer) -> str:
    label = ROW_LABELS[offer.rows]
    if "{where}" in label:
        return _(label, where=offer.where)
    return f"{_(label)} ({offer.where})" if offer.where else _(label)
