"""What there is in an answer that could be followed: for whoever picks, on a page or at a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple, get_args

from tarantula.streams.adapter import Answer
from tarantula.streams.adapters import csv, feed, ical
from tarantula.streams.adapters.json import as_text, json_of
from tarantula.streams.document import page_of
from tarantula.streams.found.grid import Grid, grid_of
from tarantula.streams.found.words_beside import text_of
from tarantula.streams.words import folded
from tarantula.streams.xml_trees import tree_of

MOST_FIELDS = 100
MOST_SAMPLES = 5
MOST_ROWS = 50
MOST_TABLES = 50
LONGEST_SAMPLE = 200
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_IN_KEYS = re.compile(r"[^a-z0-9]+")


class Suggestion(NamedTuple):
    """A field that could be followed."""

    key: str
    title: str
    place: dict[str, Any]
    samples: list[str]
    """A few of its texts, from which its kind is guessed."""


class Suggestions(NamedTuple):
    """What one table, list or document offers."""

    options: dict[str, Any]
    """For the adapter, so that these fields are found."""
    fields: list[Suggestion]
    rows: list[str]
    """Names of rows that could be followed; none if there is one only."""


def suggest(answer: Answer, adapter: str) -> list[Suggestions]:
    """Return what an adapter could read of an answer, the likeliest first; raise `CannotRead` if it is not for it."""
    found = {
        "table": _of_tables,
        "json": _of_json,
        "xml": _of_xml,
        "csv": _of_csv,
        "feed": _of_feed,
        "ical": _of_calendar,
    }.get(adapter)
    return found(answer) if found else []


def key_of(title: str, taken: set[str]) -> str:
    """Return a key for a title that no other field has."""
    plain = _NOT_IN_KEYS.sub("_", folded(title)).strip("_")[:50]
    stem = plain if plain[:1].isalpha() else f"field_{plain}".rstrip("_")
    key, number = stem, 1
    while key in taken:
        number += 1
        key = f"{stem}_{number}"
    taken.add(key)
    return key


def _of_tables(answer: Answer) -> list[Suggestions]:
    document, found = page_of(answer), list[tuple[int, Suggestions]]()
    for table in document.select("table")[:MOST_TABLES]:
        grid = grid_of(table)
        body = [row for row in grid.rows[grid.heads :] if len(set(row)) > 1]
        if body:
            found.append((len(body) * len(grid.titles()), _of_table(grid, table.css_path())))
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])]


def _of_table(grid: Grid, selector: str) -> Suggestions:
    body = [row for row in grid.rows[grid.heads :] if len(set(row)) > 1]
    taken, fields = set[str](), list[Suggestion]()
    titles = grid.titles()
    for column, title in enumerate(titles[:MOST_FIELDS]):
        cells = (row[column] for row in body if column < len(row))
        texts = (text_of(cell)[:LONGEST_SAMPLE] for cell in cells if cell is not None)
        samples = list(islice(filter(None, texts), MOST_SAMPLES))
        place: dict[str, Any] = {"column": title} if title else {}
        if not title or titles.count(title) > 1:
            place["number"] = column + 1
        if samples:
            fields.append(Suggestion(key_of(title or f"column {column + 1}", taken), title, place, samples))
    names = [_name_of([text_of(cell) for cell in row if cell is not None]) for row in body[:MOST_ROWS]]
    return Suggestions({"table": selector}, fields, [name for name in names if name])


def _name_of(texts: list[str]) -> str:
    return next((text for text in texts if any(map(str.isalpha, text))), next(iter(texts), ""))


def _of_json(answer: Answer) -> list[Suggestions]:
    document = json_of(answer)
    suggestions = [
        Suggestions({"rows": path or "@"}, fields, [])
        for path, rows in _lists(document, "")
        if (fields := _of_rows(rows))
    ]
    taken = set[str]()
    single = [
        Suggestion(key_of(path, taken), path, {"path": path}, [as_text(value)[:LONGEST_SAMPLE]])
        for path, value in islice(_values(document, ""), MOST_FIELDS)
    ]
    return [Suggestions({}, single, []), *suggestions] if single else suggestions


def _of_rows(rows: list[dict[str, Any]]) -> list[Suggestion]:
    taken, samples = set[str](), dict[str, list[str]]()
    for row in rows[:MOST_ROWS]:
        for path, value in islice(_values(row, ""), MOST_FIELDS):
            texts = samples.setdefault(path, [])
            if len(texts) < MOST_SAMPLES:
                texts.append(as_text(value)[:LONGEST_SAMPLE])
    named = list(samples.items())[:MOST_FIELDS]
    return [Suggestion(key_of(path, taken), path, {"path": path}, texts) for path, texts in named]


def _values(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield every value that is no list and no object, with the expression that finds it."""
    if isinstance(value, dict) and depth < 8:
        for key, inner in value.items():
            yield from _values(inner, f"{path}.{_quoted(key)}" if path else _quoted(key), depth + 1)
    elif isinstance(value, list) and depth < 8:
        for number, inner in enumerate(value[:3]):
            yield from _values(inner, f"{path}[{number}]", depth + 1)
    elif path and value is not None and not isinstance(value, (dict, list)):
        yield path, value


