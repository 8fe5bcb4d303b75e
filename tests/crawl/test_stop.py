"""A running collector obeys stop requests and changed deadlines in the database."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import ItemReason, Reason
from tarantula.core.termination import EXIT_INTERRUPTED
from tarantula.lifecycle.supervisor import extend_item
from tests.sites.drawing import page
from tests.sites.manners import silence
from tests.sites.server import Answer, Web
from tests.support.crawls import SCRAPY, TARANTULA, describe, only_item, run, start, states, wait_until
from tests.support.waits import TIMEOUT_SECONDS


@pytest.fixture
def web() -> Iterator[Web]:
    """A base document, a page that never responds, and servers with a slow robots.txt."""
    links = ["/never", *(f"/{number}" for number in range(9))]
    answers = {f"/{number}": Answer(page(str(number))) for number in range(9)}
    with Web({"/": Answer(page("Base", links)), "/never": silence, **answers}, ["127.0.0.1", "127.0.0.2"]) as served:
        served.routes["127.0.0.2/robots.txt"] = silence
        links.append(served.url("/", "127.0.0.2"))
        served.routes["/"] = Answer(page("Base", links))
        yield served


def test_a_collector_stops_during_open_requests(database: Database, web: Web) -> None:
    describe(database, "stopped", base_url=web.url(), accept=["127.0.0.2"])
    other = web.server("127.0.0.2")
    process = start([SCRAPY, "crawl", "stopped"])
    wait_until(lambda: bool(web.visits_to("/never")) and bool(web.visits_to("/robots.txt", other)), process)
    urn = only_item(database).urn
    code, out, err = run(TARANTULA, "item", "stop", urn)
    assert (code, out, err) == (0, f"{urn} is interrupted.\n", "")
    _, log = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == EXIT_INTERRUPTED
    assert "Traceback" not in log, log
    item = only_item(database)
    assert (item.state, item.reason, item.crashes) == ("interrupted", Reason.of(ItemReason.STOPPED), 0)
    assert set(states(database).values()) == {200, -6}
    assert states(database)[web.url("/never")] == -6


def test_a_collector_obeys_the_deadline_in_the_database(sqlite: Database, config: Config, web: Web) -> None:
    describe(sqlite, "extended", base_url=web.url(), max_duration="1h", robots=False)
    process = start([SCRAPY, "crawl", "extended"])
    wait_until(lambda: bool(web.visits_to("/never")), process)
    urn = only_item(sqlite).urn
    soon = datetime.fromtimestamp(time.time() + 1, UTC)
    extend_item(config, sqlite, urn, soon.isoformat(), datetime.now(UTC))
    _, log = process.communicate(timeout=TIMEOUT_SECONDS)
    item = only_item(sqlite)
    assert process.returncode == EXIT_INTERRUPTED
    assert "Traceback" not in log, log
    assert (item.state, item.reason, item.deadline) == ("interrupted", Reason.of(ItemReason.DEADLINE), soon)
