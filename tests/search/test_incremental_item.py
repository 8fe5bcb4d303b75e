"""Search over an incremental item: carried over, changed and deleted documents."""

from __future__ import annotations

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.lifecycle.removal import remove_item
from tarantula.search.index.updater import IndexUpdater
from tests.lifecycle.test_incremental_item import site
from tests.search.test_index_updater import catch_up, find
from tests.sites.lively import LivelyWeb
from tests.support.crawls import collect
from tests.support.incremental_items import begin_collecting, chosen, end_of, prepare
from tests.support.item_contents import urns


def where(updater: IndexUpdater, web: LivelyWeb, query: str) -> dict[str, str]:
    """Return the item of each found document, by path."""
    return {result.url.removeprefix(web.url("")): result.urn for result in find(updater, query).results}


def test_an_incremental_item_is_searchable(sqlite: Database, config: Config) -> None:
    with LivelyWeb() as web:
        site(sqlite, web)
        collect("site")
        (first,) = urns(sqlite)
        updater = IndexUpdater(config, sqlite)
        catch_up(updater)
        assert where(updater, web, "version") == {"/twice.html": first}
        plan = {web.url(path): [0.0] for path in ("/", "/twice.html", "/same.html", "/gone.html")}
        second = prepare(sqlite, config, "site", chosen(plan))
        catch_up(updater)
        assert where(updater, web, "here") == {"/gone.html": second}, "as it was carried over"
        end_of(begin_collecting("site", second))
        catch_up(updater)
    # Changed documents are found by their new text; unchanged and unvisited ones in the new item as well.
    assert where(updater, web, '"version 2"') == {"/twice.html": second}
    assert where(updater, web, '"version 1"') == {}
    assert where(updater, web, "url:same") == {"/same.html": second}
    assert where(updater, web, "url:kept") == {"/kept.html": second}
    assert where(updater, web, "url:new") == {"/new.html": second}
    # Deleted documents are found by their last capture only.
    assert where(updater, web, "here") == {"/gone.html": first}
    earlier = find(updater, '"version 1" before:2100')
    assert [result.urn for result in earlier.results] == [first]
    remove_item(config, sqlite, first)
    catch_up(updater)
    assert where(updater, web, "here") == {}
    assert where(updater, web, "url:kept") == {"/kept.html": second}
