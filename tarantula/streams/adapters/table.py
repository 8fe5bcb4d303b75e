"""Table adapter: cells of an HTML table by the titles of their rows and columns."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict
from turbohtml import Element

from tarantula.core.messages import Message
from tarantula.streams.adapters.base import (
    Adapter,
    AdapterMemory,
    NamedRow,
    ReadRow,
    SourceReading,
    SourceResponse,
    add_named_rows,
    mark_missing_fields,
    parse_page,
)
from tarantula.streams.relocate.page_text import text_of
from tarantula.streams.relocate.tables import TableGrid, find_table, grid_of, row_name
from tarantula.streams.selectors import check_css
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.suggestions import (
    LONGEST_SAMPLE,
    MOST_SAMPLES,
    MOST_SUGGESTED_FIELDS,
    MOST_SUGGESTED_ROWS,
    FieldSuggestion,
    SuggestionGroup,
    key_of,
)
from tarantula.streams.texts import check_pattern, extract_text, fold_text

MOST_SUGGESTED_TABLES = 50
VALUE_COLUMN = 1
"""Index of the value column in a table with two columns, title and value."""


class TableOptions(BaseModel):
    """Options of the `table` adapter."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    table: Annotated[str, AfterValidator(check_css)] = ""
    """CSS selector of the table; by default, the only table with all the titles."""
    named_by: str = ""
    """Title of the column with the row names; by default, the first column with letters."""
    rows: Literal["names", "places"] = "names"
    """Follow rows by their names, or by their places: 1 is the first row, whatever its name."""
    only: tuple[str, ...] = ()
    """Names or places of the rows to follow; all by default."""