def _lists(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield every list of objects, with the expression that finds it."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        yield path, value
    elif isinstance(value, dict) and depth < 6:
        for key, inner in value.items():
            yield from _lists(inner, f"{path}.{_quoted(key)}" if path else _quoted(key), depth + 1)


def _quoted(key: str) -> str:
    if _PLAIN_KEY.fullmatch(key):
        return key
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _of_xml(answer: Answer) -> list[Suggestions]:
    root, taken, fields = tree_of(answer), set[str](), list[Suggestion]()
    for element in islice(root.iter(), 10 * MOST_FIELDS):
        if not isinstance(element.tag, str) or len(fields) >= MOST_FIELDS:
            continue
        path = root.getroottree().getpath(element)
        name = element.tag.rpartition("}")[2]
        if len(element) == 0 and (text := " ".join((element.text or "").split())[:LONGEST_SAMPLE]):
            fields.append(Suggestion(key_of(name, taken), name, {"xpath": path}, [text]))
        for attribute, value in element.attrib.items():
            plain = attribute.rpartition("}")[2]
            title = f"{name} {plain}"
            if value and plain == attribute:
                place = {"xpath": f"{path}/@{plain}"}
                fields.append(Suggestion(key_of(title, taken), title, place, [value[:LONGEST_SAMPLE]]))
    spaces = {prefix: space for prefix, space in root.nsmap.items() if prefix}
    options = {"namespaces": spaces} if spaces else {}
    return [Suggestions(options, fields[:MOST_FIELDS], [])] if fields else []


def _of_csv(answer: Answer) -> list[Suggestions]:
    titles, lines = csv.lines_of(answer, csv.CsvOptions())
    taken, fields = set[str](), list[Suggestion]()
    for number, title in enumerate(titles[:MOST_FIELDS]):
        texts = (line[number].strip()[:LONGEST_SAMPLE] for line in reversed(lines) if number < len(line))
        samples = list(islice(filter(None, texts), MOST_SAMPLES))
        place: dict[str, Any] = {"column": title} if title.strip() else {"number": number + 1}
        if titles.count(title) > 1:
            place["number"] = number + 1
        fields.append(Suggestion(key_of(title or f"column {number + 1}", taken), title, place, samples))
    names = [line[0] for line in lines[:MOST_ROWS] if line and line[0]]
    return [Suggestions({}, fields, names)] if fields else []


def _of_feed(answer: Answer) -> list[Suggestions]:
    entries = feed.entries_of(answer)[:MOST_SAMPLES]
    fields = [
        Suggestion(part, part.capitalize(), {"part": part}, texts)
        for part in get_args(feed.Part)
        if (texts := [text for one in entries if (text := feed.text_of_part(one, part)[:LONGEST_SAMPLE])])
    ]
    return [Suggestions({}, fields, [])] if fields else []


def _of_calendar(answer: Answer) -> list[Suggestions]:
    events = list(islice(ical.calendar_of(answer).walk("VEVENT"), MOST_SAMPLES))
    fields = [
        Suggestion(part, part.capitalize(), {"part": part}, texts)
        for part in get_args(ical.Part)
        if (texts := [text for one in events if (text := ical.text_of_part(one, part)[:LONGEST_SAMPLE])])
    ]
    return [Suggestions({}, fields, [])] if fields else []
