"""robots.txt."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.core.config import Config
from tarantula.core.reasons import Reason
from tarantula.core.states import DocumentState
from tarantula.fetch.robots import (
    FRESH_FAILURE_SECONDS,
    FRESH_SECONDS,
    MAX_CRAWL_DELAY_SECONDS,
    MAX_ROBOTS_BYTES,
    MAX_ROBOTS_RETRY_SECONDS,
    MAX_ROBOTS_TRIES,
    PRODUCT_TOKEN,
    RobotsCache,
    RobotsRules,
    robots_url,
)

SITE = "http://www.x.pt"
URL = f"{SITE}/robots.txt"


def rules(text: str | bytes, status: int = 200) -> RobotsRules:
    return RobotsRules(status, text.encode() if isinstance(text, str) else text, URL)


def test_our_header_and_robots_txt_use_the_same_name() -> None:
    assert f"; {PRODUCT_TOKEN}/" in Config().user_agent


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        # RFC 9309 2.2.1: groups, by product token.
        ("User-agent: *\nDisallow: /", "/a", False),
        ("User-agent: tarantula\nDisallow: /", "/a", False),
        ("USER-AGENT: TARANTULA\nDISALLOW: /", "/a", False),
        ("User-agent: Tarantula/1.0\nDisallow: /", "/a", False),
        ("User-agent: Tarantula # the spider\nDisallow: /", "/a", False),
        ("User-agent: Tarantulabot\nDisallow: /", "/a", True),
        ("User-agent: Mozilla\nDisallow: /", "/a", True),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: Tarantula\nDisallow: /b", "/a", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: Tarantula\nDisallow: /b", "/b", False),
        ("User-agent: other\nUser-agent: Tarantula\nDisallow: /a", "/a", False),
        ("User-agent: Tarantula\nDisallow: /a\n\nUser-agent: x\n\nUser-agent: Tarantula\nDisallow: /b", "/a", False),
        ("User-agent: Tarantula\nDisallow: /a\n\nUser-agent: x\n\nUser-agent: Tarantula\nDisallow: /b", "/b", False),
        ("User-agent: Tarantula\n\nUser-agent: *\nDisallow: /a", "/a", False),
        ("Disallow: /", "/a", True),
        # RFC 9309 2.2.2: the most specific match wins, and allow wins a tie.
        ("User-agent: *\nAllow: /press/\nDisallow: /press/old/", "/press/new", True),
        ("User-agent: *\nAllow: /press/\nDisallow: /press/old/", "/press/old/1", False),
        ("User-agent: *\nDisallow: /press/\nAllow: /press/kit.html", "/press/kit.html", True),
        ("User-agent: *\nDisallow: /press\nAllow: /press", "/press", True),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nDisallow: /Press", "/press", True),
        ("User-agent: *\nDisallow: /a", "/ab/c", False),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("User-agent: *\nDisallow: /q?x=", "/q?x=1", False),
        ("User-agent: *\nDisallow: /q?x=", "/q", True),
        ("User-agent: *\nDisallow: /ponte/%E3%83%84", "/ponte/%e3%83%84", False),
        ("User-agent: *\nDisallow: /ponte/ツ", "/ponte/%E3%83%84", False),
        ("User-agent: *\nDisallow: /lisbo%61", "/lisboa", False),
        # RFC 9309 2.2.3: special characters.
        ("User-agent: *\nDisallow: *.gif$", "/img/a.gif", False),
        ("User-agent: *\nDisallow: *.gif$", "/img/a.gif?v=1", True),
        ("User-agent: *\nDisallow: /a/*/print", "/a/b/c/print.html", False),
        ("User-agent: *\nDisallow: /end$", "/end", False),
        ("User-agent: *\nDisallow: /end$", "/ending", True),
        ("User-agent: * # all\nDisallow: /a # not this", "/a", False),
        # RFC 9309 2.2.4: other records do not break a group.
        ("User-agent: *\nSitemap: http://www.x.pt/s.xml\nDisallow: /a", "/a", False),
        ("User-agent: *\nCrawl-delay: 2\nDisallow: /a", "/a", False),
        # What people do.
        ("\ufeffUser-agent: *\nDisallow: /a", "/a", False),
        ("User-agent: *\r\nDisallow: /a\r\n", "/a", False),
        ("User-agent: *\rDisallow: /a", "/a", False),
        ("  user-agent :  *  \n  disallow :  /a  ", "/a", False),
        ("<!-- robots -->\nUser-agent: *\nDisallow: /a", "/a", False),
    ],
)
def test_rfc_9309(text: str, path: str, allowed: bool) -> None:
    assert rules(text).allowed(SITE + path) is allowed


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"Please do not disallow our robots, user agent or not.",
        b"<!DOCTYPE html>\n<pre>\nUser-agent: *\nDisallow: /\n</pre>",
        b"<html><body>404, desculpe</body></html>",
        b"\x89PNG\r\n\x1a\n\nUser-agent: *\nDisallow: /",
        b"\x00\x01\x02\nUser-agent: *\nDisallow: /",
        "User-agent: *\nDisallow: /".encode("utf-16"),
        b"\xff\xfe\xfd\n\x80\x81",
        b"Proibido:\nTudo: /",
    ],
)
def test_what_cannot_be_parsed_excludes_nothing(body: bytes) -> None:
    assert rules(body).allowed(f"{SITE}/a")


@pytest.mark.parametrize(
    ("status", "allowed"),
    [
        (200, False),
        (204, False),
        (301, True),
        (400, True),
        (401, True),
        (403, True),
        (404, True),
        (410, True),
        (429, True),
        (499, True),
        (500, False),
        (503, False),
        (599, False),
        (DocumentState.TIMEOUT, False),
        (DocumentState.SYSTEM_ERROR, False),
        (DocumentState.INVALID_RESPONSE, True),
        (DocumentState.NO_CODE, True),
        (DocumentState.TOO_LARGE, True),
    ],
)
def test_unavailable_allows_and_unreachable_excludes(status: int, allowed: bool) -> None:
    assert rules("User-agent: *\nDisallow: /", status).allowed(f"{SITE}/a") is allowed


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (200, f"{URL} excludes it."),
        (503, f"{URL} returned 503; everything on that server is excluded until it can be read."),
        (-10, f"{URL} could not be fetched: The name x does not resolve."),
    ],
)
def test_the_reason_names_the_file(status: int, sentence: str) -> None:
    read = RobotsRules(status, b"User-agent: *\nDisallow: /", URL, Reason.of("name_not_resolved", host="x"))
    assert str(read.reason) == sentence


@pytest.mark.parametrize(("status", "state"), [(200, -7), (503, -7), (-10, -10), (-11, -11)])
def test_where_nothing_is_known_of_a_server_documents_end_as_its_robots_txt_did(status: int, state: int) -> None:
    assert rules("", status).state == state


def test_the_first_500_kib_are_read() -> None:
    filling = b"#" * 98 + b"\n"
    rest = MAX_ROBOTS_BYTES % len(filling)
    start = b"User-agent: *\nDisallow: /a\n"
    body = start + filling * (MAX_ROBOTS_BYTES // len(filling)) + b"#" * rest + b"\nDisallow: /b\n"
    assert not rules(body).allowed(f"{SITE}/a")
    assert rules(body).allowed(f"{SITE}/b")


@pytest.mark.parametrize(
    "body", [b"\n" * MAX_ROBOTS_BYTES, b" " * MAX_ROBOTS_BYTES, b"User-agent: a" * 40_000, b"<" * MAX_ROBOTS_BYTES]
)
def test_a_hostile_file_is_read_in_time(body: bytes) -> None:
    assert rules(body).allowed(f"{SITE}/a")


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("", None),
        ("User-agent: *\nDisallow: /", None),
        ("User-agent: *\nCrawl-delay: 10", 10.0),
        ("User-agent: *\nCrawl-delay: 0.5", 0.5),
        ("User-agent: *\nCrawl-delay: 0", 0.0),
        ("User-agent: *\nCrawl-delay: -1", None),
        ("User-agent: *\nCrawl-delay: nan", None),
        ("User-agent: *\nCrawl-delay: slow", None),
        ("User-agent: *\nCrawl-delay: 9\n\nUser-agent: Tarantula\nCrawl-delay: 2", 2.0),
        ("User-agent: other\nCrawl-delay: 9", None),
        ("User-agent: *\nCrawl-delay: 300", 300.0),
    ],
)
def test_crawl_delay(text: str, delay: float | None) -> None:
    assert rules(text).crawl_delay() == delay


def test_a_server_that_asks_for_a_day_gets_five_minutes_and_we_say_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert rules("User-agent: *\nCrawl-delay: 86400").crawl_delay() == MAX_CRAWL_DELAY_SECONDS
    assert f"The Crawl-delay of {URL} is 86400 s; 300 s is used." in caplog.text


@given(st.binary(max_size=300), st.integers(-11, 599))
def test_no_file_is_too_strange(body: bytes, status: int) -> None:
    for text in (body, b"User-agent: *\nDisallow: " + body + b"\nCrawl-delay: " + body):
        read = RobotsRules(status, text, URL)
        assert read.allowed(f"{SITE}/a?b=%zz") in (True, False)
        assert read.crawl_delay() is None or 0 <= (read.crawl_delay() or 0) <= MAX_CRAWL_DELAY_SECONDS


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("http://www.x.pt/a/b?c", "http://www.x.pt/robots.txt"),
        ("https://www.x.pt/", "https://www.x.pt/robots.txt"),
        ("http://www.x.pt:8080/", "http://www.x.pt:8080/robots.txt"),
        ("http://user@www.x.pt/", "http://www.x.pt/robots.txt"),
        ("http://[::1]:81/a", "http://[::1]:81/robots.txt"),
        ("http://www.x.pt/robots.txt", "http://www.x.pt/robots.txt"),
    ],
)
def test_where_a_robots_txt_is(url: str, where: str) -> None:
    assert robots_url(url) == where


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_file_is_believed_for_a_day_by_scheme_and_server() -> None:
    clock = Clock()
    cache = RobotsCache(clock=clock)
    read = rules("")
    assert cache.get(f"{SITE}/a") is None
    assert cache.put(f"{SITE}/a", read) is read
    assert cache.get(f"{SITE}/b") is read
    assert cache.get("https://www.x.pt/b") is None
    assert cache.get("http://www.x.pt:81/b") is None
    clock.now = FRESH_SECONDS - 1
    assert cache.get(f"{SITE}/b") is read
    clock.now = FRESH_SECONDS
    assert cache.get(f"{SITE}/b") is None


@pytest.mark.parametrize("status", [503, 500, 429, DocumentState.TIMEOUT, DocumentState.SYSTEM_ERROR])
def test_a_failure_is_believed_after_five_tries_and_for_five_minutes(status: int) -> None:
    clock = Clock()
    cache = RobotsCache(clock=clock)
    failure = rules("", status)
    for _ in range(MAX_ROBOTS_TRIES - 1):
        assert cache.put(f"{SITE}/a", failure) is failure
        assert cache.get(f"{SITE}/a") is None
        clock.now += 1
    assert cache.put(f"{SITE}/a", failure) is failure
    clock.now += FRESH_FAILURE_SECONDS - 1
    assert cache.get(f"{SITE}/a") is failure
    clock.now += 1
    assert cache.get(f"{SITE}/a") is None
    # One more try then suffices.
    cache.put(f"{SITE}/a", failure)
    assert cache.get(f"{SITE}/a") is failure


def test_slow_failures_are_believed_earlier() -> None:
    clock = Clock()
    cache = RobotsCache(clock=clock)
    failure = rules("", DocumentState.TIMEOUT)
    cache.put(f"{SITE}/a", failure)
    clock.now = MAX_ROBOTS_RETRY_SECONDS - 1
    cache.put(f"{SITE}/a", failure)
    assert cache.get(f"{SITE}/a") is None
    clock.now = MAX_ROBOTS_RETRY_SECONDS
    cache.put(f"{SITE}/a", failure)
    assert cache.get(f"{SITE}/a") is failure


def test_a_file_that_was_read_has_its_tries_again() -> None:
    clock = Clock()
    cache = RobotsCache(clock=clock)
    for _ in range(MAX_ROBOTS_TRIES):
        cache.put(f"{SITE}/a", rules("", 503))
    cache.put(f"{SITE}/a", rules("", 404))
    clock.now = FRESH_SECONDS
    assert cache.put(f"{SITE}/a", rules("", 503)).allowed(f"{SITE}/a")


def test_an_old_copy_serves_while_the_file_is_unreachable() -> None:
    clock = Clock()
    cache = RobotsCache(clock=clock)
    old = cache.put(f"{SITE}/a", rules("User-agent: *\nDisallow: /b"))
    clock.now = FRESH_SECONDS
    assert cache.get(f"{SITE}/a") is None
    assert cache.put(f"{SITE}/a", rules("", 503)) is old
    assert cache.get(f"{SITE}/a") is old
    clock.now = FRESH_SECONDS + FRESH_FAILURE_SECONDS
    assert cache.get(f"{SITE}/a") is None
    new = rules("")
    assert cache.put(f"{SITE}/a", new) is new


def test_the_cache_forgets_the_site_that_was_not_asked_for_longest() -> None:
    cache = RobotsCache(size=2, clock=Clock())
    for host in ("a", "b"):
        cache.put(f"http://{host}/", rules(""))
    assert cache.get("http://a/") is not None
    cache.put("http://c/", rules(""))
    assert len(cache) == 2
    assert cache.get("http://a/") is not None
    assert cache.get("http://b/") is None
