"""Names that version 0.1 documented still work, with a warning."""

from __future__ import annotations

from importlib import import_module

import pytest

from tarantula.deprecated import FORMER_MODULES, FORMER_NAMES


@pytest.mark.parametrize(
    ("module", "name", "place"),
    [
        ("tarantula.archive.validation", "Decided", "tarantula.archive.quality.validation.ItemDecision"),
        ("tarantula.archive.validation", "ItemDecision", "tarantula.archive.quality.validation.ItemDecision"),
        ("tarantula.config", "Config", "tarantula.core.config.Config"),
        ("tarantula.coordinator", "complete_item", "tarantula.lifecycle.coordinator.complete_item"),
        ("tarantula.db", "Database", "tarantula.core.database.Database"),
        ("tarantula.db", "open_database", "tarantula.store.database.open_database"),
        ("tarantula.deposit", "Deposit", "tarantula.services.deposit.Deposit"),
        ("tarantula.errors", "TarantulaError", "tarantula.core.errors.TarantulaError"),
        ("tarantula.search.barrels.remote", "RemoteFinder", "tarantula.search.barrels.client.GatewayClient"),
        ("tarantula.states", "DocumentState", "tarantula.core.states.DocumentState"),
        ("tarantula.states", "MOVES", "tarantula.core.states.ITEM_TRANSITIONS"),
        ("tarantula.archive.mirror", "convert_item", "tarantula.archive.mirror.conversion.convert_item"),
        ("tarantula.search.results", "Request", "tarantula.search.results.SearchRequest"),
        ("tarantula.store.answer", "read_answer", "tarantula.store.warc_reader.read_response"),
        ("tarantula.streams.history", "points", "tarantula.streams.history.chart_points"),
        ("tarantula.streams.history", "total", "tarantula.streams.history.window_summary"),
        ("tarantula.store.read", "read_record", "tarantula.store.warc_reader.read_record"),
        ("tarantula.urls", "key_of", "tarantula.core.urls.key_of"),
    ],
)
def test_a_former_name_is_an_alias_with_a_warning(module: str, name: str, place: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"^{module}.{name} is now {place}$"):
        former = getattr(import_module(module), name)
    where, _, attribute = place.rpartition(".")
    assert former is getattr(import_module(where), attribute)


@pytest.mark.parametrize("module", [*FORMER_MODULES, *FORMER_NAMES])
def test_a_name_that_a_former_module_never_had_is_an_attribute_error(module: str) -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_that_name'"):
        import_module(module).nothing_of_that_name  # noqa: B018


def test_other_modules_that_do_not_exist_are_still_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match="nothing_of_that_name"):
        import_module("tarantula.nothing_of_that_name")
