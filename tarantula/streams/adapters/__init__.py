"""The ways of reading, one file each."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tarantula.core import messages
from tarantula.streams.adapters.base import Adapter

if TYPE_CHECKING:
    from tarantula.streams.sources.config import SourceConfig

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


@cache
def adapter_named(name: str) -> Adapter:
    """Return the adapter of that name; raise `ValueError` listing the known names if there is none."""
    if name not in ADAPTERS:
        near = messages.did_you_mean(name, ADAPTERS)
        raise ValueError(f"There is no adapter {name[:40]!r}.{near} There are: {', '.join(ADAPTERS)}.")
    module, _, called = ADAPTERS[name].rpartition(".")
    adapter: Adapter = getattr(import_module(module), called)()
    return adapter


def check_adapter(source: SourceConfig) -> None:
    """Raise `ValueError` if the options or places of a source are invalid for its adapter."""
    adapter = adapter_named(source.adapter)
    try:
        adapter.Options.model_validate(source.options)
    except ValidationError as error:
        raise ValueError(" ".join(messages.validation_messages(error, adapter.Options.model_fields))) from error
    for field in source.fields:
        try:
            adapter.Place.model_validate(field.place)
        except ValidationError as error:
            lines = messages.validation_messages(error, adapter.Place.model_fields)
            raise ValueError(f"The place of {field.key} is invalid: {' '.join(lines)}") from error
    adapter.check(source)
