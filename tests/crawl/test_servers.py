"""Servers with their own settings, and a server that is accepted while its item runs."""

from __future__ import annotations

import threading
from itertools import pairwise

from sqlalchemy import select

from tarantula.core.database import Database
from tarantula.models import Document
from tarantula.store import server_settings
from tests.sites import manners
from tests.sites.drawing import page
from tests.sites.server import Answer, Web
from tests.support import crawls
from tests.support.crawls import SCRAPY, TARANTULA, collect, describe, only_item, start, states, wait_until
from tests.support.waits import TIMEOUT_SECONDS

BASE, SLOW, LITTLE, NEAR, OUT = (f"127.0.0.{number}" for number in range(1, 6))
PAGES = 6
DELAY = 0.3


def serve() -> Web:
    return Web({}, (BASE, SLOW, LITTLE, NEAR, OUT))


def fill(web: Web, *addresses: str) -> None:
    """Give each server a first page with links, and the base server a page that links to all of them."""
    doors = [web.url("/", address) for address in addresses]
    web.routes[f"{BASE}/"] = Answer(page("Base", doors))
    for address in addresses:
        web.routes[f"{address}/"] = Answer(page(address, [f"/{number}" for number in range(PAGES)]))
        for number in range(PAGES):
            web.routes[f"{address}/{number}"] = Answer(page(f"{address} {number}"))


def test_each_server_has_its_own_settings(sqlite: Database) -> None:
    with serve() as web:
        fill(web, SLOW, LITTLE, NEAR, OUT)
        describe(sqlite, "servers", base_url=web.url(), accept=["127.0.0.*"], robots=False)
        with sqlite.session() as session:
            for address, settings in (
                (SLOW, {"delay": DELAY}),
                (LITTLE, {"documents": 3}),
                (NEAR, {"depth": 1}),
                (OUT, {"excluded": True}),
            ):
                server_settings.put_server_settings(session, web.server(address), None, settings)
        log = collect("servers")
        visits = {address: [v.time for v in web.visits if v.server == web.server(address)] for address in web.addresses}
        port = web.port
    counts = {address: len(times) for address, times in visits.items()}
    assert counts == {BASE: 1, SLOW: 1 + PAGES, LITTLE: 3, NEAR: 1, OUT: 0}
    assert all(later - earlier > DELAY * 0.9 for earlier, later in pairwise(visits[SLOW]))
    with sqlite.reading() as session:
        refused = session.execute(select(Document.url, Document.rule).where(Document.state < 0)).all()
    by_server = {(url.split("/")[2].removesuffix(f":{port}"), rule) for url, rule in refused}
    assert by_server == {(LITTLE, "ServerBudget"), (NEAR, "ServerTooDeep"), (OUT, "ServerExcluded")}
    assert f"'scope/rejected_count/ServerTooDeep': {PAGES}" in log
    assert f"'scope/rejected_count/ServerBudget': {1 + PAGES - 3}" in log


def test_a_server_is_accepted_while_its_item_runs(database: Database) -> None:
    released = threading.Event()
    with serve() as web:
        fill(web, OUT)
        web.routes[f"{BASE}/"] = Answer(page("Base", [web.url("/", OUT), "/held"]))
        web.routes[f"{BASE}/held"] = manners.holding(released, Answer(page("Held")))
        describe(database, "servers", base_url=web.url(), robots=False)
        process = start([SCRAPY, "crawl", "servers"])
        try:
            wait_until(lambda: states(database).get(web.url("/", OUT)) == -5, process)
            code, out, err = crawls.run(TARANTULA, "server", "accept", only_item(database).urn, web.server(OUT))
            assert (code, "1 of its documents" in out) == (0, True), err
            everything = [web.url("/", OUT), *(web.url(f"/{number}", OUT) for number in range(PAGES))]
            wait_until(lambda: all(states(database).get(url) == 200 for url in everything), process)
            released.set()
            _, log = process.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 0, log
    assert set(states(database).values()) == {200}
    assert only_item(database).state == "archived"
