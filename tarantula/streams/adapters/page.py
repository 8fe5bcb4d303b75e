"""Page adapter: elements of an HTML page by CSS or XPath, found again when the page has changed."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict
from turbohtml import Document, Element

from tarantula.core.messages import Message
from tarantula.streams.adapters.base import (
    ACCEPTED_TEXTS,
    Adapter,
    AdapterMemory,
    BodyFormat,
    DoubtfulText,
    ReadRow,
    SourceReading,
    SourceResponse,
    parse_page,
)
from tarantula.streams.relocate.fingerprint import (
    ElementFingerprint,
    find_rivals,
    innermost_element,
    path_of,
    texts_of,
    update_fingerprint,
)
from tarantula.streams.relocate.labels import LabelledPage
from tarantula.streams.relocate.page_text import text_of
from tarantula.streams.relocate.search import Located, LocatedDoubtfully, LocateResult, NotLocated, locate
from tarantula.streams.selectors import ElementPlace, select_css, select_xpath
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.texts import extract_text

MOST_SELECTED = 100
"""Maximum number of matching elements that are searched for a common text."""
_NO_ELEMENT = Element("data")
PAGE_TYPES = ("text/html", "application/xhtml+xml")


class PageField:
    """One field of a page source on one page."""

    def __init__(self, key: str, place: ElementPlace, document: Document) -> None:
        self.key, self._place = key, place
        self.error = ""
        self.expression_text: str | None = None
        """Text or number that the XPath expression returned in place of elements."""
        self.selected = self._select(document)
        self.fingerprint: dict[str, Any] = {}

    def _select(self, document: Document) -> list[Element]:
        place = self._place
        if place.css:
            fitting = select_css(document, place.css)
        else:
            try:
                results = select_xpath(document, place.xpath)
            except ValueError as error:
                self.error = Message("The XPath expression cannot be used: {error}.", error=error)
                return []
            fitting = [one for one in results if isinstance(one, Element)]
            if not fitting and results:
                self.expression_text = (
                    self._extract(str(results[max(place.nth, 1) - 1])) if len(results) >= place.nth else ""
                )
                self.error = self.error or ("" if len(results) == 1 or place.nth else _several_match(len(results)))
        return fitting[place.nth - 1 : place.nth] if place.nth else fitting

    def text(self, element: Element) -> str:
        """Return the text of the field in an element; empty if it is not there."""
        raw = element.attr(self._place.attribute) if self._place.attribute else text_of(element)
        return self._extract(raw) if raw else ""

    def _extract(self, raw: str) -> str:
        if self.error:
            return ""
        try:
            return extract_text(raw, self._place.regex)
        except ValueError as error:
            self.error = str(error)
            return ""

    def select_only(self) -> LocateResult:
        """Return the result of the selector alone."""
        if self.expression_text is not None:
            return (
                Located(_NO_ELEMENT, self.expression_text, {})
                if self.expression_text and not self.error
                else self._not_located()
            )
        texts = {text: element for element in self.selected[:MOST_SELECTED] if (text := self.text(element))}
        if self.error or not texts:
            return self._not_located()
        text, element = next(iter(texts.items()))
        if len(texts) > 1 or len(self.selected) > MOST_SELECTED:
            return LocatedDoubtfully(text, _several_match(len(self.selected)), element)
        return Located(innermost_element(element), text, {})

    def _not_located(self) -> NotLocated:
        if self.error:
            return NotLocated(self.error)
        if not self.selected:
            return NotLocated(Message("The selector matches nothing on the page."))
        return NotLocated(Message("The element that the selector matches has no matching text."))

    def locate(self, page: LabelledPage, fingerprint: dict[str, Any], accepted: str | None, day: int) -> LocateResult:
        """Locate the value with the stored fingerprint; set `fingerprint` to the updated one."""
        place = hashlib.blake2b(self._place.model_dump_json().encode(), digest_size=6).hexdigest()
        known = ElementFingerprint.of(fingerprint) if fingerprint.get("place") == place else ElementFingerprint()
        outcome = self._locate(page, known, accepted)
        if isinstance(outcome, Located):
            self._learn(page, known, outcome, day)
        elif isinstance(outcome, LocatedDoubtfully) and outcome.element is not None:
            known.doubted = [outcome.text, path_of(outcome.element)]
        self.fingerprint = {"place": place, **known.as_json()}
        return NotLocated(self.error) if self.error else outcome

    def _locate(self, page: LabelledPage, known: ElementFingerprint, accepted: str | None) -> LocateResult:
        if accepted is not None and known.doubted[:1] == [accepted]:
            elements = page.document.select(known.doubted[1])
            if len(elements) == 1 and (text := self.text(elements[0])):
                # A person accepted this element: discard the fingerprint of the other one.
                known.shapes, known.numbers, known.paths = [], [], []
                return Located(innermost_element(elements[0]), text, {}, moved=True)
        return locate(page, known, self.selected, self.text) if known.last else self.select_only()

    def _learn(self, page: LabelledPage, known: ElementFingerprint, outcome: Located, day: int) -> None:
        if outcome.moved or day != known.day or not known.last:
            labels = outcome.labels or page.labels(outcome.element)
            update_fingerprint(page, known, outcome.element, outcome.text, labels, day)
            known.strayed = outcome.element not in [innermost_element(one) for one in self.selected[:MOST_SELECTED]]
        elif outcome.text != known.last:
            known.add_text(outcome.text)
            known.rivals = texts_of(find_rivals(outcome.element, known.shapes), outcome.text)
        known.doubted = []


def _several_match(count: int) -> str:
    return Message("The selector matches {count:,} elements, not one. Write a narrower one, or set nth.", count=count)


class PageOptions(BaseModel):
    """Options of the `page` adapter."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    selectors_only: bool = False
    """Use only selectors: do not search for values elsewhere, and put nothing aside."""