class CellPlace(BaseModel):
    """Column of a field, and its row for a single value."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    column: str = ""
    """Title of the column."""
    number: int = 0
    """Number of the column, counted from 1; needed without titles, or if two titles are equal."""
    row: str = ""
    """Title of the row, for a single value in place of one in each row."""
    attribute: str = ""
    """Attribute to read in place of the text of the cell, such as href."""
    regex: Annotated[str, AfterValidator(check_pattern)] = ""
    """Regular expression for a part of the text: its first group, or the whole match."""


class TableAdapter(Adapter):
    """Read a table; columns and rows that moved are found by their titles."""

    Options = TableOptions
    Place = CellPlace

    def check(self, source: SourceConfig) -> None:
        """Require a column or a row for each field."""
        for field in source.fields:
            if not any(field.place.get(part) for part in ("column", "number", "row")):
                raise ValueError(Message("Set column, number or row in the place of {field}.", field=field.key))

    def read(self, response: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        """Read the selected rows."""
        options = TableOptions.model_validate(source.options)
        places = {field.key: CellPlace.model_validate(field.place) for field in source.fields}
        reading = SourceReading()
        titles = {fold_text(place.column) for place in places.values() if place.column}
        rows = {fold_text(place.row) for place in places.values() if place.row}
        known = memory.get("titles", {})
        table = find_table(parse_page(response), options.table, titles | set(known.values()), rows)
        if isinstance(table, str):
            reading.missing = dict.fromkeys(places, table)
            reading.memory = memory
            return reading
        _Reader(table, options, places, known, reading).read()
        mark_missing_fields(source, reading)
        return reading

    def suggest(self, response: SourceResponse) -> list[SuggestionGroup]:
        """Suggest the columns of every table, the largest table first."""
        return _suggest(response)


class _Reader:
    def __init__(
        self,
        grid: TableGrid,
        options: TableOptions,
        places: dict[str, CellPlace],
        known: dict[str, str],
        reading: SourceReading,
    ) -> None:
        self._grid, self._options, self._places, self._reading = grid, options, places, reading
        self._titles = [fold_text(title) for title in grid.titles()]
        self._known = known
        self._columns = {key: column for key in places if (column := self._column(key)) is not None}

    def read(self) -> None:
        """Read single cells and whole rows."""
        single = {key: text for key, place in self._places.items() if place.row and (text := self._single_text(key))}
        if single:
            self._reading.rows.append(ReadRow(single))
        row_columns = {key: column for key, column in self._columns.items() if not self._places[key].row}
        if row_columns:
            rows = [NamedRow(name, self._texts(cells, row_columns)) for name, cells in self._named_rows()]
            add_named_rows([row for row in rows if row.texts], self._options.only, self._reading)
        titles = {key: title for key, column in self._columns.items() if (title := self._title(column))}
        self._reading.memory = {"titles": titles} if titles else {}

    def _title(self, column: int) -> str:
        return self._titles[column] if column < len(self._titles) else ""

    def _column(self, key: str) -> int | None:
        place, missing = self._places[key], self._reading.missing
        wanted = fold_text(place.column) or self._known.get(key, "")
        if not wanted or (place.number and self._title(place.number - 1) == wanted):
            return place.number - 1 if place.number else VALUE_COLUMN
        matching = [column for column, title in enumerate(self._titles) if title == wanted]
        cells = {self._head_cell(column) for column in matching}
        if len(matching) == 1 or (matching and len(cells) == 1):
            return matching[0]
        shown = place.column or self._known[key]
        hint = Message(" Set the number of the right one.") if matching else ""
        missing[key] = Message(
            "{count} columns have the title “{title}”.{hint}",
            count=len(matching) or Message("No"),
            title=shown[:60],
            hint=hint,
        )
        return None

    def _head_cell(self, column: int) -> Element | None:
        head = self._grid.rows[self._grid.header_rows - 1] if self._grid.header_rows else []
        return head[column] if column < len(head) else None

    def _single_text(self, key: str) -> str:
        place = self._places[key]
        if key not in self._columns:
            return ""
        title = fold_text(place.row)
        rows = [cells for name, cells in self._named_rows(by_name=True) if fold_text(name) == title]
        if len(rows) != 1:
            self._reading.missing[key] = Message(
                "{count} rows have the title “{title}”.", count=len(rows) or Message("No"), title=place.row[:60]
            )
            return ""
        return self._texts(rows[0], {key: self._columns[key]}).get(key, "")

    def _named_rows(self, *, by_name: bool = False) -> list[tuple[str, list[Element | None]]]:
        grid, options = self._grid, self._options
        body = [cells for cells in grid.rows[grid.header_rows :] if len(set(cells)) > 1]
        if options.rows == "places" and not by_name:
            return [(str(number), cells) for number, cells in enumerate(body, 1)]
        column = self._titles.index(title) if (title := fold_text(options.named_by)) in self._titles else None
        return [(name, cells) for cells in body if (name := row_name(cells, column))]

    def _texts(self, cells: list[Element | None], columns: dict[str, int]) -> dict[str, str]:
        texts = {}
        for key, column in columns.items():
            cell = cells[column] if column < len(cells) else None
            if cell is not None and (text := self._text(key, cell)):
                texts[key] = text
        return texts

    def _text(self, key: str, cell: Element) -> str:
        place = self._places[key]
        if key in self._reading.missing:
            return ""
        try:
            return extract_text(_attribute(cell, place.attribute) if place.attribute else text_of(cell), place.regex)
        except ValueError as error:
            self._reading.missing[key] = str(error)
            return ""


def _attribute(cell: Element, name: str) -> str:
    return next((value for element in (cell, *cell.iter_elements()) if (value := element.attr(name))), "")


def _suggest(response: SourceResponse) -> list[SuggestionGroup]:
    document, found = parse_page(response), list[tuple[int, SuggestionGroup]]()
    for table in document.select("table")[:MOST_SUGGESTED_TABLES]:
        grid = grid_of(table)
        body = [row for row in grid.rows[grid.header_rows :] if len(set(row)) > 1]
        if body:
            found.append((len(body) * len(grid.titles()), _table_group(grid, table.css_path())))
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])]


def _table_group(grid: TableGrid, selector: str) -> SuggestionGroup:
    body = [row for row in grid.rows[grid.header_rows :] if len(set(row)) > 1]
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
