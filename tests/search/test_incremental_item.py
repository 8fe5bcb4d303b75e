"""An item that keeps the last one fresh is found as it is: what was carried over, what changed, and what is gone."""

from __future__ import annotations

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.lifecycle.removal import remove_item
from tarantula.search.index.updater import IndexUpdater
from tests.incremental.test_item import site
from tests.search.test_index_updater import catch_up, find
from tests.sites.lively import LivelyWeb
from tests.support.crawls import collect
from tests.support.incremental_items import begin_collecting, chosen, end_of, prepare
from tests.support.item_contents import urns


def where(following: IndexUpdater, web: LivelyWeb, query: str) -> dict[str, str]:
    """Return what is found, by its path: the item of each."""
    return {result.url.removeprefix(web.url("")): result.urn for result in find(following, query).results}


def test_a_refreshed_item_is_found_as_it_is(sqlite: Database, config: Config) -> None:
    with LivelyWeb() as web:
        site(sqlite, web)
        collect("site")
        (first,) = urns(sqlite)
        following = IndexUpdater(config, sqlite)
        catch_up(following)
        assert where(following, web, "version") == {"/twice.html": first}
        plan = {web.url(path): [0.0] for path in ("/", "/twice.html", "/same.html", "/gone.html")}
        second = prepare(sqlite, config, "site", chosen(plan))
        catch_up(following)
        assert where(following, web, "here") == {"/gone.html": second}, "as it was carried over"
        end_of(begin_collecting("site", second))
        catch_up(following)
    # What changed is found by what it says now, what did not and what nobody visited in the new item as well.
    assert where(following, web, '"version 2"') == {"/twice.html": second}
    assert where(following, web, '"version 1"') == {}
    assert where(following, web, "url:same") == {"/same.html": second}
    assert where(following, web, "url:kept") == {"/kept.html": second}
    assert where(following, web, "url:new") == {"/new.html": second}
    # What is gone is found as it was last, and nowhere else.
    assert where(following, web, "here") == {"/gone.html": first}
    earlier = find(following, '"version 1" before:2100')
    assert [result.urn for result in earlier.results] == [first]
    remove_item(config, sqlite, first)
    catch_up(following)
    assert where(following, web, "here") == {}
    assert where(following, web, "url:kept") == {"/kept.html": second}
