"""Sources that are read as a browser renders them, some of them after steps."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tarantula.core.database import Database
from tests.sites.server import Answer, Route, Visit, Web
from tests.support.crawls import SCRAPY, interrupt, start, wait_until
from tests.support.sources import all_values, follow, state_of

PAGE = """<!doctype html><title>Price</title><p id="value">loading</p><script src="{script}"></script>"""
SCRIPT = """
fetch("/data.json").then(answer => answer.json()).then(price => {
  document.querySelector("#value").textContent = price;
});
fetch("http://127.0.0.9:1/outside", {method: "POST"}).catch(() => {});
"""
LOGIN = """<form action="/enter" method="post"><input id="user" name="user"><input id="word" name="word">
<button id="enter">Enter</button></form>"""


async def enter(visit: Visit, _connection: asyncio.Transport) -> Answer:
    return Answer(status=302, headers={"Location": "/account", "Set-Cookie": "who=ana; Path=/"})


async def account(visit: Visit, _connection: asyncio.Transport) -> Answer:
    known = "who=ana" in visit.headers.get("cookie", "")
    return Answer('<p id="value">1234</p>' if known else "<p>Who are you?</p>")


@pytest.mark.usefixtures("chromium")
def test_values_made_by_scripts_and_behind_steps_are_read(sqlite: Database) -> None:
    routes: dict[str, Route] = {
        "127.0.0.1/": Answer(LOGIN),
        "127.0.0.1/enter": enter,
        "127.0.0.1/account": account,
        "127.0.0.2/data.json": Answer("42", "application/json"),
        "127.0.0.3/make.js": Answer(SCRIPT, "text/javascript"),
        "127.0.0.4/": Answer(LOGIN),
    }
    with Web(routes, ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"]) as web:
        web.routes["127.0.0.2/"] = Answer(PAGE.format(script=web.url("/make.js", "127.0.0.3")))
        follow(
            sqlite, "test.made", url=web.url("/", "127.0.0.2"), interval=600, render=True, delay=0.2, allow_private=True
        )
        follow(
            sqlite,
            "user.ana.bank",
            url=web.url("/", "127.0.0.1"),
            interval=600,
            render=True,
            timeout=60,
            fields=[{"key": "money", "place": {"css": "#value"}}],
            variables={"user": "ana", "password": "very secret"},
            steps=[
                {"action": "fill", "where": "#user", "value": "{user}"},
                {"action": "fill", "where": "#word", "value": "{password}"},
                {"action": "click", "where": "#enter"},
                {"action": "wait", "where": "#value"},
            ],
        )
        steps = [{"action": "fill", "where": "#user", "value": "ana"}, {"action": "wait", "where": "#never"}]
        follow(sqlite, "test.shut", url=web.url("/", "127.0.0.4"), render=True, timeout=12, steps=steps)
        process = start([SCRAPY, "crawl", "streams"])
        wait_until(lambda: all(state_of(sqlite, source).status != "new" for source in (1, 2, 3)), process)
        log = interrupt(process)
        assert state_of(sqlite, 2).sentence == ""
        (sent,) = web.visits_to("/enter")
        times = [visit.time for visit in web.visits if visit.server.startswith("127.0.0.2")]
    assert state_of(sqlite, 1).sentence == ""
    assert state_of(sqlite, 3).sentence == "The browser could not render it: step 2, wait #never: it took too long."
    assert all_values(sqlite) == ["42"]
    assert all_values(sqlite, "money") == ["1234"]
    assert sent.head.startswith(b"POST")
    assert "Tarantula/" in sent.headers["user-agent"]
    assert "very secret" not in log
    assert "Traceback" not in log
    assert min(after - before for before, after in pairwise(times)) >= 0.2 - 0.02
