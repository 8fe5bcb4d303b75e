"""An item without its base document needs attention, is tried again within its time, and exits with 3."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import ItemReason
from tarantula.fetch.robots import MAX_ROBOTS_TRIES
from tarantula.lifecycle.daemon import Coordinator
from tests.sites.drawing import page
from tests.sites.manners import reset
from tests.sites.server import Answer, Route, Web
from tests.support.crawls import SCRAPY, TARANTULA, collect, describe, only_item, run, states
from tests.support.item_lifecycles import FakeStarter

OUTAGES: dict[str, Route] = {"reset": reset, "503": Answer("Come back later.", status=503)}


def test_a_robots_txt_that_fails_at_every_try_leaves_no_empty_item(database: Database, database_config: Config) -> None:
    with Web({"/": Answer(page("Base")), "/robots.txt": Answer(status=500)}) as web:
        describe(database, "down", base_url=web.url())
        code, _, log = run(SCRAPY, "crawl", "down", TARANTULA_RETRY_PAUSE="100")
        item = only_item(database)
        assert code == 3, log
        assert [visit.path for visit in web.visits] == ["/robots.txt"] * MAX_ROBOTS_TRIES
        assert (item.state, item.crashes, states(database)) == ("collecting", 0, {web.url(): -6})
        assert item.reason is not None
        assert item.reason.code == ItemReason.BASE_MISSING
        assert [fired["rule"] for fired in item.attention or ()][:1] == ["base-missing"]
        assert item.retry_at is not None
        starter = FakeStarter()
        Coordinator(database_config, database, starter).round(item.retry_at)
        assert starter.started == [(item.urn, "collecting")]
        web.routes["/robots.txt"] = Answer(status=404)
        collect("down", "-a", f"item={item.urn}")
    archived = only_item(database)
    assert (archived.state, archived.reason, archived.attention) == ("archived", None, [])
    assert states(database) == {web.url(): 200}


@pytest.mark.parametrize("outage", OUTAGES)
def test_a_base_document_that_fails_is_tried_again(database: Database, database_config: Config, outage: str) -> None:
    with Web({"/": OUTAGES[outage]}) as web:
        describe(database, "down", base_url=web.url(), robots=False)
        code, _, log = run(SCRAPY, "crawl", "down", TARANTULA_RETRY_PAUSE="100")
        item = only_item(database)
        assert code == 3, log
        assert f"Its base document {web.url()} was not collected: " in log
        assert f"`tarantula item resume {item.urn}`" in log
        assert (item.state, item.crashes, states(database)) == ("collecting", 0, {web.url(): -6})
        assert item.reason is not None
        assert item.reason.code == ItemReason.BASE_MISSING
        assert [fired["rule"] for fired in item.attention or ()][:1] == ["base-missing"]
        assert item.retry_at is not None
        assert timedelta(seconds=90) < item.retry_at - datetime.now(UTC) <= timedelta(seconds=400)

        starter = FakeStarter()
        coordinator = Coordinator(database_config, database, starter)
        coordinator.round(item.retry_at - timedelta(seconds=1))
        assert starter.started == []
        coordinator.round(item.retry_at)
        assert starter.started == [(item.urn, "collecting")]
        web.routes["/"] = Answer(page("Base"))
        collect("down", "-a", f"item={item.urn}")
    archived = only_item(database)
    assert (archived.state, archived.reason, archived.attention) == ("archived", None, [])
    assert states(database) == {web.url(): 200}


def test_an_item_whose_time_is_over_is_interrupted_and_can_be_resumed(sqlite: Database) -> None:
    with Web({"/": reset}) as web:
        describe(sqlite, "down", base_url=web.url(), robots=False, max_duration="20")
        code, out, err = run(TARANTULA, "crawl", "down", TARANTULA_RETRY_PAUSE="100")
        item = only_item(sqlite)
        assert code == 3, out + err
        assert item.state == "interrupted"
        assert item.reason is not None
        assert item.reason.code == ItemReason.BASE_MISSING
        logs = Config().items / item.urn
        assert err.endswith(
            f"{item.reason} Continue with `tarantula item resume {item.urn}`. Its logs are in {logs}.\n"
        )
        web.routes["/"] = Answer(page("Base"))
        assert run(TARANTULA, "item", "resume", item.urn)[0] == 0
    assert (only_item(sqlite).state, states(sqlite)) == ("archived", {web.url(): 200})


@pytest.mark.parametrize("command", [[SCRAPY, "crawl"], [TARANTULA, "crawl"]], ids=["scrapy", "own"])
def test_a_base_document_that_is_gone_is_no_success(sqlite: Database, command: list[str]) -> None:
    with Web({}) as web:
        describe(sqlite, "gone", base_url=web.url(), robots=False)
        code, out, err = run(*command, "gone")
    assert code == 3, out + err
    assert f"The base document {web.url()} was not collected: The server answered 404 Not Found." in err
    item = only_item(sqlite)
    assert item.state == "archived"
    assert [fired["rule"] for fired in item.attention or ()][:1] == ["base-missing"]
