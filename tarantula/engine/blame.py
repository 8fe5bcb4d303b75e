"""Name the component of the project or the publication that failed: in an exception, or by losing documents."""

from __future__ import annotations

import traceback
from asyncio import Task
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from functools import wraps
from inspect import isawaitable
from typing import Any

from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
from tarantula.core.registry import ComponentError
from tarantula.items import CollectedDocument
from tarantula.publications.scrapy_settings import CLASS_SETTINGS, COMPONENT_SETTINGS
from tarantula.streams.reading.visits import ReadAttempt

STORED_ITEMS = (CollectedDocument, ReadAttempt)
"""Items that must reach the pipeline that stores them."""


def failed_component(error: BaseException, settings: Mapping[str, Any]) -> str | None:
    """Return the import path of the custom component whose code raised *error*, or None."""
    own = _custom_components(settings)
    for frame, _ in traceback.walk_tb(error.__traceback__):
        receiver = frame.f_locals.get("self", frame.f_locals.get("cls"))
        cls = receiver if isinstance(receiver, type) else type(receiver)
        for base in cls.__mro__:
            if global_object_name(base) in own:
                return own[global_object_name(base)]
    return None


def _custom_components(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the import paths in the settings of components that are neither Scrapy's nor ours, by class."""
    paths = {str(settings.get(name)): 0 for name in CLASS_SETTINGS}
    for name in COMPONENT_SETTINGS | {"ADDONS"}:
        paths |= dict(settings.get(name) or {})
    found = {}
    for path, order in paths.items():
        if order is not None and not str(path).startswith(("scrapy.", "tarantula.")):
            # What cannot be imported is reported before.
            with suppress(Exception):
                found[global_object_name(load_object(path))] = str(path)
    return found


def run_to_end(process: Any, run: Awaitable[None]) -> BaseException | None:
    """Run a crawler process; return the exception with which its crawl ended, if it did: Scrapy does not log it."""
    try:
        process.start()
    except SystemExit as error:
        # A component exits: the item is ended like after any other error.
        return error
    return run.exception() if isinstance(run, Task) and run.done() and not run.cancelled() else None


def failure_sentence(error: BaseException, settings: Mapping[str, Any]) -> Message:
    """Return why a collection ended, with the component that failed if one did."""
    if isinstance(error, TarantulaError):
        return Message(str(error))
    component, what = failed_component(error, settings), f"{type(error).__name__}: {error}"
    if component is None:
        return Message("The collection failed to start ({error}).", error=what)
    return Message("The component {component} failed ({error}).", component=component, error=what)


def error_text(error: BaseException, settings: Mapping[str, Any]) -> str:
    """Return an exception as text, after the import path of the component that raised it."""
    component = failed_component(error, settings)
    return f"{component}: {error!r}" if component is not None else repr(error)


class CheckedItemPipelines(ItemPipelineManager):
    """Passes items through the pipelines; one that loses a document is an error, and the document gets its state."""

    _has_stored = False

    def _add_middleware(self, mw: Any) -> None:
        self._has_stored = self._has_stored or getattr(mw, "stores_items", False)
        if hasattr(mw, "process_item"):
            mw.process_item = _checked(
                mw.process_item, global_object_name(type(mw)), is_before_store=not self._has_stored
            )
        super()._add_middleware(mw)


def _checked(process_item: Any, path: str, *, is_before_store: bool) -> Any:
    # Scrapy reads the signature of the wrapped method, to know whether it takes the spider.
    @wraps(process_item)
    async def checked(item: Any, *arguments: Any) -> Any:
        result = process_item(item, *arguments)
        if isawaitable(result):
            result = await result
        is_lost = is_before_store and isinstance(item, STORED_ITEMS) and not isinstance(result, STORED_ITEMS)
        if result is None or is_lost:
            raise ComponentError(
                "The pipeline {path} returned {what}. Its process_item must return the item.",
                path=path,
                what="nothing" if result is None else f"a {type(result).__name__}",
            )
        return result

    return checked
