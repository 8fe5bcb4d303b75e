"""“Which URLs would this accept?”: tried on the spot, by the rules themselves."""

from __future__ import annotations

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.services import publications
from tarantula.services.context import ServiceContext
from tarantula.services.publications_part_publication_rows import UrlVerdict
from tarantula.web.components.background import run_in_thread
from tarantula.web.components.elements_part_style import subheading, text_element
from tarantula.web.components.publication_form_part_form import PublicationForm
from tarantula.web.i18n import _
from tarantula.web.i18n_part_retelling import translate_sentence

MAX_TRIED_URLS = 50
"""URLs that are tried at a time."""


class ScopeTestBox:
    """URLs, one a line, and what would become of each."""

    def __init__(self, desk: ServiceContext, form: PublicationForm) -> None:
        self._desk, self._form = desk, form
        subheading(_("Which URLs would this accept?"))
        self._urls = ui.textarea(_("URLs, one on each line"), on_change=self._try)
        self._urls.classes("w-full").props('outlined dense autogrow debounce=300 aria-describedby="help-trying"')
        text_element(
            "p", _("The rules of scope answer for what stands in the form, before it is stored."), "help"
        ).props('id="help-trying"')
        self._answers = ui.element("ul").classes("w-full list-none p-0").props('aria-live="polite"')
        form.on_change(self._try)

    async def _try(self) -> None:
        urls = [line.strip() for line in (self._urls.value or "").splitlines() if line.strip()][:MAX_TRIED_URLS]
        try:
            found = await run_in_thread(publications.judge_urls, self._desk, self._form.fields(), urls) if urls else []
            complaint = ""
        except TarantulaError as error:
            found, complaint = [], str(error)
        self._answers.clear()
        with self._answers:
            if complaint:
                text_element("li", translate_sentence(complaint), "text-red-900")
            for one in found:
                _answer(one)


def _answer(tried: UrlVerdict) -> None:
    colour, icon, word = (
        ("green-10", "check_circle", _("accepted")) if tried.accepted else ("red-10", "cancel", _("refused"))
    )
    with ui.element("li").classes("flex gap-2 items-start py-1"):
        ui.icon(icon, color=colour, size="sm").props('aria-hidden="true"')
        with ui.element("div").classes("min-w-0"):
            text_element("p", tried.url, "font-mono text-sm break-all m-0")
            text_element("p", f"{word} · {tried.rule}: {translate_sentence(tried.reason)}", "help m-0")
