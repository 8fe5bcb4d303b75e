"""One field on one page: what its selector fits, and where its value is."""

from __future__ import annotations

import hashlib
from typing import Any

from turbohtml import Document, Element

from tarantula.streams.relocate.fingerprint import find_rivals, innermost_element, path_of, texts_of, update_fingerprint
from tarantula.streams.relocate.fingerprint_part_known import ElementFingerprint
from tarantula.streams.relocate.labels import LabelledPage
from tarantula.streams.relocate.page_text import text_of
from tarantula.streams.relocate.search_part_again import locate
from tarantula.streams.relocate.search_part_outcome import Located, LocatedDoubtfully, LocateResult, NotLocated
from tarantula.streams.selectors import select_css, select_xpath
from tarantula.streams.selectors_part_element_place import ElementPlace
from tarantula.streams.texts_part_patterns import extract_text

MOST_SELECTED = 100
"""Elements that a selector may fit, for the only text among them to be looked for."""
_NOWHERE = Element("data")


class PageField:
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
            fitting = select_css(document, place.css)
        else:
            try:
                results = select_xpath(document, place.xpath)
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
            return extract_text(raw, self._place.regex)
        except ValueError as error:
            self.trouble = str(error)
            return ""

    def first(self) -> LocateResult:
        """Say what the selector alone finds."""
        if self.said is not None:
            return Located(_NOWHERE, self.said, {}) if self.said and not self.trouble else self._nothing()
        texts = {text: element for element in self.chosen[:MOST_SELECTED] if (text := self.text(element))}
        if self.trouble or not texts:
            return self._nothing()
        text, element = next(iter(texts.items()))
        if len(texts) > 1 or len(self.chosen) > MOST_SELECTED:
            return LocatedDoubtfully(text, _several(len(self.chosen)), element)
        return Located(innermost_element(element), text, {})

    def _nothing(self) -> NotLocated:
        if self.trouble:
            return NotLocated(self.trouble)
        if not self.chosen:
            return NotLocated("The selector fits nothing on the page.")
        return NotLocated("What the selector fits has no text that is wanted.")

    def followed(self, sight: LabelledPage, remembered: dict[str, Any], accepted: str | None, day: int) -> LocateResult:
        """Say where the value is now, and remember how to find it again."""
        place = hashlib.blake2b(self._place.model_dump_json().encode(), digest_size=6).hexdigest()
        known = ElementFingerprint.of(remembered) if remembered.get("place") == place else ElementFingerprint()
        outcome = self._outcome(sight, known, accepted)
        if isinstance(outcome, Located):
            self._learn(sight, known, outcome, day)
        elif isinstance(outcome, LocatedDoubtfully) and outcome.element is not None:
            known.doubted = [outcome.text, path_of(outcome.element)]
        self.remembered = {"place": place, **known.as_json()}
        return NotLocated(self.trouble) if self.trouble else outcome

    def _outcome(self, sight: LabelledPage, known: ElementFingerprint, accepted: str | None) -> LocateResult:
        if accepted is not None and known.doubted[:1] == [accepted]:
            elements = sight.document.select(known.doubted[1])
            if len(elements) == 1 and (text := self.text(elements[0])):
                # Somebody said that this is the one: what was known of another does not count.
                known.shapes, known.numbers, known.paths = [], [], []
                return Located(innermost_element(elements[0]), text, {}, moved=True)
        return locate(sight, known, self.chosen, self.text) if known.last else self.first()

    def _learn(self, sight: LabelledPage, known: ElementFingerprint, outcome: Located, day: int) -> None:
        if outcome.moved or day != known.day or not known.last:
            labels = outcome.labels or sight.labels(outcome.element)
            update_fingerprint(sight, known, outcome.element, outcome.text, labels, day)
            known.strayed = outcome.element not in [innermost_element(one) for one in self.chosen[:MOST_SELECTED]]
        elif outcome.text != known.last:
            known.saw(outcome.text)
            known.rivals = texts_of(find_rivals(outcome.element, known.shapes), outcome.text)
        known.doubted = []


def _several(count: int) -> str:
    return f"The selector fits {count:,} elements, not one. Write a narrower one, or say which by nth."
