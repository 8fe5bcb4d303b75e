"""Depth is the length of the shortest path, in whatever order documents are collected."""

from __future__ import annotations

import random
from collections import deque

import pytest
from sqlalchemy import select

from tarantula.core.database import Database
from tarantula.crawl.discovery import Discovery
from tarantula.fetch.media_types import ExtensionsByType
from tarantula.items import FrontierEntry
from tarantula.links.link import Link, LinkKind
from tarantula.models import Document
from tarantula.publications.config import read_config
from tarantula.scope.scope import Scope
from tarantula.scope.types import TypeSet
from tarantula.store.documents import DocumentOutcome, DocumentTable
from tarantula.store.writer import DepthUpdater
from tests.store.test_documents import new_item

DEPTH = 3
TYPES: ExtensionsByType = {}
Graph = dict[str, list[Link]]


def random_graph(dice: random.Random, size: int = 40) -> Graph:
    """Return pages with a few links each, some of them redirects, some with images."""
    urls = ["http://h/", *(f"http://h/{number}" for number in range(1, size))]
    graph: Graph = {}
    for url in urls:
        if dice.random() < 0.1:
            graph[url] = [Link(dice.choice(urls), LinkKind.REDIRECT)]
        else:
            kinds = [LinkKind.NAVIGATION, LinkKind.NAVIGATION, LinkKind.REQUISITE]
            targets = dice.sample(urls, dice.randrange(4))
            graph[url] = [Link(target, dice.choice(kinds)) for target in targets if target != url]
    return graph


def shortest(graph: Graph) -> dict[str, int]:
    """Return the distance of every page from the base, computed breadth-first."""
    distance = {"http://h/": 0}
    queue = deque(["http://h/"])
    while queue:
        url = queue.popleft()
        for target, kind in graph[url]:
            step = distance[url] + (kind != LinkKind.REDIRECT)
            if step < distance.get(target, 99):
                distance[target] = step
                queue.appendleft(target) if kind == LinkKind.REDIRECT else queue.append(target)
    return distance


def collect_in_disorder(database: Database, graph: Graph, dice: random.Random) -> dict[str, int]:
    """Collect a graph a few documents at a time in random order; return the depths of the collected documents."""
    config = read_config({"name": "x", "base_url": "http://h/", "depth": DEPTH})
    discovery = Discovery(Scope.of(config, TYPES, TypeSet(["*/*"])), keep_refused=True)
    item = new_item(database, name=f"g{dice.randrange(10**9)}")
    table = DocumentTable(item)
    ways = DepthUpdater(table, discovery.judge_again)
    with database.engine.begin() as connection:
        waiting = {entry.id: entry for entry in table.next_waiting(connection, "h", set(), 10)}
        under_way: list[FrontierEntry] = []
        while waiting or under_way:
            while waiting and len(under_way) < 3:
                under_way.append(waiting.pop(dice.choice([*waiting])))
            done = under_way.pop(dice.randrange(len(under_way)))
            # Other documents may be stored between reading and storing a page.
            links = graph[done.url]
            found, named = discovery.discover(done, links)
            table.insert_links(connection, {done.id: named})
            table.finish(connection, [DocumentOutcome(done.id, 302 if links[:1] and links[0].kind == 3 else 200)])
            new, lowered = table.insert_urls(connection, found)
            late, also_lowered = ways.recheck(connection, [(done.id, done.depth)])
            more, nearer = ways.propagate(connection, lowered + also_lowered)
            waiting |= {entry.id: entry for entry in new + late + more}
            for entry in nearer:
                held = [known for known in [*waiting.values(), *under_way] if known.id == entry.id]
                if not held:
                    waiting[entry.id] = entry
                for known in held:
                    if dice.random() < 0.5:
                        known.depth, known.kind = entry.depth, entry.kind
        rows_now = connection.execute(
            select(Document.url, Document.depth).where(Document.item_id == item, Document.state > 0)
        )
        return dict(rows_now.all())


@pytest.mark.parametrize("seed", range(12))
def test_depth_is_the_shortest_path_in_any_order(database: Database, seed: int) -> None:
    dice = random.Random(seed)
    graph = random_graph(dice)
    truth = shortest(graph)
    collected = collect_in_disorder(database, graph, dice)
    assert {url for url, distance in truth.items() if distance <= DEPTH} <= collected.keys()
    assert all(distance <= DEPTH + 1 for distance in collected.values())
    for url, distance in collected.items():
        if truth[url] <= DEPTH:
            assert distance == truth[url], url
