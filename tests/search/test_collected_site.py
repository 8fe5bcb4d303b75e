"""Search over a really collected site: links decide the order."""

from __future__ import annotations

from dataclasses import replace

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.search.finder import SearchFinder
from tarantula.search.index.updater import IndexUpdater
from tarantula.search.results import SearchOrder, SearchRequest, SearchResult
from tests.search.test_index_updater import catch_up
from tests.sites.server import Answer, Route, Web
from tests.support.crawls import collect, describe, only_item
from tests.support.link_graphs import weighed

STORY = " ".join(f"On day {day} the spiders of burrow {day * 31} wove {day * 17} threads." for day in range(30))
SITE: dict[str, Route] = {
    "/": Answer("<title>Base</title><p>Spiders.<a href=/old>Field guide</a> <a href='/1#top'>One</a>"),
    "/1": Answer(f"<title>One</title><p>{STORY}<a href=/>Start</a> <a href=/new>A guide to the field</a>"),
    "/2": Answer(
        f"<title>Two</title><p>{STORY}<a href='old#x'>field GUIDE</a><a href=/2>Spiders</a><a href=/>Start</a>"
    ),
    "/new": Answer("<title>New</title><p>Spiders and their burrows.<a href=/2>click here</a>"),
    "/old": Answer(status=301, headers={"Location": "/new"}),
}


def test_links_of_a_collected_site_rank_and_name_pages(database: Database, database_config: Config) -> None:
    with Web(SITE) as web:
        describe(database, "site", base_url=web.url())
        collect("site")
    updater = IndexUpdater(database_config, database)
    catch_up(updater)

    def find(query: str, **options: SearchOrder | bool) -> list[SearchResult]:
        found = SearchFinder(updater.index).find(SearchRequest.model_validate({"query": query, **options}))
        return [replace(result, url=result.url.removeprefix(web.url())) for result in found.results]

    rows = weighed(database, only_item(database).id)
    assert {page.removeprefix(web.url()): row.anchors for page, row in rows.items()} == {
        "": "start",
        "1": "one",
        "2": "",
        "new": "field guide\na guide to the field",
    }
    assert "new" in [result.url for result in find("field guide")]
    by_links = find("spiders", order=SearchOrder.LINKS, unfold=True)
    assert [(result.url, result.inlinks) for result in by_links] == [("new", 3), ("", 2), ("1", 1), ("2", 1)]
    assert sorted(result.alike for result in find("spiders")) == [0, 0, 1]
    assert {result.alike for result in find("spiders", unfold=True)} == {0}
