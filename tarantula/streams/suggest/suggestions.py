"""Values of JSON and of XML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.adapters.documents_part_xml_trees import parse_xml
from tarantula.streams.adapters.json import as_text, parse_json
from tarantula.streams.suggest.suggestions_part_suggestion import (
    LONGEST_SAMPLE,
    MOST_SAMPLES,
    MOST_SUGGESTED_FIELDS,
    MOST_SUGGESTED_ROWS,
    FieldSuggestion,
    SuggestionGroup,
    key_of,
)

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
