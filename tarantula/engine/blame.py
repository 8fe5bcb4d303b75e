"""Name the component of the project or the publication that failed: in an exception, or by losing documents."""

from __future__ import annotations

import traceback
from asyncio import Task
from collections.abc import Awaitable, Mapping
from functools import wraps
from inspect import isawaitable
from typing import Any

from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from tarantula.core.registry import ComponentError
from tarantula.publications.fields import COMPONENT_SETTINGS


def failed_component(error: BaseException, settings: Mapping[str, Any]) -> str | None:
    """Return the import path of the custom component whose code raised *error*, or None."""
    own: dict[str, str] = {
        global_object_name(component): path
        for name in sorted(COMPONENT_SETTINGS)
        for path, order in dict(settings.get(name) or {}).items()
        if order is not None and not str(path).startswith(("scrapy.", "tarantula."))
        for component in (load_object(path),)
    }
    for frame, _ in traceback.walk_tb(error.__traceback__):
        receiver = frame.f_locals.get("self", frame.f_locals.get("cls"))
        cls = receiver if isinstance(receiver, type) else type(receiver)
        for base in cls.__mro__:
            if global_object_name(base) in own:
                return own[global_object_name(base)]
    return None


def crawl_error(run: Awaitable[None]) -> BaseException | None:
    """Return the exception with which ``CrawlerProcess.crawl`` ended, if it did: Scrapy does not log it."""
    return run.exception() if isinstance(run, Task) and run.done() and not run.cancelled() else None


def failure_sentence(error: BaseException, settings: Mapping[str, Any]) -> str:
    """Return why a collection could not begin, with the component that failed if one did."""
    component = failed_component(error, settings)
    what = f"{type(error).__name__}: {error}"
    return f"The component {component} failed ({what})." if component else f"The collection failed to start ({what})."


class CheckedItemPipelines(ItemPipelineManager):
    """Passes items through the pipelines; one that returns nothing is an error, and the document gets its state."""

    def _add_middleware(self, mw: Any) -> None:
        if hasattr(mw, "process_item"):
            mw.process_item = _checked(mw.process_item, global_object_name(type(mw)))
        super()._add_middleware(mw)


def _checked(process_item: Any, path: str) -> Any:
    # Scrapy reads the signature of the wrapped method, to know whether it takes the spider.
    @wraps(process_item)
    async def checked(item: Any, *arguments: Any) -> Any:
        result = process_item(item, *arguments)
        if isawaitable(result):
            result = await result
        if result is None:
            raise ComponentError(
                "The pipeline {path} returned nothing. Its process_item must return the item.", path=path
            )
        return result

    return checked
