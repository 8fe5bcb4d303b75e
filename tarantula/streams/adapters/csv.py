"""CSV adapter: columns by title; the last row, the first row, or rows by key."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from io import StringIO
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict

from tarantula.core.messages import Message
from tarantula.fetch.media_types import extension_of
from tarantula.links.charset import encoding_by_label
from tarantula.streams.adapters.base import (
    Adapter,
    AdapterMemory,
    BodyFormat,
    SourceReading,
    SourceResponse,
    UnreadableResponse,
    add_rows_by_mode,
    check_not_empty,
    type_and_charset,
)
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
from tarantula.streams.texts import check_pattern, extract_text, fold_text

SEPARATORS = (",", ";", "\t", "|")
MOST_LINES = 200_000
CSV_TYPES = ("text/csv", "text/tab-separated-values")


def _check_separator(separator: str) -> str:
    if len(separator) > 1 or separator in ('"', "\n", "\r"):
        raise ValueError(
            Message("The separator must be one character, such as ; or a tab; leave it empty to detect it.")
        )
    return separator


def _check_charset(charset: str) -> str:
    if charset and encoding_by_label(charset) is None:
        raise ValueError(
            Message("There is no charset {charset!r}. Examples: utf-8, windows-1252.", charset=charset[:40])
        )
    return charset


class CsvOptions(BaseModel):
    """Options of the `csv` adapter."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    separator: Annotated[str, AfterValidator(_check_separator)] = ""
    """Separator of columns; detected from the first lines by default."""
    charset: Annotated[str, AfterValidator(_check_charset)] = ""
    """Character set; the one that the server declares, or UTF-8, by default."""
    titles: int = 1
    """Line with the column titles, counted from 1; 0 if there is none."""
    rows: Literal["last", "first", "key", "news"] = "last"
    """Rows to read: last, first, all by key, or each new one as news."""
    key: str = ""
    """Field that names the rows, if rows is key."""
    only: tuple[str, ...] = ()
    """Names of the rows to follow; all by default."""


