"""What can be followed in a document that is no page: ways of reading it, and values to tick."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from tarantula.streams.adapters.base import Answer
from tarantula.streams.picker.draft import Draft
from tarantula.streams.picker.offers import Offer, Rows
from tarantula.streams.suggest import Suggestion
from tarantula.web.components.background import away, told
from tarantula.web.components.elements_part_style import tagged
from tarantula.web.i18n import _, language, mark, use

ROWS = {
    Rows.ONE: mark("Single values"),
    Rows.LAST: mark("The last row"),
    Rows.FIRST: mark("The first row"),
    Rows.NAMED: mark("Every row of {where}, by its name"),
    Rows.NEWS: mark("Every new row, as news"),
    Rows.NEXT: mark("What comes next in the calendar"),
}


class OfferList:
    """Offers of one document; what is ticked goes into a draft."""

    def __init__(self, begin: Callable[[Draft], Awaitable[None]], changed: Callable[[], Awaitable[None]]) -> None:
        self._begin, self._changed = begin, changed
        self._language = language()
        self._place = ui.element("div").classes("w-full p-2 overflow-y-auto max-h-[75vh]").props('tabindex="0"')

    def hide(self) -> None:
        """Show nothing."""
        self._place.clear()
        self._place.set_visibility(False)

    async def show(self, answer: Answer, offers: list[Offer], chosen: int = 0) -> None:
        """Show one of the offers, and which others there are."""
        use(self._language)
        offer = offers[chosen]
        naming = offer.named_by
        draft = Draft(answer, None, offer.adapter, offer.options, naming.place if naming is not None else None)
        if naming is not None:
            draft.offer(naming.title, _text(naming), naming.place)
        self._place.clear()
        self._place.set_visibility(True)
        with self._place:
            if len(offers) > 1:
                self._ways(answer, offers, chosen)
            tagged("p", _("Which values?"), "m-0 mt-2 font-bold")
            for value in offer.values:
                self._value(draft, value, fixed=value is naming)
        await self._begin(draft)

    def _ways(self, answer: Answer, offers: list[Offer], chosen: int) -> None:
        async def change() -> None:
            await self.show(answer, offers, int(radio.value))

        tagged("p", _("What is followed?"), "m-0 font-bold").props('id="offer-following"')
        words = {number: _way(offer) for number, offer in enumerate(offers)}
        radio = ui.radio(words, value=chosen).props('aria-labelledby="offer-following"')
        radio.on_value_change(change)

    def _value(self, draft: Draft, value: Suggestion, *, fixed: bool) -> None:
        async def change() -> None:
            use(self._language)
            with told():
                if box.value:
                    await away(draft.offer, value.title or value.key, _text(value), value.place)
                elif (taken := draft.at(value.place)) is not None:
                    await away(draft.remove, taken)
            await self._changed()

        words = ": ".join(filter(None, (value.title or value.key, _text(value)[:80])))
        box = ui.checkbox(words, value=fixed).classes("w-full break-words")
        if fixed:
            box.disable()
        else:
            box.on_value_change(change)


def _text(value: Suggestion) -> str:
    return next(iter(value.samples), "")


def _way(offer: Offer) -> str:
    words = ROWS[offer.rows]
    if "{where}" in words:
        return _(words, where=offer.where)
    return f"{_(words)} ({offer.where})" if offer.where else _(words)
