"""JSON adapter: values by JMESPath."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict

from tarantula.core.messages import Message
from tarantula.links.charset import decode_text
from tarantula.streams.adapters.base import (
    MOST_READING_ROWS,
    Adapter,
    AdapterMemory,
    BodyFormat,
    DoubtfulText,
    SourceReading,
    SourceResponse,
    UnreadableResponse,
    add_rows_by_mode,
    check_key_field,
    check_not_empty,
    type_and_charset,
)
from tarantula.streams.selectors import LONGEST_SELECTOR
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.suggestions import (
    LONGEST_SAMPLE,
    MOST_SAMPLES,
    MOST_SUGGESTED_FIELDS,
    MOST_SUGGESTED_ROWS,
    DocumentOffer,
    FieldSuggestion,
    RowChoice,
    SuggestionGroup,
    key_of,
)
from tarantula.streams.texts import check_pattern, extract_text

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

if TYPE_CHECKING:
    from jmespath.parser import ParsedResult


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> ParsedResult:
    import jmespath
    from jmespath.exceptions import JMESPathError

    if len(expression) > LONGEST_SELECTOR:
        raise ValueError(
            Message("The expression is longer than {limit} characters. Write a shorter one.", limit=LONGEST_SELECTOR)
        )
    try:
        return jmespath.compile(expression)
    except (JMESPathError, RecursionError) as error:
        raise ValueError(
            Message(
                "{expression!r} is not a JMESPath expression: {error}",
                expression=expression[:80],
                error=_first_line(error),
            )
        ) from error


def check_path(expression: str) -> str:
    """Return a valid JMESPath expression; raise `ValueError` if it is not one."""
    if expression:
        _compiled(expression)
    return expression


class JsonOptions(BaseModel):
    """Options of the `json` adapter."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    rows: Annotated[str, AfterValidator(check_path)] = ""
    """JMESPath of a list whose elements are rows; fields are located in each row. A single row by default."""
    key: str = ""
    """Field that names the rows; without one, each new row is news."""
    only: tuple[str, ...] = ()
    """Names of the rows to follow; all by default."""


class JmesPlace(BaseModel):
    """Place of a field in JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    path: Annotated[str, AfterValidator(check_path)] = ""
    """JMESPath expression: main.temp, quotes[?symbol=='EDP'].price | [0]."""
    regex: Annotated[str, AfterValidator(check_pattern)] = ""
    """Regular expression for a part of the text: its first group, or the whole match."""


class JsonAdapter(Adapter):
    """Read a JSON service."""

    Options = JsonOptions
    Place = JmesPlace

    def check(self, source: SourceConfig) -> None:
        """Require an expression for each field."""
        options = JsonOptions.model_validate(source.options)
        check_key_field(source, options.key, bool(options.rows))
        for field in source.fields:
            if not field.place.get("path"):
                raise ValueError(Message("Set path in the place of {field}.", field=field.key))

    def read(self, response: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        """Read one row, or the selected rows."""
        options = JsonOptions.model_validate(source.options)
        document, reading = parse_json(response), SourceReading(memory=memory)
        places = {field.key: JmesPlace.model_validate(field.place) for field in source.fields}
        scopes = [document]
        if options.rows:
            found = _evaluate(options.rows, document)
            if not isinstance(found, list):
                raise UnreadableResponse("{rows!r} does not return a list of rows.", rows=options.rows[:80])
            scopes = found[:MOST_READING_ROWS]
        rows = [_texts(scope, places, reading) for scope in scopes]
        add_rows_by_mode(rows, source, options.key, options.only, bool(options.rows), response, reading)
        return reading

    def has_news(self, options: Mapping[str, Any]) -> bool:
        """Rows without a key are news."""
        return bool(options.get("rows")) and not options.get("key")

    def suitability(self, response: SourceResponse) -> int:
        """Accept JSON media types, and bodies of a vague type that begin as JSON."""
        body = BodyFormat.of(response)
        is_json = body.media_type.endswith(("/json", "+json"))
        return 50 if is_json or (body.is_vague and body.start[:1] in (b"{", b"[")) else 0

    def suggest(self, response: SourceResponse) -> list[SuggestionGroup]:
        """Suggest single values of the document, and the fields of every list of objects."""
        return _suggest(response)

    def offers(self, group: SuggestionGroup) -> Iterator[DocumentOffer]:
        """Offer lists by name, if a field can name their rows, and as news."""
        if not group.options:
            yield from super().offers(group)
            return
        where = str(group.options["rows"])
        naming = next((one for one in group.fields if one.can_name_rows), None)
        if naming is not None:
            yield DocumentOffer(RowChoice.NAMED, group.fields, group.options, naming, where)
        yield DocumentOffer(RowChoice.NEWS, group.fields, group.options, where=where)


def parse_json(response: SourceResponse) -> Any:
    """Return the decoded JSON document; raise `UnreadableResponse` if it is not JSON."""
    check_not_empty(response)
    text, _ = decode_text(response.body, type_and_charset(response.content_type)[1])
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except RecursionError as error:
        raise UnreadableResponse("The JSON is nested too deeply.") from error
    except json.JSONDecodeError as error:
        raise UnreadableResponse("This is not JSON: {error}.", error=error) from error
    except ValueError as error:
        # Python refuses to parse integers of more than 4,300 digits.
        raise UnreadableResponse("The JSON contains a number with thousands of digits.") from error


def _evaluate(path: str, scope: Any) -> Any:
    from jmespath.exceptions import JMESPathError

    try:
        return _compiled(path).search(scope)
    except RecursionError as error:
        raise UnreadableResponse("The JSON is nested too deeply.") from error
    except JMESPathError as error:
        raise UnreadableResponse(
            "{path!r} cannot be used on this: {error}", path=path[:80], error=_first_line(error)
        ) from error


def _texts(scope: Any, places: dict[str, JmesPlace], reading: SourceReading) -> dict[str, str]:
    texts = {}
    for key, place in places.items():
        try:
            result = _evaluate(place.path, scope)
            if isinstance(result, list) and len(result) == 1:
                result = result[0]
            text = extract_text(as_text(result), place.regex)
        except ValueError as error:
            reading.missing[key] = str(error)
            continue
        if isinstance(result, (list, dict)):
            if result:
                kind = "a list" if isinstance(result, list) else "an object"
                reading.doubts.append(
                    DoubtfulText(key, text[:200], Message("The expression returns {kind}, not one value.", kind=kind))
                )
        elif text:
            texts[key] = text
    return texts


def as_text(value: Any) -> str:
    """Return a JSON value as text; strings without quotes."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".:") + "."


