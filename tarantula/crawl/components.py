"""Check a publication's own Scrapy components before a collection starts."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import isasyncgenfunction
from typing import Any

from tarantula.core.errors import TarantulaError
from tarantula.core.registry import load_object
from tarantula.publications.fields import COMPONENT_SETTINGS


def check_components(settings: Mapping[str, Any]) -> None:
    """Raise an error for a component that cannot be imported or does not work with this version of Scrapy."""
    for setting in sorted(COMPONENT_SETTINGS & settings.keys()):
        for path, order in settings[setting].items():
            if order is not None:
                component = load_object(path, "component")
                if setting == "SPIDER_MIDDLEWARES":
                    _check_spider_middleware(path, component)


def _check_spider_middleware(path: str, component: Any) -> None:
    output = getattr(component, "process_spider_output", None)
    if output is None or isasyncgenfunction(output) or hasattr(component, "process_spider_output_async"):
        return
    raise TarantulaError(
        "The spider middleware {path} is written for an older Scrapy. "
        "Make its process_spider_output an `async def` that yields.",
        path=path,
    )
