"""Names whose name servers never answer: the other servers are collected without delay."""

from __future__ import annotations

import signal

from tarantula.core.database import Database
from tests.sites.drawing import page
from tests.sites.name_server import NameServer
from tests.sites.server import Answer, Web
from tests.support.crawls import SCRAPY, describe, interrupt, start, states, wait_until

DEAD_NAMES = 300
PAGES = 40


def test_pages_are_stored_while_hundreds_of_names_do_not_resolve(sqlite: Database) -> None:
    with NameServer({"live.example": "127.0.0.1"}) as names, Web({}) as web:
        base = f"http://live.example:{web.port}/"
        pages = [f"{base}{number}" for number in range(PAGES)]
        dead = [f"http://dead{number}.example:{web.port}/" for number in range(DEAD_NAMES)]
        # The dead ones come first.
        web.routes["/"] = Answer(page("Base", [*dead, *pages]))
        web.routes.update({f"/{number}": Answer(page(str(number))) for number in range(PAGES)})
        describe(sqlite, "dead", base_url=base, accept=["*.example"], allow_private=True)
        collector = start([SCRAPY, "crawl", "dead"], TARANTULA_NAME_SERVERS=names.address)
        wait_until(lambda: [states(sqlite).get(url) for url in (base, *pages)] == [200] * (1 + PAGES), collector)
        # No lookup had the time to fail.
        found = states(sqlite)
        assert {found[url] for url in dead} <= {-6, 0}
        log = interrupt(collector, signal.SIGTERM)
    assert "Traceback" not in log, log
    assert {"live.example", "dead0.example"} <= set(names.asked)
