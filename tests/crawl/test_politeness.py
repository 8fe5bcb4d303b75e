"""Politeness, checked in the server's own log."""

from __future__ import annotations

from itertools import pairwise

from sqlalchemy import select

from tarantula.core.database import Database
from tarantula.fetch.politeness import UNREACHED_FIRST_SECONDS
from tarantula.fetch.robots import MAX_ROBOTS_TRIES
from tarantula.models import Document
from tests.sites.drawing import page
from tests.sites.manners import first_then, reset
from tests.sites.server import Answer, Route, Web
from tests.support.crawls import collect, describe, states

PATHS = [f"/{number}" for number in range(6)]
SLACK = 0.01
"""Tolerated difference of the clocks of two processes, in seconds."""


def small_web(**more: Route) -> Web:
    pages: dict[str, Route] = {path: Answer(page(path)) for path in PATHS}
    return Web({"/": Answer(page("Base", PATHS)), **pages, **{f"/{name}": route for name, route in more.items()}})


def gaps(web: Web) -> list[float]:
    return [after.time - before.time for before, after in pairwise(web.visits)]


def test_requests_identify_the_operator(sqlite: Database) -> None:
    with small_web() as web:
        describe(sqlite, "polite", base_url=web.url())
        collect("polite", TARANTULA_CONTACT="https://example.org/robot", TARANTULA_MAIL="robot@example.org")
        for visit in web.visits:
            assert "Tarantula/" in visit.headers["user-agent"]
            assert "+https://example.org/robot" in visit.headers["user-agent"]
            assert visit.headers["from"] == "robot@example.org"


def test_there_is_a_pause_between_visits_including_robots_txt(sqlite: Database) -> None:
    with small_web() as web:
        describe(sqlite, "polite", base_url=web.url(), delay=0.2)
        collect("polite")
        assert len(web.visits) == 2 + len(PATHS)
        assert min(gaps(web)) >= 0.2 - SLACK


def test_crawl_delay_is_obeyed(sqlite: Database) -> None:
    robots = Answer("User-agent: *\nCrawl-delay: 0.3\n", "text/plain")
    with small_web(**{"robots.txt": robots}) as web:
        describe(sqlite, "polite", base_url=web.url(), delay=0)
        collect("polite")
        assert min(gaps(web)) >= 0.3 - SLACK


def test_robots_txt_is_not_requested_if_it_is_switched_off(sqlite: Database) -> None:
    robots = Answer("User-agent: *\nDisallow: /\n", "text/plain")
    with small_web(**{"robots.txt": robots}) as web:
        describe(sqlite, "rude", base_url=web.url(), robots=False)
        collect("rude")
        assert [visit.path for visit in web.visits_to("/robots.txt")] == []
        assert len(web.visits) == 1 + len(PATHS)


def test_retry_after_is_obeyed(sqlite: Database) -> None:
    busy = first_then(Answer(status=429, headers={"Retry-After": "1"}), Answer(page("at last")))
    with small_web(**{"0": busy}) as web:
        describe(sqlite, "polite", base_url=web.url())
        collect("polite")
        first, second = web.visits_to("/0")
        after = [visit.time for visit in web.visits if visit.time > first.time]
        assert min(after) - first.time >= 1.0 - SLACK
        assert second.time in after


def test_one_lost_connection_does_not_exclude_a_server(sqlite: Database) -> None:
    robots = first_then(reset, Answer("User-agent: *\nDisallow: /3\n", "text/plain"))
    with small_web(**{"robots.txt": robots}) as web:
        describe(sqlite, "patient", base_url=web.url(), delay=0.2)
        collect("patient")
        assert len(web.visits_to("/robots.txt")) == 2
        assert min(gaps(web)) >= 0.2 - SLACK
        assert states(sqlite) == {web.url(path): -7 if path == "/3" else 200 for path in ["/", *PATHS]}


def test_a_robots_txt_that_answers_503_once_is_tried_again(database: Database) -> None:
    robots = first_then(Answer(status=503), Answer("User-agent: *\nDisallow: /3\n", "text/plain"))
    with small_web(**{"robots.txt": robots}) as web:
        describe(database, "patient", base_url=web.url())
        log = collect("patient")
        assert [visit.path for visit in web.visits[:3]] == ["/robots.txt", "/robots.txt", "/"]
        assert gaps(web)[0] >= 1.0 - SLACK
        assert states(database) == {web.url(path): -7 if path == "/3" else 200 for path in ["/", *PATHS]}
    assert "'robots/retry_count': 1" in log
    with database.reading() as session:
        assert set(session.scalars(select(Document.tries).where(Document.state == 200))) == {1}


def test_a_robots_txt_that_never_answers_excludes_its_server_and_delays_no_other(sqlite: Database) -> None:
    other = "127.0.0.2"
    pages: dict[str, Route] = {
        "/": Answer(page("Base", ["/1"])),
        "/1": Answer(page("1", [])),
        "/robots.txt": Answer(status=404),
    }
    with Web({**pages, f"{other}/robots.txt": reset}, addresses=("127.0.0.1", other)) as web:
        web.routes["/"] = Answer(page("Base", [web.url("/", other), "/1"]))
        describe(sqlite, "patient", base_url=web.url(), accept=["127.0.0.*"])
        collect("patient")
        tries = [visit.time for visit in web.visits_to("/robots.txt", other)]
        # The failed fetch of a document is repeated once; its robots.txt is believed by then.
        assert len(tries) == MAX_ROBOTS_TRIES
        pauses = [after - before for before, after in pairwise(tries)]
        assert all(pause >= UNREACHED_FIRST_SECONDS * 2**number - SLACK for number, pause in enumerate(pauses))
        assert web.visits_to("/1")[0].time < tries[1]
        assert states(sqlite) == {web.url(): 200, web.url("/1"): 200, web.url("/", other): -11}


def test_retry_after_of_a_robots_txt_is_obeyed(sqlite: Database) -> None:
    robots = first_then(Answer(status=429, headers={"Retry-After": "1"}), Answer(status=404))
    with small_web(**{"robots.txt": robots}) as web:
        describe(sqlite, "patient", base_url=web.url())
        collect("patient")
        assert gaps(web)[0] >= 1.0 - SLACK


def test_disallowed_documents_cost_no_visit_and_no_pause(sqlite: Database) -> None:
    robots = Answer("User-agent: *\nDisallow: /\nAllow: /$\n", "text/plain")
    with small_web(**{"robots.txt": robots}) as web:
        describe(sqlite, "polite", base_url=web.url(), delay=2)
        log = collect("polite")
        assert [visit.path for visit in web.visits] == ["/robots.txt", "/"]
    assert float(log.split("'elapsed_time_seconds': ")[1].split(",")[0]) < 2 + 2 * len(PATHS)
    assert "scope/rejected_count/Robots" not in log
    assert f"'robots/excluded_count': {len(PATHS)}" in log
