"""Ranking of an item's documents by links, after the item has ended."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import Connection, event, func, select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.lifecycle.removal import remove_item
from tarantula.links.link import LinkKind
from tarantula.models import Item, JournalEntry, LinkWeight
from tarantula.search.finder import SearchFinder
from tarantula.search.index.indexer import Indexer
from tarantula.search.index.storage import SearchIndex
from tarantula.search.ranks import graph, ranking
from tarantula.search.ranks.ranking import rank_items
from tarantula.search.results import SearchOrder, SearchRequest, SearchResults
from tarantula.store.journal import JournalKind
from tests.support.link_graphs import add_document, add_item, ended, url, weighed

STAR = {
    "a/": [("a/1", "First"), ("a/2", "Second")],
    "a/1": [("a/", "Home of spiders"), ("a/2", "Second"), ("a/1", "Myself")],
    "a/2": [("a/", "Home of spiders"), ("a/", "HOME OF SPIDERS"), ("a/", "clique aqui »")],
    "a/3": [("a/", "Where spiders live"), ("b/", "Elsewhere")],
}


def journal_entries(database: Database) -> int:
    with database.reading() as session:
        entries = select(func.count()).where(JournalEntry.kind == JournalKind.RANKED)
        return session.scalar(entries) or 0


def test_inlinks_of_other_pages_count_once(database: Database) -> None:
    item = add_item(database, "a", STAR)
    assert rank_items(database, ended(item)) == 4
    rows = weighed(database, item)
    assert {page: row.inlinks for page, row in rows.items()} == {
        url("a/"): 3,
        url("a/1"): 1,
        url("a/2"): 2,
        url("a/3"): 0,
    }
    assert max(rows, key=lambda page: rows[page].rank) == url("a/")
    assert sum(row.rank for row in rows.values()) == pytest.approx(4, abs=1e-4)
    assert {page: row.rank_of_all for page, row in rows.items()} == {page: row.rank for page, row in rows.items()}
    assert rows[url("a/")].weight > rows[url("a/1")].weight == 0


def test_pages_get_the_most_frequent_anchor_texts(database: Database) -> None:
    item = add_item(database, "a", STAR)
    rank_items(database, ended(item))
    rows = weighed(database, item)
    assert rows[url("a/")].anchors == "home of spiders\nwhere spiders live"
    assert rows[url("a/1")].anchors == "first"
    assert rows[url("a/3")].anchors == ""


def test_redirects_pass_on_their_links(database: Database) -> None:
    web = {
        "a/": [("a/old", "The archive")],
        "a/new": [("a/old", "Here I was"), ("a/round", "In a circle"), ("a/gone", "Gone")],
        "a/alone": [],
    }
    redirects = {"a/old": "a/older", "a/older": "a/new", "a/round": "a/and-round", "a/and-round": "a/round"}
    item = add_item(database, "a", web, redirects | {"a/gone": "c/not-collected"})
    rank_items(database, ended(item))
    rows = weighed(database, item)
    assert {page: (row.inlinks, row.anchors) for page, row in rows.items()} == {
        url("a/"): (0, ""),
        url("a/new"): (1, "the archive"),
        url("a/alone"): (0, ""),
    }
    assert rows[url("a/new")].rank > rows[url("a/alone")].rank


def test_images_and_sitemaps_do_not_count(database: Database) -> None:
    item = add_item(database, "a", {"a/": [], "a/1": []})
    with database.session() as session:
        add_document(session, item, "a/sitemap.xml", 200, {"a/1": LinkKind.NAVIGATION}, "application/xml")
        add_document(session, item, "a/style", 200, {"a/1": LinkKind.IN_STYLE})
        add_document(session, item, "a/missing", 404, {"a/1": LinkKind.NAVIGATION})
    assert rank_items(database, ended(item)) == 3
    assert weighed(database, item)[url("a/1")].inlinks == 0


def test_latest_items_of_other_publications_count(database: Database) -> None:
    add_item(database, "b", {"b/forgotten": [("a/3", "Long ago")]})
    add_item(database, "b", {"b/": [("a/3", "Three of A"), ("a/2", "Two")], "a/1": [("a/2", "Two")]})
    item = add_item(database, "a", STAR)
    rank_items(database, ended(item))
    rows = weighed(database, item)
    assert (rows[url("a/3")].inlinks, rows[url("a/3")].inlinks_of_others) == (1, 1)
    # A page in both publications counts once.
    assert (rows[url("a/2")].inlinks, rows[url("a/2")].inlinks_of_others) == (3, 1)
    assert rows[url("a/3")].anchors == "three of a"
    assert rows[url("a/3")].rank_of_all > rows[url("a/3")].rank


def test_ranking_again_is_idempotent_and_sees_new_links(database: Database) -> None:
    item = add_item(database, "a", STAR)
    rank_items(database, ended(item, item))
    assert journal_entries(database) == 1
    with database.session() as session:
        add_document(session, item, "a/4", 200, {"a/3": LinkKind.NAVIGATION})
    rank_items(database, ended(item))
    assert journal_entries(database) == 2
    rows = weighed(database, item)
    assert len(rows) == 5
    assert rows[url("a/3")].inlinks == 1


def test_small_batches_give_the_same_result(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    add_item(database, "b", {"b/": [("a/old", "Two"), ("a/1", "One")], "b/1": [("a/2", "Two")]})
    item = add_item(database, "a", STAR, {"a/old": "a/2", "a/older": "a/old"})

    def values() -> dict[str, tuple[object, ...]]:
        rank_items(database, ended(item))
        rows = weighed(database, item).items()
        return {page: (row.rank, row.rank_of_all, row.inlinks, row.anchors) for page, row in rows}

    at_once = values()
    for module, name in (
        (graph, "ROWS_PER_PARTITION"),
        (graph, "PAGES_PER_QUERY"),
        (graph, "DOCUMENTS_PER_CHUNK"),
        (ranking, "DOCUMENTS_PER_TRANSACTION"),
    ):
        monkeypatch.setattr(module, name, 2)
    assert values() == at_once
    assert {page: row[2] for page, row in at_once.items()}[url("a/2")] == 4


def test_an_interrupted_ranking_is_completed(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    item = add_item(database, "a", STAR)
    monkeypatch.setattr(ranking, "DOCUMENTS_PER_TRANSACTION", 2)
    commits = count(1)

    def killed(_connection: Connection) -> None:
        if next(commits) == 2:
            raise KeyboardInterrupt

    event.listen(database.engine, "commit", killed)
    with pytest.raises(KeyboardInterrupt):
        rank_items(database, ended(item))
    event.remove(database.engine, "commit", killed)
    assert (len(weighed(database, item)), journal_entries(database)) == (2, 1)
    rank_items(database, ended(item))
    assert (len(weighed(database, item)), journal_entries(database)) == (4, 3)


def test_concurrent_rankings_agree(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    item = add_item(database, "a", STAR)
    monkeypatch.setattr(ranking, "DOCUMENTS_PER_TRANSACTION", 1)
    with ThreadPoolExecutor(4) as together:
        done = list(together.map(lambda _: rank_items(database, ended(item)), range(4)))
    assert done == [4] * 4
    assert (len(weighed(database, item)), journal_entries(database)) == (4, 16)


def test_running_and_removed_items_are_skipped(database_config: Config, database: Database) -> None:
    item = add_item(database, "a", STAR)
    with database.session() as session:
        session.get_one(Item, item).state = ItemState.COLLECTING
    assert rank_items(database, ended(item, 999)) == 0
    with database.session() as session:
        session.get_one(Item, item).state = ItemState.ARCHIVED
    rank_items(database, ended(item))
    with database.reading() as session:
        urn = session.get_one(Item, item).urn
    remove_item(database_config, database, urn)
    assert rank_items(database, ended(item)) == 0
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(LinkWeight)) == 0


def test_an_item_without_pages_is_ranked(database: Database) -> None:
    item = add_item(database, "a", {})
    assert rank_items(database, ended(item)) == 0


def search(index: SearchIndex, words: str, order: SearchOrder = SearchOrder.BEST) -> SearchResults:
    return SearchFinder(index).find(SearchRequest(query=words, order=order))


def test_links_change_the_order_of_results(database: Database, tmp_path: Path) -> None:
    web = {f"a/{number}": [("a/7", "Tarantula's burrow")] for number in range(20)}
    item = add_item(database, "a", web)
    index = SearchIndex(tmp_path / "index")
    indexer = Indexer(database, index)
    indexer.step()
    assert search(index, "burrow").documents == 0
    rank_items(database, ended(item))
    assert indexer.step().documents == 20
    (found,) = search(index, "burrow").results
    assert (found.url, found.inlinks) == (url("a/7"), 19)
    assert search(index, "this is").results[0].url == url("a/7")
    assert search(index, "this is", SearchOrder.LINKS).results[0].url == url("a/7")
    best, words = search(index, "this is"), search(index, "this is", SearchOrder.WORDS)
    score = {result.url: result.score for result in words.results}
    assert best.results[0].score == pytest.approx(2.5 * max(score.values()), rel=0.3)


def test_a_late_indexer_takes_the_link_weights(database: Database, tmp_path: Path) -> None:
    item = add_item(database, "a", STAR)
    rank_items(database, ended(item))
    early, late = SearchIndex(tmp_path / "early"), SearchIndex(tmp_path / "late")
    for index in (early, late):
        Indexer(database, index).step()
    assert search(late, "spiders").results[0].inlinks == 3
    assert search(early, "spiders").results == search(late, "spiders").results
