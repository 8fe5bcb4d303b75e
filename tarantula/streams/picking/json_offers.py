"""Values of JSON, by their paths."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tarantula.streams.adapter import Answer
from tarantula.streams.adapters.json import as_text, json_of

DEEPEST = 8
MOST_LISTS = 3
"""Lists whose parts are offered as rows."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Column = tuple[str, str]
"""A path, and what is there."""


def json_places(answer: Answer, most: int) -> list[Column]:
    """Return the single values of a document, by their paths; of lists, the first part alone."""
    return [(path, as_text(value)) for path, value in _leaves(json_of(answer), "", 0)][:most]


def json_rows(answer: Answer) -> list[tuple[str, list[Column], int | None]]:
    """Return the lists of objects: their path, the values of the first part, and which of them names the rows."""
    lists = sorted(_lists(json_of(answer), "", 0), key=lambda one: -len(one[1]))[:MOST_LISTS]
    found = []
    for path, rows in lists:
        columns = [(name, as_text(value)) for name, value in _leaves(rows[0], "", 0)][:100]
        naming = (number for number, (name, _) in enumerate(columns) if _names(rows, name))
        found.append((path, columns, next(naming, None)))
    return found


def _leaves(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        for name, inside in value.items():
            yield from _leaves(inside, _joined(path, name), depth + 1)
    elif isinstance(value, list):
        if value:
            yield from _leaves(value[0], f"{path}[0]", depth + 1)
    elif value is not None and path:
        yield path, value


def _lists(value: Any, path: str, depth: int) -> Iterator[tuple[str, list[Any]]]:
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        for name, inside in value.items():
            yield from _lists(inside, _joined(path, name), depth + 1)
    elif isinstance(value, list) and len(value) > 1 and all(isinstance(row, dict) for row in value):
        yield path or "@", value


def _names(rows: list[dict[str, Any]], name: str) -> bool:
    """Whether the words at a name tell rows apart."""
    texts = [row.get(name) for row in rows]
    return all(isinstance(text, str) and text for text in texts) and len(set(map(str, texts))) == len(texts)


def _joined(path: str, name: str) -> str:
    written = name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)
    return f"{path}.{written}" if path else written