class ColumnPlace(BaseModel):
    """Column of a field."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    column: str = ""
    """Title of the column."""
    number: int = 0
    """Number of the column, counted from 1; needed without titles, or if two titles are equal."""
    regex: Annotated[str, AfterValidator(check_pattern)] = ""
    """Regular expression for a part of the text: its first group, or the whole match."""


class CsvAdapter(Adapter):
    """Read delimited text."""

    Options = CsvOptions
    Place = ColumnPlace

    def check(self, source: SourceConfig) -> None:
        """Require a column for each field, and a valid key if rows are followed by key."""
        options = CsvOptions.model_validate(source.options)
        keys = [field.key for field in source.fields]
        if (options.rows == "key") != bool(options.key) or (options.key and options.key not in keys):
            raise ValueError(Message("To follow rows by key, set rows to key, and key to one of the fields."))
        for field in source.fields:
            if not (field.place.get("number") or (field.place.get("column") and options.titles)):
                raise ValueError(Message("Set column or number in the place of {field}.", field=field.key))

    def read(self, response: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        """Read the selected rows."""
        options = CsvOptions.model_validate(source.options)
        titles, lines = parse_csv(response, options)
        reading = SourceReading(memory=memory)
        places = {field.key: ColumnPlace.model_validate(field.place) for field in source.fields}
        columns = {
            key: number for key, place in places.items() if (number := _column_index(key, place, titles, reading)) >= 0
        }
        if options.rows in ("last", "first"):
            full = [line for line in lines if any(cell.strip() for cell in line)]
            lines = full[-1:] if options.rows == "last" else full[:1]
        rows = [_texts(line, columns, places, reading) for line in lines]
        add_rows_by_mode(rows, source, options.key, options.only, options.rows in ("key", "news"), response, reading)
        return reading

    def has_news(self, options: Mapping[str, Any]) -> bool:
        """Return whether each new line is news."""
        return options.get("rows") == "news"

    def suitability(self, response: SourceResponse) -> int:
        """Accept CSV by media type or file name, and any vague type that no other adapter accepts."""
        body = BodyFormat.of(response)
        is_table = body.media_type in CSV_TYPES or extension_of(response.url) in ("csv", "tsv")
        return 10 if is_table or body.is_vague else 0

    def suggest(self, response: SourceResponse) -> list[SuggestionGroup]:
        """Suggest every column."""
        return _suggest(response)

    def offers(self, group: SuggestionGroup) -> Iterator[DocumentOffer]:
        """Offer the last line, the first line, and each new line."""
        for rows in (RowChoice.LAST, RowChoice.FIRST, RowChoice.NEWS):
            yield DocumentOffer(rows, group.fields, {**group.options, "rows": str(rows)})


def parse_csv(response: SourceResponse, options: CsvOptions) -> tuple[list[str], list[list[str]]]:
    """Return the column titles and the lines below them; raise `UnreadableResponse` if it is not CSV."""
    check_not_empty(response)
    text = _decode(response, options.charset)
    separator = options.separator or _detect_separator(text)
    try:
        lines = list(islice(csv.reader(StringIO(text, newline=""), delimiter=separator), MOST_LINES))
    except csv.Error as error:
        raise UnreadableResponse("This is not valid CSV: {error}.", error=error) from error
    if len(lines) < options.titles:
        raise UnreadableResponse("There is no line {titles} with titles.", titles=options.titles)
    return (lines[options.titles - 1] if options.titles else []), lines[options.titles :]


def _decode(response: SourceResponse, charset: str) -> str:
    declared = encoding_by_label(charset) or encoding_by_label(type_and_charset(response.content_type)[1])
    for encoding in [declared] if declared else ["utf-8", "windows-1252"]:
        try:
            text = response.body.removeprefix(b"\xef\xbb\xbf").decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            break
        return text
    raise UnreadableResponse("The text is not in {charset}. Set the option charset.", charset=declared or "UTF-8")


def _detect_separator(text: str) -> str:
    lines = [line for line in text[:20_000].splitlines()[:10] if line.strip()]
    return max(SEPARATORS, key=lambda sign: min((line.count(sign) for line in lines), default=0))


def _column_index(key: str, place: ColumnPlace, titles: list[str], reading: SourceReading) -> int:
    if place.number and (
        not place.column or fold_text(titles[place.number - 1 : place.number][0]) == fold_text(place.column)
    ):
        return place.number - 1
    matching = [number for number, title in enumerate(titles) if fold_text(title) == fold_text(place.column)]
    if len(matching) != 1:
        reading.missing[key] = Message(
            "{count} columns have the title “{title}”.", count=len(matching) or Message("No"), title=place.column[:60]
        )
        return -1
    return matching[0]


def _texts(
    line: list[str], columns: dict[str, int], places: dict[str, ColumnPlace], reading: SourceReading
) -> dict[str, str]:
    texts = {}
    for key, number in columns.items():
        try:
            text = extract_text(line[number], places[key].regex) if number < len(line) else ""
        except ValueError as error:
            reading.missing[key] = str(error)
            continue
        if text:
            texts[key] = text
    return texts


def _suggest(response: SourceResponse) -> list[SuggestionGroup]:
    titles, lines = parse_csv(response, CsvOptions())
    taken, fields = set[str](), list[FieldSuggestion]()
    for number, title in enumerate(titles[:MOST_SUGGESTED_FIELDS]):
        texts = (line[number].strip()[:LONGEST_SAMPLE] for line in reversed(lines) if number < len(line))
        samples = list(islice(filter(None, texts), MOST_SAMPLES))
        place: dict[str, Any] = {"column": title} if title.strip() else {"number": number + 1}
        if titles.count(title) > 1:
            place["number"] = number + 1
        fields.append(FieldSuggestion(key_of(title or f"column {number + 1}", taken), title, place, samples))
    names = [line[0] for line in lines[:MOST_SUGGESTED_ROWS] if line and line[0]]
    return [SuggestionGroup({}, fields, names)] if fields else []
