"""XML: elements and attributes by XPath, with namespaces."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from lxml import etree
from pydantic import AfterValidator, BaseModel, ConfigDict

from tarantula.streams.adapters.base import Adapter, AdapterMemory, DoubtfulText, SourceReading, SourceResponse
from tarantula.streams.adapters.documents import parse_xml
from tarantula.streams.adapters.rows import MOST_READING_ROWS, add_rows_by_mode, check_key_field
from tarantula.streams.selectors import LONGEST_SELECTOR
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.texts import check_pattern, extract_text


class XmlOptions(BaseModel):
    """Options of the `xml` adapter."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    namespaces: dict[str, str] = {}
    """Namespaces by the prefixes that the expressions use."""
    rows: str = ""
    """XPath of the elements that are rows; fields are located in each row. A single row by default."""
    key: str = ""
    """Field that names the rows; without one, each new row is news."""
    only: tuple[str, ...] = ()
    """Names of the rows to follow; all by default."""


class XPathPlace(BaseModel):
    """Place of a field in XML."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    xpath: str = ""
    """XPath expression of an element, an attribute (@rate) or a text."""
    regex: Annotated[str, AfterValidator(check_pattern)] = ""
    """Regular expression for a part of the text: its first group, or the whole match."""


class XmlAdapter(Adapter):
    """Read an XML service."""

    name = "xml"
    Options = XmlOptions
    Place = XPathPlace

    def check(self, source: SourceConfig) -> None:
        """Reject invalid expressions and undeclared prefixes."""
        options = XmlOptions.model_validate(source.options)
        if options.rows:
            _tried(options.rows, options.namespaces)
        check_key_field(source, options.key, bool(options.rows))
        for field in source.fields:
            if not field.place.get("xpath"):
                raise ValueError(f"Set xpath in the place of {field.key}.")
            _tried(field.place["xpath"], options.namespaces)

    def read(self, answer: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        """Read one row, or the selected rows."""
        options = XmlOptions.model_validate(source.options)
        root, reading = parse_xml(answer), SourceReading(memory=memory)
        places = {field.key: XPathPlace.model_validate(field.place) for field in source.fields}
        scopes = _results(options.rows, options.namespaces, root)[:MOST_READING_ROWS] if options.rows else [root]
        rows = [_texts(scope, places, options.namespaces, reading) for scope in scopes if not isinstance(scope, str)]
        add_rows_by_mode(rows, source, options.key, options.only, bool(options.rows), answer, reading)
        return reading


def _texts(
    scope: Any, places: dict[str, XPathPlace], namespaces: dict[str, str], reading: SourceReading
) -> dict[str, str]:
    texts = {}
    for key, place in places.items():
        results = _results(place.xpath, namespaces, scope)
        try:
            found = list(
                dict.fromkeys(text for one in results[:100] if (text := extract_text(_text(one), place.regex)))
            )
        except ValueError as error:
            reading.missing[key] = str(error)
            continue
        if len(found) == 1 and len(results) <= 100:
            texts[key] = found[0]
        elif found:
            reading.doubts.append(
                DoubtfulText(key, found[0], f"The expression returns {len(results):,} texts, not one.")
            )
    return texts


def _text(result: Any) -> str:
    return result if isinstance(result, str) else "".join(result.itertext())


def _results(expression: str, namespaces: dict[str, str], scope: Any) -> list[Any]:
    result = _compiled(expression, tuple(sorted(namespaces.items())))(scope)
    if isinstance(result, list):
        return [one for one in result if isinstance(one, str) or isinstance(getattr(one, "tag", None), str)]
    if isinstance(result, float) and result.is_integer():
        return [str(int(result))]
    return [str(result)]


@lru_cache(maxsize=4096)
def _compiled(expression: str, namespaces: tuple[tuple[str, str], ...]) -> etree.XPath:
    return etree.XPath(expression, namespaces=dict(namespaces), regexp=False)


def _tried(expression: str, namespaces: dict[str, str]) -> None:
    if len(expression) > LONGEST_SELECTOR:
        raise ValueError(f"The expression is longer than {LONGEST_SELECTOR} characters. Write a shorter one.")
    try:
        _results(expression, namespaces, etree.fromstring("<a><b>1</b></a>"))
    except (etree.XPathError, ValueError, TypeError) as error:
        raise ValueError(f"{expression[:80]!r} is not an XPath expression: {error}.") from error
