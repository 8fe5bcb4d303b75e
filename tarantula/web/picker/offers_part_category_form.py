"""Ready-made categories: a choice, a field or two, and a source is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from tarantula.services.context import ServiceContext
from tarantula.streams.categories import FOLDER, categories
from tarantula.streams.categories.category import AnswerKind, Category, FormQuestion
from tarantula.streams.categories.category_part_making import form_questions, source_from_answers
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.components.forms import FormErrors
from tarantula.web.components.forms_part_dialogs import select_field
from tarantula.web.i18n import _, language, set_language


class CategoryForm:
    """The form of the category that is chosen; what it makes of the answers is handed over."""

    def __init__(self, desk: ServiceContext, take: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        self._take = take
        self._language = language()
        self._known = categories(desk.installation.home / FOLDER)
        self._controls: dict[str, ui.input | ui.select] = {}
        titles = {name: _(category.title) for name, category in self._known.items()}
        with ui.expansion(_("Ready-made: a feed, the weather, a quote …")) as whole:
            whole.classes("w-full border border-slate-300 rounded mb-2")
            chosen = select_field(_("Category"), titles, "feed" if "feed" in titles else next(iter(titles)))
            self._place = ui.element("div").classes("w-full mt-2")
        chosen.on_value_change(lambda event: self._show(self._known[event.value]))
        self._show(self._known[chosen.value])

    def _show(self, category: Category) -> None:
        set_language(self._language)
        self._controls.clear()
        self._place.clear()
        with self._place:
            text_element("p", _(category.help) if category.help else "", "help")
            with ui.element("div").classes("grid grid-cols-1 sm:grid-cols-2 gap-3 w-full"):
                for question in form_questions(category):
                    with ui.element("div").classes("min-w-0"):
                        self._controls[question.key] = _control(question)
                        text_element("p", _(question.help) if question.help else "", "help m-0")
            complaints = FormErrors(lambda: self._controls)
            ui.button(_("Read it"), icon="bolt", on_click=lambda: self._make(category, complaints)).classes("mt-2")

    async def _make(self, category: Category, complaints: FormErrors) -> None:
        set_language(self._language)
        with complaints.told():
            await self._take(
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