class PageAdapter(Adapter):
    """Read elements by CSS or XPath; on a changed page, by their fingerprints."""

    Options = PageOptions
    Place = ElementPlace
    has_elements = True

    def check(self, source: SourceConfig) -> None:
        """Require a selector for each field."""
        for field in source.fields:
            if not (field.place.get("css") or field.place.get("xpath")):
                raise ValueError(Message("Set css or xpath in the place of {field}.", field=field.key))

    def read(self, response: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        """Read every field."""
        document = parse_page(response)
        options = PageOptions.model_validate(source.options)
        page_fields = [
            PageField(field.key, ElementPlace.model_validate(field.place), document) for field in source.fields
        ]
        page = LabelledPage(
            document, frozenset(innermost_element(one.selected[0]) for one in page_fields if len(one.selected) == 1)
        )
        day = (response.at or datetime.now(UTC)).toordinal()
        known, accepted = memory.get("found", {}), memory.get(ACCEPTED_TEXTS, {})
        reading, texts, found = SourceReading(), dict[str, str](), dict[str, Any]()
        for one in page_fields:
            if options.selectors_only or one.expression_text is not None:
                outcome = one.select_only()
            else:
                outcome = one.locate(page, known.get(one.key, {}), accepted.get(one.key), day)
                found[one.key] = one.fingerprint
            _add_result(one.key, outcome, reading, texts)
        if texts:
            reading.rows.append(ReadRow(texts))
        reading.memory = {"found": found} if found else {}
        return reading

    def suitability(self, response: SourceResponse) -> int:
        """Accept HTML media types, and bodies of a vague type that begin with a tag."""
        body = BodyFormat.of(response)
        is_markup = body.is_vague and body.start.startswith(b"<") and not body.is_xml
        return 60 if is_markup or body.media_type in PAGE_TYPES else 0


def _add_result(key: str, outcome: LocateResult, reading: SourceReading, texts: dict[str, str]) -> None:
    if isinstance(outcome, Located):
        texts[key] = outcome.text
    elif isinstance(outcome, LocatedDoubtfully):
        reading.doubts.append(DoubtfulText(key, outcome.text, outcome.why))
    else:
        reading.missing[key] = outcome.why
