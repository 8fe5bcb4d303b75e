"""Parse responses and evaluate expressions of people in worker processes: both sides.

Whatever is small and cheap for certain is done in this process, since a worker costs more than it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tarantula.core.errors import TarantulaError
from tarantula.core.limited_worker import is_worker, run_limited
from tarantula.core.messages import Message

if TYPE_CHECKING:
    from tarantula.streams.adapters.base import AdapterMemory, SourceReading, SourceResponse
    from tarantula.streams.sources.config import SourceConfig
    from tarantula.streams.suggestions import DocumentOffer

WORKER = "streams"
"""Function of `tarantula.core.limited_worker.FUNCTIONS`."""
READ_SECONDS = 10.0
"""Time limit of one response in a worker."""
CHECK_SECONDS = 3.0
"""Time limit of an expression on the small document with which it is validated."""
IN_PROCESS_BYTES = 32 * 1024
"""Largest response that is read in this process."""
IN_PROCESS_FEED_BYTES = 8 * 1024
"""The same for feeds, whose parser takes quadratic time."""
IN_PROCESS_BYTES_OF = {"feed": IN_PROCESS_FEED_BYTES, "ical": -1}
"""The same for adapters whose responses are not cheap because they are small. A rule of a calendar may never end."""
PATTERN_SECONDS = 1.0
"""Time limit of all regular expressions of one response in this process."""
_REQUEST_FIELDS = frozenset({"url", "variables", "headers", "body", "method", "steps"})
"""Fields of a source that its adapter does not need, some of which are secret."""


def needs_worker(source: SourceConfig, size: int) -> bool:
    """Whether a response of *size* bytes is read in a worker; adapters of others run in this process."""
    from tarantula.streams.expression_cost import has_cheap_expressions

    if is_worker() or not _is_built_in(source.adapter):
        return False
    return _exceeds_process(source.adapter, size) or not has_cheap_expressions(source)


def read_response(response: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
    """Read a response with the adapter of a source; raise `ParserLimitError` if that exceeds the limits of a worker."""
    from tarantula.streams.adapters import adapter_named
    from tarantula.streams.texts import pattern_budget

    if not needs_worker(source, len(response.body)):
        with pattern_budget(PATTERN_SECONDS):
            return adapter_named(source.adapter).read(response, source, memory)
    config = source.model_dump_json(exclude=set(_REQUEST_FIELDS))
    return _restored_reading(_ask_about(response, "read", source=config, memory=memory))


def offers_in(response: SourceResponse, adapter: str) -> list[DocumentOffer]:
    """Return the ways to read a document with an adapter."""
    if is_worker() or not _is_large(response, adapter):
        return _offers(response, adapter)
    return [_restored_offer(one) for one in _ask_about(response, "offers", adapter=adapter)]


def title_in(response: SourceResponse, adapter: str) -> str:
    """Return the title of a document."""
    from tarantula.streams.adapters import adapter_named

    if is_worker() or not _is_large(response, adapter):
        return adapter_named(adapter).title(response)
    return str(_ask_about(response, "title", adapter=adapter))


def ask_worker(action: str, data: Mapping[str, Any], body: bytes = b"", seconds: float = READ_SECONDS) -> Any:
    """Run an action in a worker; an error that it raised for a person is raised here."""
    from tarantula.streams.adapters.base import UnreadableResponse
    from tarantula.streams.texts import PatternTimeout

    answered = run_limited(WORKER, {"do": action, **data}, body, seconds=seconds)
    if "value" in answered:
        return answered["value"]
    message = _restored_message(answered["message"])
    if answered["error"] == "invalid":
        raise ValueError(message)
    kinds: dict[str, type[UnreadableResponse | PatternTimeout | TarantulaError]] = {
        "unreadable": UnreadableResponse,
        "timeout": PatternTimeout,
    }
    raise kinds.get(answered["error"], TarantulaError)(message.template, **message.parameters)


@lru_cache(maxsize=4096)
def check_in_worker(language: str, expression: str, namespaces: tuple[tuple[str, str], ...] = ()) -> None:
    """Validate an expensive expression; raise `ValueError` if it is invalid or takes too long."""
    from tarantula.core.limited_worker import ParserFailedError, ParserLimitError

    data = {"language": language, "expression": expression, "namespaces": namespaces}
    try:
        ask_worker("check", data, seconds=CHECK_SECONDS)
    except ParserFailedError as error:
        # Such as an operator on values that it is not for.
        raise ValueError(
            Message(
                "{expression!r} cannot be evaluated: {error}.",
                expression=expression[:80],
                error=str(error).partition(": ")[2][:200],
            )
        ) from error
    except ParserLimitError as error:
        raise ValueError(
            Message("{expression!r} takes too much time or memory. Write a simpler one.", expression=expression[:80])
        ) from error


def _is_built_in(adapter: str) -> bool:
    from tarantula.streams.adapters import adapter_named

    return type(adapter_named(adapter)).__module__.startswith("tarantula.streams.adapters.")


def _exceeds_process(adapter: str, size: int) -> bool:
    return size > IN_PROCESS_BYTES_OF.get(adapter, IN_PROCESS_BYTES)


def _is_large(response: SourceResponse, adapter: str) -> bool:
    return _is_built_in(adapter) and _exceeds_process(adapter, len(response.body))


def _ask_about(response: SourceResponse, action: str, **data: Any) -> Any:
    at = response.at.isoformat() if response.at is not None else None
    about = {"url": response.url, "type": response.content_type, "at": at}
    return ask_worker(action, {"response": about, **data}, response.body)


# In the worker.


def prepare_worker() -> None:
    """Load what the first responses would load."""
    from tarantula.streams.adapters import ADAPTERS, adapter_named
    from tarantula.streams.picker import page

    assert page
    for name in ("feedparser", "jmespath", "jmespath.functions", "regex", "icalendar", "dateparser"):
        import_module(name)
    for name in ADAPTERS:
        adapter_named(name)


def answer(data: dict[str, Any], body: bytes) -> dict[str, Any]:
    """Run one action; errors for people are part of the answer."""
    from tarantula.streams.adapters.base import UnreadableResponse
    from tarantula.streams.texts import PatternTimeout

    try:
        return {"value": _ACTIONS[data["do"]](data, body)}
    except UnreadableResponse as error:
        return {"error": "unreadable", "message": _packed_message(str(error))}
    except PatternTimeout as error:
        return {"error": "timeout", "message": _packed_message(str(error))}
    except TarantulaError as error:
        return {"error": "message", "message": _packed_message(str(error))}
    except ValueError as error:
        if not (error.args and isinstance(error.args[0], Message)):
            raise
        return {"error": "invalid", "message": _packed_message(error.args[0])}


def _read(data: dict[str, Any], body: bytes) -> dict[str, Any]:
    reading = read_response(_response(data, body), _stored_source(data["source"]), data["memory"])
    return {
        "rows": [[row.texts, row.name, row.at.isoformat() if row.at is not None else None] for row in reading.rows],
        "doubts": [[one.field, one.text, _packed_message(one.why), one.row] for one in reading.doubts],
        "missing": {key: _packed_message(why) for key, why in reading.missing.items()},
        "memory": reading.memory,
        "news": reading.news,
    }


def _offers(response: SourceResponse, adapter: str) -> list[DocumentOffer]:
    from tarantula.streams.adapters import adapter_named

    found = adapter_named(adapter)
    return [replace(offer, adapter=adapter) for group in found.suggest(response) for offer in found.offers(group)]


def _packed_offers(data: dict[str, Any], body: bytes) -> list[list[Any]]:
    return [
        [one.rows, one.values, one.options, one.named_by, one.where, one.adapter]
        for one in _offers(_response(data, body), data["adapter"])
    ]


def _check(data: dict[str, Any], body: bytes) -> None:
    from tarantula.streams.adapters.xml import check_xml_expression
    from tarantula.streams.selectors import check_css, check_xpath
    from tarantula.streams.texts import check_pattern

    if data["language"] == "xml":
        check_xml_expression(data["expression"], dict(data["namespaces"]))
    else:
        {"css": check_css, "xpath": check_xpath, "regex": check_pattern}[data["language"]](data["expression"])


def _search(data: dict[str, Any], body: bytes) -> Any:
    from tarantula.streams.texts import search_pattern

    return search_pattern(data["pattern"], data["text"])


def _page(data: dict[str, Any], body: bytes) -> dict[str, Any]:
    from tarantula.streams.picker.page import PageTree, safe_page

    response, began = _response(data, body), time.process_time()
    tree = PageTree.of(response)
    seconds = time.process_time() - began
    page = safe_page(tree, response.url)
    return {
        "seconds": seconds,
        "page": [page.title, page.body, page.attributes, page.doctype],
        "sheets": page.sheets,
        "images": page.images,
    }


def _sheet(data: dict[str, Any], body: bytes) -> str:
    from tarantula.streams.picker.page import safe_css

    return safe_css(data["text"])


_ACTIONS: Mapping[str, Callable[[dict[str, Any], bytes], Any]] = {
    "read": _read,
    "offers": _packed_offers,
    "title": lambda data, body: title_in(_response(data, body), data["adapter"]),
    "check": _check,
    "search": _search,
    "page": _page,
    "sheet": _sheet,
}


def _response(data: dict[str, Any], body: bytes) -> SourceResponse:
    from tarantula.streams.adapters.base import SourceResponse

    about = data["response"]
    at = datetime.fromisoformat(about["at"]) if about["at"] else None
    return SourceResponse(about["url"], body, about["type"], at)


@lru_cache(maxsize=256)
def _stored_source(config: str) -> SourceConfig:
    import json

    from tarantula.streams.sources.config import load_stored_source

    return load_stored_source({**json.loads(config), "url": "http://source.example/"})


# Restored from the worker's answers, of which nothing is certain but that they are JSON.


def _restored_reading(data: Any) -> SourceReading:
    from tarantula.streams.adapters.base import DoubtfulText, ReadRow, SourceReading

    return SourceReading(
        [
            ReadRow(dict(texts), str(name), datetime.fromisoformat(at) if at is not None else None)
            for texts, name, at in data["rows"]
        ],
        [
            DoubtfulText(str(field), str(text), _restored_message(why), str(row))
            for field, text, why, row in data["doubts"]
        ],
        {str(key): _restored_message(why) for key, why in data["missing"].items()},
        dict(data["memory"]),
        bool(data["news"]),
    )


def _restored_offer(data: Any) -> DocumentOffer:
    from tarantula.streams.suggestions import DocumentOffer, FieldSuggestion, RowChoice

    rows, values, options, named_by, where, adapter = data
    return DocumentOffer(
        RowChoice(rows),
        [FieldSuggestion(*one) for one in values],
        options,
        FieldSuggestion(*named_by) if named_by is not None else None,
        where,
        adapter,
    )


def _packed_message(text: Any) -> Any:
    if not isinstance(text, Message):
        return text if isinstance(text, (int, float, type(None))) else str(text)
    return {
        "template": str.__str__(text.template),
        "parameters": {name: _packed_message(value) for name, value in text.parameters.items()},
    }


def _restored_message(data: Any) -> Message:
    if not isinstance(data, dict):
        return Message(str(data))
    values = {
        str(name): _restored_message(value) if isinstance(value, dict) else value
        for name, value in data["parameters"].items()
    }
    return Message(str(data["template"]), **values)
