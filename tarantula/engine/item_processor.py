"""Item pipelines of a collection: Scrapy's, with an error that names a pipeline that loses documents."""

from __future__ import annotations

from functools import wraps
from inspect import isawaitable
from typing import Any

from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.python import global_object_name

from tarantula.core.registry import ComponentError


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
