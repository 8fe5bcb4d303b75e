"""One field on one page: what its selector fits, and where its value is."""

from __future__ import annotations

import hashlib
from typing import Any

from turbohtml import Document, Element

from tarantula.streams.relocate.fingerprint import core, learn, path_of, rivals, texts_of
from tarantula.streams.relocate.fingerprint_part_known import Known
from tarantula.streams.relocate.labels import Sight
from tarantula.streams.relocate.page_text import text_of
from tarantula.streams.relocate.search_part_again import follow
from tarantula.streams.relocate.search_part_outcome import Found, Gone, Outcome, Unsure
from tarantula.streams.selectors import by_css, by_xpath
from tarantula.streams.selectors_part_element_place import ElementPlace
from tarantula.streams.texts_part_patterns import taken

MOST_CHOSEN = 100
"""Elements that a selector may fit, for the only text among them to be looked for."""
_NOWHERE = Element("data")


class Wanted:
    """One field on one page."""

    def __init__(self, key: str, place: ElementPlace, document: Document) -> None:
        self.key, self._place = key, place
        self.trouble = ""
        self.said: str | None = None
        """What an expression gave that is no element."""
        self.chosen = self._selected(document)
        self.remembered: dict[str, Any] = {}

    def _selected(self, document: Document) -> list[Element]:
        place = self._place
        if place.css:
            fitting = by_css(document, place.css)
        else:
            try:
                results = by_xpath(document, place.xpath)
            except ValueError as error:
                self.trouble = f"The XPath expression cannot be used: {error}."
                return []
            fitting = [one for one in results if isinstance(one, Element)]
            if not fitting and results:
                self.said = self._taken(str(results[max(place.nth, 1) - 1])) if len(results) >= place.nth else ""
                self.trouble = self.trouble or ("" if len(results) == 1 or place.nth else _several(len(results)))
        return fitting[place.nth - 1 : place.nth] if place.nth else fitting

    def text(self, element: Element) -> str:
        """Return what is wanted of an element; nothing if it is not there."""
        raw = element.attr(self._place.attribute) if self._place.attribute else text_of(element)
        return self._taken(raw) if raw else ""

    def _taken(self, raw: str) -> str:
        if self.trouble:
            return ""
        try:
            return taken(raw, self._place.regex)
        except ValueError as error:
            self.trouble = str(error)
            return ""

    def first(self) -> Outcome:
        """Say what the selector alone finds."""
        if self.said is not None:
            return Found(_NOWHERE, self.said, {}) if self.said and not self.trouble else self._nothing()
        texts = {text: element for element in self.chosen[:MOST_CHOSEN] if (text := self.text(element))}
        if self.trouble or not texts:
            return self._nothing()
        text, element = next(iter(texts.items()))
        if len(texts) > 1 or len(self.chosen) > MOST_CHOSEN:
            return Unsure(text, _several(len(self.chosen)), element)
        return Found(core(element), text, {})

    def _nothing(self) -> Gone:
        if self.trouble:
            return Gone(self.trouble)
        if not self.chosen:
            return Gone("The selector fits nothing on the page.")
        return Gone("What the selector fits has no text that is wanted.")

    def followed(self, sight: Sight, remembered: dict[str, Any], accepted: str | None, day: int) -> Outcome:
        """Say where the value is now, and remember how to find it again."""
        place = hashlib.blake2b(self._place.model_dump_json().encode(), digest_size=6).hexdigest()
        known = Known.of(remembered) if remembered.get("place") == place else Known()
        outcome = self._outcome(sight, known, accepted)
        if isinstance(outcome, Found):
            self._learn(sight, known, outcome, day)
        elif isinstance(outcome, Unsure) and outcome.element is not None:
            known.doubted = [outcome.text, path_of(outcome.element)]
        self.remembered = {"place": place, **known.as_json()}
        return Gone(self.trouble) if self.trouble else outcome

    def _outcome(self, sight: Sight, known: Known, accepted: str | None) -> Outcome:
        if accepted is not None and known.doubted[:1] == [accepted]:
            elements = sight.document.select(known.doubted[1])
            if len(elements) == 1 and (text := self.text(elements[0])):
                # Somebody said that this is the one: what was known of another does not count.
                known.shapes, known.numbers, known.paths = [], [], []
                return Found(core(elements[0]), text, {}, moved=True)
        return follow(sight, known, self.chosen, self.text) if known.last else self.first()

    def _learn(self, sight: Sight, known: Known, outcome: Found, day: int) -> None:
        if outcome.moved or day != known.day or not known.last:
            labels = outcome.labels or sight.labels(outcome.element)
            learn(sight, known, outcome.element, outcome.text, labels, day)
            known.strayed = outcome.element not in [core(one) for one in self.chosen[:MOST_CHOSEN]]
        elif outcome.text != known.last:
            known.saw(outcome.text)
            known.rivals = texts_of(rivals(outcome.element, known.shapes), outcome.text)
        known.doubted = []


def _several(count: int) -> str:
    return f"The selector fits {count:,} elements, not one. Write a narrower one, or say which by nth."
