"""“Which URLs would this accept?”: tried on the spot, by the rules themselves."""

from __future__ import annotations

from nicegui import ui

from tarantula.core.errors import TarantulaError
from tarantula.services import publications
from tarantula.services.context import Desk
from tarantula.services.publications_part_publication_rows import Tried
from tarantula.web.components.background import away
from tarantula.web.components.elements_part_style import subheading, tagged
from tarantula.web.components.publication_form_part_form import PublicationForm
from tarantula.web.i18n import _
from tarantula.web.i18n_part_retelling import retold

MOST = 50
"""URLs that are tried at a time."""


class TryingBox:
    """URLs, one a line, and what would become of each."""

    def __init__(self, desk: Desk, form: PublicationForm) -> None:
        self._desk, self._form = desk, form
        subheading(_("Which URLs would this accept?"))
        self._urls = ui.textarea(_("URLs, one on each line"), on_change=self._try)
        self._urls.classes("w-full").props('outlined dense autogrow debounce=300 aria-describedby="help-trying"')
        tagged("p", _("The rules of scope answer for what stands in the form, before it is stored."), "help").props(
            'id="help-trying"'
        )
        self._answers = ui.element("ul").classes("w-full list-none p-0").props('aria-live="polite"')
        form.on_change(self._try)

    async def _try(self) -> None:
        urls = [line.strip() for line in (self._urls.value or "").splitlines() if line.strip()][:MOST]
        try:
            found = await away(publications.tried, self._desk, self._form.fields(), urls) if urls else []
            complaint = ""
        except TarantulaError as error:
            found, complaint = [], str(error)
        self._answers.clear()
        with self._answers:
            if complaint:
                tagged("li", retold(complaint), "text-red-900")
            for one in found:
                _answer(one)


def _answer(tried: Tried) -> None:
    colour, icon, word = (
        ("green-10", "check_circle", _("accepted")) if tried.accepted else ("red-10", "cancel", _("refused"))
    )
    with ui.element("li").classes("flex gap-2 items-start py-1"):
        ui.icon(icon, color=colour, size="sm").props('aria-hidden="true"')
        with ui.element("div").classes("min-w-0"):
            tagged("p", tried.url, "font-mono text-sm break-all m-0")
            tagged("p", f"{word} · {tried.rule}: {retold(tried.reason)}", "help m-0")
