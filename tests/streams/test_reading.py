"""Sources are read by a separate process, from servers that misbehave."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from sqlalchemy import select

from tarantula.core.database import Database
from tarantula.models import Event, Series, Source, SourceState
from tarantula.store import server_settings
from tarantula.streams.ingest.type_change import edit_source
from tarantula.streams.reading.visits import next_due
from tarantula.streams.sources import registry
from tests.sites.drawing import page
from tests.sites.manners import silence
from tests.sites.server import Answer, Route, Visit, Web, free_port
from tests.support.crawls import wait_until
from tests.support.sources import SECOND, all_values, counting, follow, put_aside, reading, state_of

SLACK = 0.02
"""Tolerance between the clocks of two processes, seconds."""
ADDRESSES = [f"127.0.0.{number}" for number in range(1, 14)]


def statuses(database: Database) -> dict[str, tuple[str, str]]:
    """Return the status and sentence of every source."""
    with database.reading() as session:
        rows = session.execute(select(Source.name, SourceState).join(SourceState, SourceState.source_id == Source.id))
        return {name: (state.status, state.sentence) for name, state in rows}


def values_of(database: Database, name: str) -> list[str]:
    with database.reading() as session:
        chosen = select(Event.value).join(Series, Series.id == Event.series_id).join(Source)
        return list(session.scalars(chosen.where(Source.name == name).order_by(Event.at)))


def test_any_failure_of_a_server_is_shown_and_others_continue(database: Database) -> None:
    forbidding = Answer("User-agent: *\nDisallow: /\n", "text/plain")
    thousand = "".join(f'<p class="value">{number}</p>' for number in range(1000))
    routes: dict[str, Route] = {
        "127.0.0.1/good": counting(),
        "127.0.0.2/empty": Answer(""),
        "127.0.0.3/image": Answer(bytes(range(256)) * 40, "image/png"),
        "127.0.0.4/digits": Answer(f'<p id="value">{"1" * 1_000_000}</p>'),
        "127.0.0.5/thousand": Answer(thousand),
        "127.0.0.6/busy": Answer(status=429, headers={"Retry-After": "60"}),
        "127.0.0.7/robots.txt": forbidding,
        "127.0.0.8/loop": Answer(status=302, headers={"Location": "/loop"}),
        "127.0.0.9/slow": silence,
        "127.0.0.10/moved": Answer(status=301, headers={"Location": "/here"}),
        "127.0.0.10/here": Answer('<p id="value">12</p>'),
        "127.0.0.11/gone": Answer(page("Nothing")),
        "127.0.0.12/away": Answer(status=503),
    }
    with Web(routes, ADDRESSES) as web:
        for route in routes:
            address, _, name = route.partition("/")
            name = "forbidden" if name == "robots.txt" else name
            if name != "here":
                css = ".value" if name == "thousand" else "#value"
                field = {"key": "value", "kind": "integer", "place": {"css": css}}
                url = web.url(f"/{name}", address)
                follow(database, f"test.{name}", url=url, interval=1, timeout=2, fields=[field])
        follow(database, "test.down", url=f"http://127.0.0.13:{free_port('127.0.0.13')}/", interval=1)
        with database.session() as session:
            server_settings.put_server_settings(session, "127.0.0.14", None, {"excluded": True})
        follow(database, "test.excluded", url="http://127.0.0.14/", interval=1)
        nowhere = follow(database, "test.nowhere", interval=1)
        with database.session() as session:
            # As an earlier version may have stored it.
            source = session.get_one(Source, nowhere)
            source.configuration = {**source.configuration, "url": "ftp://example.org/"}
        with reading() as process:
            wait_until(lambda: all(status != "new" for status, _ in statuses(database).values()), process)
            before = len(values_of(database, "test.good"))
            wait_until(lambda: len(values_of(database, "test.good")) >= before + 3, process)
        said = statuses(database)
        assert len(web.visits_to("/busy")) == 1
        assert web.visits_to("/forbidden") == []
        assert len(web.visits_to("/loop")) >= 6
        hops = [visit.time for visit in web.visits_to("/loop")][:6]
    assert {name.removeprefix("test."): status for name, (status, _) in said.items()} == {
        "good": "read",
        "empty": "unreached",
        "image": "unreached",
        "digits": said["test.digits"][0],
        "thousand": said["test.thousand"][0],
        "busy": "unreached",
        "forbidden": "refused",
        "loop": "unreached",
        "slow": "unreached",
        "moved": "read",
        "gone": "missing",
        "away": "unreached",
        "down": "unreached",
        "excluded": "refused",
        "nowhere": "refused",
    }
    # Whatever the adapter reports, no value is stored.
    assert {said["test.digits"][0], said["test.thousand"][0]} <= {"missing", "doubtful"}
    for name, words in {
        "busy": "429",
        "forbidden": "robots.txt excludes",
        "loop": "redirected more than 5",
        "slow": "longer than 2 s",
        "excluded": "The server 127.0.0.14 is excluded",
        "nowhere": "not a web address",
        "away": "503",
    }.items():
        assert words in said[f"test.{name}"][1]
    assert values_of(database, "test.moved") == ["12"]
    assert len(hops) == 6
    for name in ("empty", "image", "digits", "thousand", "gone"):
        assert values_of(database, f"test.{name}") == []
    assert all(len(row.read) <= 1000 for row in put_aside(database))


def test_due_times_keep_their_rhythm_and_a_page_is_requested_once(sqlite: Database) -> None:
    with Web({"/": counting('<p id="value">{0}</p><p id="other">{0}</p>')}) as web:
        for name in ("value", "other"):
            follow(sqlite, f"test.{name}", url=web.url(), interval=1, fields=[{"key": name}])
        beat = next_due(web.url(), 1, 0)

        def is_on_time() -> bool:
            return any((at - beat) % SECOND < 0.3 * SECOND for at in read_at(sqlite, 1)[1:])

        with reading() as process:
            wait_until(lambda: len(web.visits_to("/")) >= 6 and is_on_time(), process)
        visits = len(web.visits_to("/"))
    assert read_at(sqlite, 1) == read_at(sqlite, 2)
    assert visits - len(read_at(sqlite, 1)) in (0, 1)
    # The first reading is immediate; the following ones are due a second apart, without drift, however late one is.
    assert {(state_of(sqlite, source).due_at - beat) % SECOND for source in (1, 2)} == {0}


def read_at(database: Database, series: int) -> list[int]:
    """Return the times of the events of a series, all of which have different values."""
    with database.reading() as session:
        return list(session.scalars(select(Event.at).where(Event.series_id == series).order_by(Event.at)))


def test_a_page_that_did_not_change_is_not_sent_again(sqlite: Database) -> None:
    async def manner(visit: Visit, _connection: asyncio.Transport) -> Answer:
        if visit.headers.get("if-none-match") == '"one"':
            return Answer(status=304)
        return Answer('<p id="value">12</p>', headers={"ETag": '"one"', "Last-Modified": "yesterday"})

    with Web({"/": manner}) as web:
        follow(sqlite, url=web.url(), interval=1)
        with reading() as process:
            wait_until(lambda: len(web.visits_to("/")) >= 4, process)
        asked = [visit.headers.get("if-none-match") for visit in web.visits_to("/")]
    assert asked[0] is None
    assert set(asked[1:]) == {'"one"'}
    assert all_values(sqlite) == ["12"]
    assert state_of(sqlite).status == "read"


def test_changes_by_others_are_noticed(database: Database) -> None:
    with Web({"/a": counting(), "/b": counting(), "/c": counting()}, ADDRESSES[:3]) as web:
        follow(database, "test.a", url=web.url("/a", "127.0.0.1"), interval=1)
        follow(database, "test.b", url=web.url("/b", "127.0.0.2"), interval=1)
        with reading() as process:
            wait_until(lambda: bool(web.visits_to("/a") and web.visits_to("/b")), process)
            with database.session() as session:
                edit_source(session, "test.a", {"paused": True})
                registry.remove(session, "test.b")
            # When this change is seen, the others are too.
            follow(database, "test.c", url=web.url("/c", "127.0.0.3"), interval=3600)
            wait_until(lambda: bool(values_of(database, "test.c")), process)
            seen = [len(web.visits_to(path)) for path in ("/a", "/b")]
            with database.session() as session:
                edit_source(session, "test.c", {"interval": 1})
            wait_until(lambda: len(web.visits_to("/c")) >= 4, process)
            assert [len(web.visits_to(path)) for path in ("/a", "/b")] == seen
            with database.session() as session:
                edit_source(session, "test.a", {"paused": False})
            wait_until(lambda: len(web.visits_to("/a")) > seen[0], process)


def test_pauses_are_kept_between_sources_of_a_server(sqlite: Database) -> None:
    with Web({f"/{number}": counting() for number in range(4)}) as web:
        for number in range(4):
            follow(sqlite, f"test.s{number}", url=web.url(f"/{number}"), interval=1, delay=0.3 if number else 0.1)
        with reading() as process:
            wait_until(lambda: len(web.visits) >= 12, process)
        gaps = [after.time - before.time for before, after in pairwise(web.visits)]
        paths = {visit.path for visit in web.visits}
    assert min(gaps) >= 0.3 - SLACK
    assert paths == {"/robots.txt", "/0", "/1", "/2", "/3"}
