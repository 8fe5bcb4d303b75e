"""XML adapter: elements and attributes by XPath, with namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any

from lxml import etree
from pydantic import AfterValidator, BaseModel, ConfigDict

from tarantula.core.limited_worker import is_worker
from tarantula.core.messages import Message
from tarantula.streams.adapters.base import (
    MOST_READING_ROWS,
    Adapter,
    AdapterMemory,
    BodyFormat,
    DoubtfulText,
    SourceReading,
    SourceResponse,
    add_rows_by_mode,
    check_key_field,
    parse_xml,
)
from tarantula.streams.expression_cost import is_cheap_xpath
from tarantula.streams.limited import check_in_worker
from tarantula.streams.selectors import LONGEST_SELECTOR
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.suggestions import (
    LONGEST_SAMPLE,
    MOST_SUGGESTED_FIELDS,
    FieldSuggestion,
    SuggestionGroup,
    key_of,
)
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

    Options = XmlOptions
    Place = XPathPlace

    def check(self, source: SourceConfig) -> None:
        """Reject invalid expressions and undeclared prefixes."""
        options = XmlOptions.model_validate(source.options)
        if options.rows:
            check_xml_expression(options.rows, options.namespaces)
        check_key_field(source, options.key, bool(options.rows))
        for field in source.fields:
            if not field.place.get("xpath"):
                raise ValueError(Message("Set xpath in the place of {field}.", field=field.key))
            check_xml_expression(field.place["xpath"], options.namespaces)

    def read(self, response: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        """Read one row, or the selected rows."""
        options = XmlOptions.model_validate(source.options)
        root, reading = parse_xml(response), SourceReading(memory=memory)
        places = {field.key: XPathPlace.model_validate(field.place) for field in source.fields}
        scopes = _evaluate(options.rows, options.namespaces, root)[:MOST_READING_ROWS] if options.rows else [root]
        rows = [_texts(scope, places, options.namespaces, reading) for scope in scopes if not isinstance(scope, str)]
        add_rows_by_mode(rows, source, options.key, options.only, bool(options.rows), response, reading)
        return reading

    def has_news(self, options: Mapping[str, Any]) -> bool:
        """Rows without a key are news."""
        return bool(options.get("rows")) and not options.get("key")

    def suitability(self, response: SourceResponse) -> int:
        """Accept any XML; feeds are better read by their own adapter."""
        return 20 if BodyFormat.of(response).is_xml else 0

    def suggest(self, response: SourceResponse) -> list[SuggestionGroup]:
        """Suggest the texts and attributes of elements."""
        return _suggest(response)


def _texts(
    scope: Any, places: dict[str, XPathPlace], namespaces: dict[str, str], reading: SourceReading
) -> dict[str, str]:
    texts = {}
    for key, place in places.items():
        results = _evaluate(place.xpath, namespaces, scope)
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
                DoubtfulText(
                    key, found[0], Message("The expression returns {count:,} texts, not one.", count=len(results))
                )
            )
    return texts


def _text(result: Any) -> str:
    return result if isinstance(result, str) else "".join(result.itertext())


def _evaluate(expression: str, namespaces: dict[str, str], scope: Any) -> list[Any]:
    result = _compiled(expression, tuple(sorted(namespaces.items())))(scope)
    if isinstance(result, list):
        return [one for one in result if isinstance(one, str) or isinstance(getattr(one, "tag", None), str)]
    if isinstance(result, float) and result.is_integer():
        return [str(int(result))]
    return [str(result)]


@lru_cache(maxsize=4096)
def _compiled(expression: str, namespaces: tuple[tuple[str, str], ...]) -> etree.XPath:
    return etree.XPath(expression, namespaces=dict(namespaces), regexp=False)


def check_xml_expression(expression: str, namespaces: dict[str, str]) -> None:
    """Raise `ValueError` if an XPath expression is invalid or takes too long."""
    if len(expression) > LONGEST_SELECTOR:
        raise ValueError(
            Message("The expression is longer than {limit} characters. Write a shorter one.", limit=LONGEST_SELECTOR)
        )
    if not is_worker() and not is_cheap_xpath(expression):
        check_in_worker("xml", expression, tuple(sorted(namespaces.items())))
        return
    try:
        _evaluate(expression, namespaces, etree.fromstring("<a><b>1</b></a>"))
    except (etree.XPathError, ValueError, TypeError) as error:
        raise ValueError(
            Message("{expression!r} is not an XPath expression: {error}.", expression=expression[:80], error=error)
        ) from error


def _suggest(response: SourceResponse) -> list[SuggestionGroup]:
    root, taken, fields = parse_xml(response), set[str](), list[FieldSuggestion]()
    for element in islice(root.iter(), 10 * MOST_SUGGESTED_FIELDS):
        if not isinstance(element.tag, str) or len(fields) >= MOST_SUGGESTED_FIELDS:
            continue
        path = root.getroottree().getpath(element)
        name = element.tag.rpartition("}")[2]
        if len(element) == 0 and (text := " ".join((element.text or "").split())[:LONGEST_SAMPLE]):
            fields.append(FieldSuggestion(key_of(name, taken), name, {"xpath": path}, [text]))
        for attribute, value in element.attrib.items():
            plain = attribute.rpartition("}")[2]
            title = f"{name} {plain}"
            if value and plain == attribute:
                place = {"xpath": f"{path}/@{plain}"}
                fields.append(FieldSuggestion(key_of(title, taken), title, place, [value[:LONGEST_SAMPLE]]))
    spaces = {prefix: space for prefix, space in root.nsmap.items() if prefix}
    options = {"namespaces": spaces} if spaces else {}
    return [SuggestionGroup(options, fields[:MOST_SUGGESTED_FIELDS], [])] if fields else []
