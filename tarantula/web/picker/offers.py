"""What can be followed in a document that is no page: ways of reading it, and values to tick."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.picker.draft import SourceDraft
from tarantula.streams.picker.offers import DocumentOffer, RowChoice
from tarantula.streams.suggest import FieldSuggestion
from tarantula.web.components.background import notify_errors, run_in_thread
from tarantula.web.components.elements_part_style import text_element
from tarantula.web.i18n import _, language, mark, set_language

ROW_LABELS = {
    RowChoice.ONE: mark("Single values"),
    RowChoice.LAST: mark("The last row"),
    RowChoice.FIRST: mark("The first row"),
    RowChoice.NAMED: mark("Every row of {where}, by its name"),
    RowChoice.NEWS: mark("Every new row, as news"),
    RowChoice.NEXT: mark("What comes next in the calendar"),
}


class OfferList:
    """Offers of one document; what is ticked goes into a draft."""

    def __init__(self, begin: Callable[[SourceDraft], Awaitable[None]], changed: Callable[[], Awaitable[None]]) -> None:
        self._begin, self._changed = begin, changed
        self._language = language()
        self._place = ui.element("div").classes("w-full p-2 overflow-y-auto max-h-[75vh]").props('tabindex="0"')

    def hide(self) -> None:
        """Show nothing."""
        self._place.clear()
        self._place.set_visibility(False)

    async def show(self, answer: SourceResponse, offers: list[DocumentOffer], chosen: int = 0) -> None:
        """Show one of the offers, and which others there are."""
        set_language(self._language)
        offer = offers[chosen]
        naming = offer.named_by
        draft = SourceDraft(answer, None, offer.adapter, offer.options, naming.place if naming is not None else None)
        if naming is not None:
            draft.offer(naming.title, _text(naming), naming.place)
        self._place.clear()
        self._place.set_visibility(True)
        with self._place:
            if len(offers) > 1:
                self._ways(answer, offers, chosen)
            text_element("p", _("Which values?"), "m-0 mt-2 font-bold")
            for value in offer.values:
                self._value(draft, value, fixed=value is naming)
        await self._begin(draft)

    def _ways(self, answer: SourceResponse, offers: list[DocumentOffer], chosen: int) -> None:
        async def change() -> None:
            await self.show(answer, offers, int(radio.value))

        text_element("p", _("What is followed?"), "m-0 font-bold").props('id="offer-following"')
        words = {number: _way(offer) for number, offer in enumerate(offers)}
        radio = ui.radio(words, value=chosen).props('aria-labelledby="offer-following"')
        radio.on_value_change(change)

    def _value(self, draft: SourceDraft, value: FieldSuggestion, *, fixed: bool) -> None:
        async def change() -> None:
            set_language(self._language)
            with notify_errors():
                if box.value:
                    await run_in_thread(draft.offer, value.title or value.key, _text(value), value.place)
                elif (taken := draft.at(value.place)) is not None:
                    await run_in_thread(draft.remove, taken)
            await self._changed()

        words = ": ".join(filter(None, (value.title or value.key, _text(value)[:80])))
        box = ui.checkbox(words, value=fixed).classes("w-full break-words")
        if fixed:
            box.disable()
        else:
            box.on_value_change(change)


def _text(value: FieldSuggestion) -> str:
    return next(iter(value.samples), "")


def _way(offer: DocumentOffer) -> str:
    words = ROW_LABELS[offer.rows]
    if "{where}" in words:
        return _(words, where=offer.where)
    return f"{_(words)} ({offer.where})" if offer.where else _(words)