def _suggest(response: SourceResponse) -> list[SuggestionGroup]:
    document = parse_json(response)
    suggestions = [
        SuggestionGroup({"rows": path or "@"}, fields, [])
        for path, rows in _object_lists(document, "")
        if (fields := _row_fields(rows))
    ]
    taken = set[str]()
    single = [
        FieldSuggestion(key_of(path, taken), path, {"path": path}, [as_text(value)[:LONGEST_SAMPLE]])
        for path, value in islice(_scalars(document, ""), MOST_SUGGESTED_FIELDS)
    ]
    return [SuggestionGroup({}, single, []), *suggestions] if single else suggestions


def _row_fields(rows: list[dict[str, Any]]) -> list[FieldSuggestion]:
    taken, samples = set[str](), dict[str, list[str]]()
    for row in rows[:MOST_SUGGESTED_ROWS]:
        for path, value in islice(_scalars(row, ""), MOST_SUGGESTED_FIELDS):
            texts = samples.setdefault(path, [])
            if len(texts) < MOST_SAMPLES:
                texts.append(as_text(value)[:LONGEST_SAMPLE])
    named = list(samples.items())[:MOST_SUGGESTED_FIELDS]
    return [FieldSuggestion(key_of(path, taken), path, {"path": path}, texts) for path, texts in named]


def _scalars(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield every scalar with the expression that finds it."""
    if isinstance(value, dict) and depth < 8:
        for key, inner in value.items():
            yield from _scalars(inner, f"{path}.{_path_key(key)}" if path else _path_key(key), depth + 1)
    elif isinstance(value, list) and depth < 8:
        for number, inner in enumerate(value[:3]):
            yield from _scalars(inner, f"{path}[{number}]", depth + 1)
    elif path and value is not None and not isinstance(value, (dict, list)):
        yield path, value


def _object_lists(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield every list of objects with the expression that finds it."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        yield path, value
    elif isinstance(value, dict) and depth < 6:
        for key, inner in value.items():
            yield from _object_lists(inner, f"{path}.{_path_key(key)}" if path else _path_key(key), depth + 1)


def _path_key(key: str) -> str:
    if _PLAIN_KEY.fullmatch(key):
        return key
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
