"""Elements of a page."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator
from turbohtml import Document, Element

from tarantula.streams.adapter import ACCEPTED, Adapter, Answer, Doubt, Memory, Reading, Row
from tarantula.streams.document import page_of
from tarantula.streams.found.again import Found, Gone, Outcome, Unsure, follow
from tarantula.streams.found.known import Known
from tarantula.streams.found.labels import Sight
from tarantula.streams.found.looking import core, learn, path_of, rivals, texts_of
from tarantula.streams.found.words_beside import text_of
from tarantula.streams.patterns import check_pattern, taken
from tarantula.streams.selectors import by_css, by_xpath, check_css, check_xpath
from tarantula.streams.source import SourceConfig

MOST_CHOSEN = 100
"""Elements that a selector may fit, for the only text among them to be looked for."""
_NOWHERE = Element("data")


class PageOptions(BaseModel):
    """What else can be said of a page."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    selectors_only: bool = False
    """Whether selectors alone say where values are: nothing is looked for elsewhere, and nothing is doubted."""


class ElementPlace(BaseModel):
    """Where an element is."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    css: Annotated[str, AfterValidator(check_css)] = ""
    """A CSS selector."""
    xpath: Annotated[str, AfterValidator(check_xpath)] = ""
    """Or an XPath expression."""
    nth: int = 0
    """Which of several that fit, counted from 1; none is chosen unless said."""
    attribute: str = ""
    """Whose text is read in the place of the element's own."""
    regex: Annotated[str, AfterValidator(check_pattern)] = ""
    """What of the text is wanted: its first group, or all that it matches."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.css and self.xpath:
            raise ValueError("Give a CSS selector or an XPath expression, not both.")
        if self.nth < 0:
            raise ValueError("Elements are counted from 1.")
        return self


class PageAdapter(Adapter):
    """Reads elements by CSS or XPath; where the page has changed, by whatever else is known of them."""

    name = "page"
    Options = PageOptions
    Place = ElementPlace

    def check(self, source: SourceConfig) -> None:
        """Refuse a field without a selector."""
        for field in source.fields:
            if not (field.place.get("css") or field.place.get("xpath")):
                raise ValueError(f"Say where {field.key} is: give its place a css or an xpath.")

    def read(self, answer: Answer, source: SourceConfig, memory: Memory) -> Reading:
        """Read every field."""
        document = page_of(answer)
        options = PageOptions.model_validate(source.options)
        wanted = [_Wanted(field.key, ElementPlace.model_validate(field.place), document) for field in source.fields]
        sight = Sight(document, frozenset(core(one.chosen[0]) for one in wanted if len(one.chosen) == 1))
        day = (answer.at or datetime.now(UTC)).toordinal()
        known, accepted = memory.get("found", {}), memory.get(ACCEPTED, {})
        reading, texts, found = Reading(), dict[str, str](), dict[str, Any]()
        for one in wanted:
            if options.selectors_only or one.said is not None:
                outcome = one.first()
            else:
                outcome = one.followed(sight, known.get(one.key, {}), accepted.get(one.key), day)
                found[one.key] = one.remembered
            _note(one.key, outcome, reading, texts)
        if texts:
            reading.rows.append(Row(texts))
        reading.memory = {"found": found} if found else {}
        return reading


def _note(key: str, outcome: Outcome, reading: Reading, texts: dict[str, str]) -> None:
    if isinstance(outcome, Found):
        texts[key] = outcome.text
    elif isinstance(outcome, Unsure):
        reading.doubts.append(Doubt(key, outcome.text, outcome.why))
    else:
        reading.missing[key] = outcome.why


class _Wanted:
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
        elif outcome.text != known.last:
            known.saw(outcome.text)
            known.rivals = texts_of(rivals(outcome.element, known.shapes), outcome.text)
        known.doubted = []


def _several(count: int) -> str:
    return f"The selector fits {count:,} elements, not one. Write a narrower one, or say which by nth."
