"""Check a publication's own Scrapy components before a collection starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import isasyncgenfunction
from typing import Any

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.core.registry import load_object
from tarantula.publications.scrapy_settings import CLASS_SETTINGS, COMPONENT_SETTINGS

FEED_FORMATS = ("json", "jsonlines", "jsonl", "jl", "csv", "xml", "marshal", "pickle")
"""Formats of feeds that Scrapy has; ``FEED_EXPORTERS`` adds others."""
FEED_SCHEMES = ("", "file", "ftp", "gs", "s3", "stdout")
"""Places of feeds that Scrapy has; ``FEED_STORAGES`` adds others."""


def check_components(settings: Mapping[str, Any]) -> None:
    """Raise an error for a component that cannot be imported or does not work with this version of Scrapy."""
    for setting in sorted((COMPONENT_SETTINGS | {"ADDONS"}) & settings.keys()):
        for path, order in settings[setting].items():
            if order is not None:
                component = _load(path)
                if setting == "SPIDER_MIDDLEWARES":
                    _check_spider_middleware(path, component)
    for setting in sorted(CLASS_SETTINGS & settings.keys()):
        _load(settings[setting])
    _check_feeds(settings)


def _check_feeds(settings: Mapping[str, Any]) -> None:
    """Raise an error for feeds that cannot be written: Scrapy logs one and goes on without them."""
    exporters, storages = (settings.get(name) or {} for name in ("FEED_EXPORTERS", "FEED_STORAGES"))
    for path in (*exporters.values(), *storages.values()):
        if path is not None:
            _load(path)
    for place, options in (settings.get("FEEDS") or {}).items():
        given = options.get("format") if isinstance(options, Mapping) else options
        _check_known("format", str(given or ""), (*FEED_FORMATS, *exporters), place)
        scheme, separator, _ = str(place).partition("://")
        _check_known("storage", scheme if separator else "", (*FEED_SCHEMES, *storages), place)


def _check_known(kind: str, name: str, known: Iterable[str], feed: object) -> None:
    if name not in known:
        raise TarantulaError(
            "The feed {feed} has the unknown {kind} {name!r}.{hint} Choose one of {known}.",
            feed=str(feed)[:200],
            kind=kind,
            name=name[:80],
            hint=did_you_mean(name, known),
            known=", ".join(filter(None, known)),
        )


def _load(path: Any) -> Any:
    """Return a component, given by its import path or as an object."""
    return load_object(path, "component") if isinstance(path, str) else path


def _check_spider_middleware(path: str, component: Any) -> None:
    output = getattr(component, "process_spider_output", None)
    if output is None or isasyncgenfunction(output) or hasattr(component, "process_spider_output_async"):
        return
    raise TarantulaError(
        "The spider middleware {path} is written for an older Scrapy. "
        "Make its process_spider_output an `async def` that yields.",
        path=path,
    )
