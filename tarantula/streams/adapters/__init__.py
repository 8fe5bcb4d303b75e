"""Adapters by name or import path: each turns a response into rows of texts. One module each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tarantula.core import validation
from tarantula.core.messages import Message, join_messages
from tarantula.core.registry import ComponentError, Registry, named_component_paths
from tarantula.streams.adapters.base import Adapter

if TYPE_CHECKING:
    from tarantula.streams.sources.config import SourceConfig

SETTING = "TARANTULA_STREAM_ADAPTERS"
"""Environment variable with additional adapters: ``name=package.module.Class``, separated by semicolons."""
ADAPTERS = {
    "page": "tarantula.streams.adapters.page.PageAdapter",
    "table": "tarantula.streams.adapters.table.TableAdapter",
    "blocks": "tarantula.streams.adapters.blocks.BlocksAdapter",
    "feed": "tarantula.streams.adapters.feed.FeedAdapter",
    "json": "tarantula.streams.adapters.json.JsonAdapter",
    "xml": "tarantula.streams.adapters.xml.XmlAdapter",
    "csv": "tarantula.streams.adapters.csv.CsvAdapter",
    "ical": "tarantula.streams.adapters.ical.IcalAdapter",
}
"""Import paths of the built-in adapter classes by name. Importing one imports only the packages that it needs."""


def adapter_names() -> list[str]:
    """Return the names of the built-in adapters and of those in `SETTING`."""
    return list(_registry(os.environ.get(SETTING, "")))


def adapter_named(name: str) -> Adapter:
    """Return the adapter with that name or import path; raise `ComponentError` if there is none."""
    return _adapter(name, os.environ.get(SETTING, ""))


def has_news(name: str, options: Mapping[str, Any]) -> bool:
    """Whether an adapter with these options returns news; not if it is no longer installed."""
    try:
        return adapter_named(name).has_news(options)
    except ComponentError:
        return False


@lru_cache(maxsize=1024)
def _adapter(name: str, setting: str) -> Adapter:
    adapter: Adapter = _registry(setting).create(name)
    return adapter


@lru_cache(maxsize=16)
def _registry(setting: str) -> Registry[type[Adapter]]:
    registry = Registry[type[Adapter]]("adapter", ADAPTERS, base=Adapter)
    return registry.extended(named_component_paths(setting, registry.kind))


def check_adapter(source: SourceConfig) -> None:
    """Raise `ValueError` if the adapter of a source does not exist, or if its options or places are invalid."""
    try:
        adapter = adapter_named(source.adapter)
    except ComponentError as error:
        raise ValueError(str(error)) from error
    try:
        adapter.Options.model_validate(source.options)
    except ValidationError as error:
        raise ValueError(
            join_messages(validation.validation_messages(error, adapter.Options.model_fields), " ")
        ) from error
    for field in source.fields:
        try:
            adapter.Place.model_validate(field.place)
        except ValidationError as error:
            lines = validation.validation_messages(error, adapter.Place.model_fields)
            raise ValueError(
                Message(
                    "The place of {field} is invalid: {problems}", field=field.key, problems=join_messages(lines, " ")
                )
            ) from error
    adapter.check(source)
