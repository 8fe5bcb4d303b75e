"""Tables of a page, and lines with columns."""

from __future__ import annotations

from itertools import islice
from typing import Any

from tarantula.streams.adapters import csv
from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.adapters.documents import parse_page
from tarantula.streams.relocate.page_text import text_of
from tarantula.streams.relocate.tables import TableGrid, grid_of
from tarantula.streams.relocate.tables_part_which_table import row_name
from tarantula.streams.suggest.suggestions_part_suggestion import (
    LONGEST_SAMPLE,
    MOST_SAMPLES,
    MOST_SUGGESTED_FIELDS,
    MOST_SUGGESTED_ROWS,
    FieldSuggestion,
    SuggestionGroup,
    key_of,
)

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
