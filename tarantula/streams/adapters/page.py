"""Elements of a page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from tarantula.streams.adapters.base import (
    ACCEPTED_TEXTS,
    Adapter,
    AdapterMemory,
    DoubtfulText,
    ReadRow,
    SourceReading,
    SourceResponse,
)
from tarantula.streams.adapters.documents import parse_page
from tarantula.streams.adapters.page_part_wanted import PageField
from tarantula.streams.relocate.fingerprint import innermost_element
from tarantula.streams.relocate.labels import LabelledPage
from tarantula.streams.relocate.search_part_outcome import Located, LocatedDoubtfully, LocateResult
from tarantula.streams.selectors_part_element_place import ElementPlace
from tarantula.streams.sources.config import SourceConfig


class PageOptions(BaseModel):
    """What else can be said of a page."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    selectors_only: bool = False
    """Whether selectors alone say where values are: nothing is looked for elsewhere, and nothing is doubted."""


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

    def read(self, answer: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        """Read every field."""
        document = parse_page(answer)
        options = PageOptions.model_validate(source.options)
        wanted = [PageField(field.key, ElementPlace.model_validate(field.place), document) for field in source.fields]
        sight = LabelledPage(
            document, frozenset(innermost_element(one.chosen[0]) for one in wanted if len(one.chosen) == 1)
        )
        day = (answer.at or datetime.now(UTC)).toordinal()
        known, accepted = memory.get("found", {}), memory.get(ACCEPTED_TEXTS, {})
        reading, texts, found = SourceReading(), dict[str, str](), dict[str, Any]()
        for one in wanted:
            if options.selectors_only or one.said is not None:
                outcome = one.first()
            else:
                outcome = one.followed(sight, known.get(one.key, {}), accepted.get(one.key), day)
                found[one.key] = one.remembered
            _note(one.key, outcome, reading, texts)
        if texts:
            reading.rows.append(ReadRow(texts))
        reading.memory = {"found": found} if found else {}
        return reading


def _note(key: str, outcome: LocateResult, reading: SourceReading, texts: dict[str, str]) -> None:
    if isinstance(outcome, Located):
        texts[key] = outcome.text
    elif isinstance(outcome, LocatedDoubtfully):
        reading.doubts.append(DoubtfulText(key, outcome.text, outcome.why))
    else:
        reading.missing[key] = outcome.why
