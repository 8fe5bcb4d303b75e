"""Field suggestions for HTML tables, CSV, JSON, XML, feeds and calendars."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple, get_args

from tarantula.streams.adapters import csv, feed, ical
from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.adapters.documents import parse_page, parse_xml
from tarantula.streams.adapters.json import as_text, parse_json
from tarantula.streams.relocate.page_text import text_of
from tarantula.streams.relocate.tables import TableGrid, grid_of, row_name
from tarantula.streams.texts import fold_text

MOST_SUGGESTED_FIELDS = 100
MOST_SAMPLES = 5
MOST_SUGGESTED_ROWS = 50
LONGEST_SAMPLE = 200
_NOT_IN_KEYS = re.compile(r"[^a-z0-9]+")


class FieldSuggestion(NamedTuple):
    """A field that could be followed."""

    key: str
    title: str
    place: dict[str, Any]
    samples: list[str]
    """Some of its texts, to guess its kind."""


class SuggestionGroup(NamedTuple):
    """Fields of one table, list or document."""

    options: dict[str, Any]
    """Adapter options that select the table or list."""
    fields: list[FieldSuggestion]
    rows: list[str]
    """Names of rows that could be followed; empty for a single row."""


def key_of(title: str, taken: set[str]) -> str:
    """Return a key made from a title that is not in *taken*, and add it."""
    plain = _NOT_IN_KEYS.sub("_", fold_text(title)).strip("_")[:50]
    stem = plain if plain[:1].isalpha() else f"field_{plain}".rstrip("_")
    key, number = stem, 1
    while key in taken:
        number += 1
        key = f"{stem}_{number}"
    taken.add(key)
    return key


_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def suggest_json(answer: SourceResponse) -> list[SuggestionGroup]:
    document = parse_json(answer)
    suggestions = [
        SuggestionGroup({"rows": path or "@"}, fields, [])
        for path, rows in _lists(document, "")
        if (fields := _of_rows(rows))
    ]
    taken = set[str]()
    single = [
        FieldSuggestion(key_of(path, taken), path, {"path": path}, [as_text(value)[:LONGEST_SAMPLE]])
        for path, value in islice(_values(document, ""), MOST_SUGGESTED_FIELDS)
    ]
    return [SuggestionGroup({}, single, []), *suggestions] if single else suggestions


def _of_rows(rows: list[dict[str, Any]]) -> list[FieldSuggestion]:
    taken, samples = set[str](), dict[str, list[str]]()
    for row in rows[:MOST_SUGGESTED_ROWS]:
        for path, value in islice(_values(row, ""), MOST_SUGGESTED_FIELDS):
            texts = samples.setdefault(path, [])
            if len(texts) < MOST_SAMPLES:
                texts.append(as_text(value)[:LONGEST_SAMPLE])
    named = list(samples.items())[:MOST_SUGGESTED_FIELDS]
    return [FieldSuggestion(key_of(path, taken), path, {"path": path}, texts) for path, texts in named]


def _values(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield every scalar with the expression that finds it."""
    if isinstance(value, dict) and depth < 8:
        for key, inner in value.items():
            yield from _values(inner, f"{path}.{_quoted(key)}" if path else _quoted(key), depth + 1)
    elif isinstance(value, list) and depth < 8:
        for number, inner in enumerate(value[:3]):
            yield from _values(inner, f"{path}[{number}]", depth + 1)
    elif path and value is not None and not isinstance(value, (dict, list)):
        yield path, value


def _lists(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield every list of objects with the expression that finds it."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        yield path, value
    elif isinstance(value, dict) and depth < 6:
        for key, inner in value.items():
            yield from _lists(inner, f"{path}.{_quoted(key)}" if path else _quoted(key), depth + 1)


def _quoted(key: str) -> str:
    if _PLAIN_KEY.fullmatch(key):
        return key
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def suggest_xml(answer: SourceResponse) -> list[SuggestionGroup]:
    root, taken, fields = parse_xml(answer), set[str](), list[FieldSuggestion]()
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


def suggest_feed(answer: SourceResponse) -> list[SuggestionGroup]:
    entries = feed.entries_of(answer)[:MOST_SAMPLES]
    fields = [
        FieldSuggestion(part, part.capitalize(), {"part": part}, texts)
        for part in get_args(feed.FeedPart)
        if (texts := [text for one in entries if (text := feed.text_of_part(one, part, answer.url)[:LONGEST_SAMPLE])])
    ]
    return [SuggestionGroup({}, fields, [])] if fields else []


def suggest_calendar(answer: SourceResponse) -> list[SuggestionGroup]:
    events = list(islice(ical.parse_calendar(answer).walk("VEVENT"), MOST_SAMPLES))
    fields = [
        FieldSuggestion(part, part.capitalize(), {"part": part}, texts)
        for part in get_args(ical.EventPart)
        if (texts := [text for one in events if (text := ical.text_of_part(one, part)[:LONGEST_SAMPLE])])
    ]
    return [SuggestionGroup({}, fields, [])] if fields else []


MOST_SUGGESTED_TABLES = 50


def suggest_tables(answer: SourceResponse) -> list[SuggestionGroup]:
    document, found = parse_page(answer), list[tuple[int, SuggestionGroup]]()
    for table in document.select("table")[:MOST_SUGGESTED_TABLES]:
        grid = grid_of(table)
        body = [row for row in grid.rows[grid.heads :] if len(set(row)) > 1]
        if body:
            found.append((len(body) * len(grid.titles()), _of_table(grid, table.css_path())))
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])]


def _of_table(grid: TableGrid, selector: str) -> SuggestionGroup:
    body = [row for row in grid.rows[grid.heads :] if len(set(row)) > 1]
    taken, fields = set[str](), list[FieldSuggestion]()
    titles = grid.titles()
    for column, title in enumerate(titles[:MOST_SUGGESTED_FIELDS]):
        cells = (row[column] for row in body if column < len(row))
        texts = (text_of(cell)[:LONGEST_SAMPLE] for cell in cells if cell is not None)
        samples = list(islice(filter(None, texts), MOST_SAMPLES))
        place: dict[str, Any] = {"column": title} if title else {}
        if not title or titles.count(title) > 1:
            place["number"] = column + 1
        if samples:
            fields.append(FieldSuggestion(key_of(title or f"column {column + 1}", taken), title, place, samples))
    names = [row_name(row, None) for row in body[:MOST_SUGGESTED_ROWS]]
    return SuggestionGroup({"table": selector}, fields, [name for name in names if name])


def suggest_csv(answer: SourceResponse) -> list[SuggestionGroup]:
    titles, lines = csv.parse_csv(answer, csv.CsvOptions())
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
