"""Modules and names of version 0.1 that others import, as deprecated aliases. They go with the release after 0.2."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any
from warnings import warn

EVERY_OTHER = "*"
FORMER_MODULES: Mapping[str, Mapping[str, str]] = {
    "tarantula.archive.validation": {
        "Decided": "tarantula.archive.quality.validation.ItemDecision",
        EVERY_OTHER: "tarantula.archive.quality.validation",
    },
    "tarantula.config": {EVERY_OTHER: "tarantula.core.config"},
    "tarantula.coordinator": {EVERY_OTHER: "tarantula.lifecycle.coordinator"},
    "tarantula.db": {
        "open_database": "tarantula.store.database.open_database",
        EVERY_OTHER: "tarantula.core.database",
    },
    "tarantula.deposit": {EVERY_OTHER: "tarantula.services.deposit"},
    "tarantula.errors": {EVERY_OTHER: "tarantula.core.errors"},
    "tarantula.search.barrels.remote": {"RemoteFinder": "tarantula.search.barrels.client.GatewayClient"},
    "tarantula.states": {
        "MOVES": "tarantula.core.states.ITEM_TRANSITIONS",
        "meaning": "tarantula.core.states.state_meaning",
        EVERY_OTHER: "tarantula.core.states",
    },
    "tarantula.store.answer": {"read_answer": "tarantula.store.warc_reader.read_response"},
    "tarantula.store.read": {EVERY_OTHER: "tarantula.store.warc_reader"},
    "tarantula.urls": {EVERY_OTHER: "tarantula.core.urls"},
}
"""Where the names of each former module are now; those of `EVERY_OTHER` have kept their names."""
FORMER_NAMES: Mapping[str, Mapping[str, str]] = {
    "tarantula.archive.mirror": {"convert_item": "tarantula.archive.mirror.conversion.convert_item"},
    "tarantula.search.results": {
        "Request": "tarantula.search.results.SearchRequest",
        "Results": "tarantula.search.results.SearchResults",
    },
    "tarantula.streams.history": {
        "points": "tarantula.streams.history.chart_points",
        "total": "tarantula.streams.history.window_summary",
    },
}
"""Where former names of modules that still exist are now."""


class FormerModules(MetaPathFinder, Loader):
    """Import hook that finds the modules that no longer have a file."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a former module."""
        return spec_from_loader(name, self) if name in FORMER_MODULES else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Make the module look its names up where they are now."""
        module.__dict__["__getattr__"] = _lookup(module.__name__, FORMER_MODULES[module.__name__])


def former_names(module: str) -> Callable[[str], Any]:
    """Return the function ``__getattr__`` of a module, which looks former names up where they are now."""
    return _lookup(module, FORMER_NAMES[module])


def _lookup(module: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    def lookup(name: str) -> Any:
        place, _, attribute = (places.get(name) or f"{places.get(EVERY_OTHER, '')}.{name}").rpartition(".")
        # Python itself asks for __path__ and the like.
        if not place or name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(place), attribute)
        warn(f"{module}.{name} is now {place}.{attribute}", DeprecationWarning, stacklevel=2)
        return value

    return lookup


def add_former_modules() -> None:
    """Make the former modules importable."""
    # After the finders of files: a module that exists is never hidden.
    sys.meta_path.append(FormerModules())
