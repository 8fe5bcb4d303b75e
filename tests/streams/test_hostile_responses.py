"""Responses and expressions that would hang a reader of streams or the web process."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.core.limited_worker import SECONDS_SETTING, ParserLimitError, close_workers
from tarantula.core.messages import Message
from tarantula.fetch.egress import EgressPolicy
from tarantula.streams.adapters.base import SourceResponse, UnreadableResponse
from tarantula.streams.alerts.config import read_alert
from tarantula.streams.expression_cost import is_cheap_css, is_cheap_jmespath, is_cheap_pattern, is_cheap_xpath
from tarantula.streams.limited import (
    IN_PROCESS_BYTES,
    IN_PROCESS_FEED_BYTES,
    needs_worker,
    offers_in,
    read_response,
    title_in,
)
from tarantula.streams.picker.page import PickerPage
from tarantula.streams.picker.pick import pattern_for
from tarantula.streams.sources.config import SourceConfig, load_stored_source
from tarantula.streams.texts import PatternTimeout, pattern_budget, search_pattern
from tests.support.hostile_documents import attributes_page, nested_feed
from tests.support.stream_answers import NOW, URL, reading, source

GENEROUS_SECONDS = 40.0
CATASTROPHIC = r"^(a|aa|aaa)+$"
EXPONENTIAL_JMESPATH = "|".join(["[@,@]"] * 27)
EXPONENTIAL_XPATH = "//*[count(" * 40 + "//*" + ")>0]" * 40
PADDING = " " * IN_PROCESS_BYTES


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    close_workers()
    monkeypatch.setenv(SECONDS_SETTING, "3")
    yield
    close_workers()


def stored(adapter: str, places: dict[str, dict[str, Any]], **options: Any) -> SourceConfig:
    """Return a source that was stored by a version that did not refuse its expressions."""
    fields = [{"key": key, "place": place} for key, place in places.items()]
    values = {"name": "a.source", "url": URL, "adapter": adapter, "fields": fields, "options": options}
    return load_stored_source(values)


ENDLESS_CALENDAR = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20261118T100000Z\r\nSUMMARY:x\r\n"
    "RRULE:FREQ=DAILY;INTERVAL=0\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


def limited(config: SourceConfig, body: str, kind: str = "") -> None:
    """Read a body; it is read, or its parser is stopped, within some seconds."""
    began = time.monotonic()
    with suppress(ParserLimitError, UnreadableResponse):
        read_response(SourceResponse(URL, body.encode(), kind, NOW), config, {})
    assert time.monotonic() - began < GENEROUS_SECONDS


def test_markup_nested_in_a_feed_is_bounded() -> None:
    config, body = source("feed", {"title": {"part": "title"}}), nested_feed(17_000)
    assert needs_worker(config, len(body))
    limited(config, body, "application/atom+xml")
    began = time.monotonic()
    small = nested_feed(IN_PROCESS_FEED_BYTES // 8)
    read_response(SourceResponse(URL, small.encode(), "application/atom+xml", NOW), config, {})
    assert time.monotonic() - began < 3


def test_a_calendar_is_read_in_a_worker_however_small_it_is() -> None:
    config = source("ical", {"a": {"part": "summary"}})
    assert needs_worker(config, 1)
    limited(config, ENDLESS_CALENDAR, "text/calendar")
    with pytest.raises(UnreadableResponse, match="recur too often"):
        reading(config, ENDLESS_CALENDAR, None, "text/calendar")


@pytest.mark.parametrize(
    ("config", "body"),
    [
        (stored("json", {"a": {"path": EXPONENTIAL_JMESPATH}}), '{"a": 1}'),
        (stored("page", {"a": {"xpath": EXPONENTIAL_XPATH}}), "<p>1<p>2<p>3"),
        (stored("xml", {"a": {"xpath": EXPONENTIAL_XPATH}}), "<a><b>1</b><b>2</b></a>"),
        (stored("page", {"a": {"css": ":has(" * 20 + "*" + ")" * 20}}), "<div>" * 300),
        (
            stored("csv", {"a": {"number": 1, "regex": CATASTROPHIC}, "b": {"number": 1}}, key="b"),
            "a\n" + "\n".join(f"{'a' * 60}!{number}" for number in range(900)),
        ),
    ],
    ids=["JMESPath", "XPath", "XPath in XML", "CSS", "regular expression"],
)
def test_expressions_of_people_are_bounded(config: SourceConfig, body: str) -> None:
    assert needs_worker(config, len(body))
    limited(config, body)


@pytest.mark.parametrize("adapter", ["page", "xml"])
def test_an_expression_that_takes_too_long_is_refused_when_it_is_written(adapter: str) -> None:
    began = time.monotonic()
    with pytest.raises(TarantulaError, match=r"takes too much time|is not an XPath expression"):
        source(adapter, {"a": {"xpath": EXPONENTIAL_XPATH}})
    assert time.monotonic() - began < GENEROUS_SECONDS


def test_invalid_expensive_expressions_have_the_same_message_as_others() -> None:
    with pytest.raises(TarantulaError, match=r"':has\(p' is not a CSS selector"):
        source("page", {"a": {"css": ":has(p"}})
    with pytest.raises(TarantulaError, match="is not an XPath expression"):
        source("page", {"a": {"xpath": "count((//p)"}})
    with pytest.raises(TarantulaError, match="is not an XPath expression"):
        source("xml", {"a": {"xpath": "count((//p)"}})
    with pytest.raises(TarantulaError, match="cannot be evaluated: xpath: a union of non-node-sets"):
        source("page", {"a": {"xpath": "concat(string(/),string(/))|//*"}})


@pytest.mark.parametrize(
    ("config", "body", "kind"),
    [
        (source("page", {"a": {"css": "#a"}, "b": {"css": "i"}, "c": {"css": "b"}}), "<p id=a>1<b>2</b><b>3</b>", ""),
        (source("table", {"a": {"column": "A"}}), "<table><tr><th>N<th>A<tr><th>x<td>1<tr><th>y<td>2</table>", ""),
        (source("json", {"a": {"path": "a"}, "b": {"path": "b"}}), '{"a": 1, "b": [1, 2]}', "application/json"),
        (source("json", {"a": {"path": "a"}}, rows="@"), '[{"a": "x"}, {"a": "y"}]', "application/json"),
        (source("xml", {"a": {"xpath": "/a/b"}}), "<a><b>1</b></a>", "text/xml"),
        (source("feed", {"a": {"part": "title"}}), nested_feed(3), "application/atom+xml"),
    ],
)
def test_a_worker_reads_the_same_as_this_process(config: SourceConfig, body: str, kind: str) -> None:
    large = body + PADDING
    assert needs_worker(config, len(large))
    got = read_response(SourceResponse(URL, large.encode(), kind, NOW), config, {})
    assert got.rows or got.doubts
    expected = reading(config, large, None, kind)
    assert (got.rows, got.doubts, got.missing, got.news) == (
        expected.rows,
        expected.doubts,
        expected.missing,
        expected.news,
    )
    assert json.loads(json.dumps(got.memory)) == expected.memory
    for why, same in zip(got.missing.values(), expected.missing.values(), strict=True):
        assert isinstance(why, Message)
        assert isinstance(same, Message)
        assert (why.template, why.parameters) == (same.template, same.parameters)


def test_an_unreadable_response_has_its_message_from_a_worker() -> None:
    with pytest.raises(UnreadableResponse, match="This is not JSON"):
        read_response(SourceResponse(URL, b"{" + PADDING.encode(), "", NOW), source("json", {"a": {"path": "a"}}), {})


def test_offers_and_titles_are_the_same_from_a_worker() -> None:
    body = nested_feed(2).encode()
    small, large = SourceResponse(URL, body, at=NOW), SourceResponse(URL, body + PADDING.encode(), at=NOW)
    assert offers_in(large, "feed") == offers_in(small, "feed") != []
    assert title_in(large, "feed") == title_in(small, "feed") == "x"


def test_small_responses_are_read_in_this_process() -> None:
    assert not needs_worker(source("page", {"a": {"css": "div > p:nth-child(2)", "regex": r"(\d+) EUR"}}), 20_000)
    assert not needs_worker(source("json", {"a": {"path": "main.temp"}}, rows="list[?kind=='x']"), 20_000)


@pytest.mark.parametrize("pattern", ["a{4000000}", "((a{100}){100}){400}"])
def test_counts_that_take_gigabytes_are_refused_without_taking_them(pattern: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TarantulaError, match="takes too much time or memory"):
        source("page", {"a": {"css": "p", "regex": pattern}})
    with pytest.raises(TarantulaError, match="takes too much time or memory"):
        read_alert({"condition": f'a matches "{pattern}"'})
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 100_000_000


@pytest.mark.parametrize(
    "pattern", [pattern_for("Preço: 12,50 EUR", "12,50"), r"(\d+)", r"[a-z]+\s\[x\]", "(?i)(?:a|b) x{2}", "a+b*c"]
)
def test_ordinary_patterns_are_cheap(pattern: str) -> None:
    assert is_cheap_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", [CATASTROPHIC, "(a|a)*b", r"(a)\1", "(?=a+)a", "a*" * 9, "(?:a+){5}", "a{1000}", "a{,9999}"]
)
def test_other_patterns_are_not_cheap(pattern: str) -> None:
    assert not is_cheap_pattern(pattern)


@pytest.mark.parametrize("expression", ["/html/body/div[2]/p[1]", "//b", ".//a", "//Cube[@currency='USD']/@rate", "@x"])
def test_plain_paths_are_cheap(expression: str) -> None:
    assert is_cheap_xpath(expression)


def test_expressions_with_conditions_are_not_cheap() -> None:
    assert not is_cheap_xpath(EXPONENTIAL_XPATH)
    assert not is_cheap_xpath("//a//b//c//d")
    assert not is_cheap_jmespath(EXPONENTIAL_JMESPATH)
    assert is_cheap_jmespath("quotes[?symbol=='EDP'].price | [0]")
    assert not is_cheap_css("p:has(a:has(b))")
    assert not is_cheap_css("a b c d e f g")
    assert is_cheap_css("#x > td:nth-of-type(2) .price")


def test_a_catastrophic_pattern_of_an_alert_does_not_hold_this_process() -> None:
    began, processor = time.monotonic(), time.process_time()
    with pattern_budget(1.0):
        for number in range(400):
            with pytest.raises(PatternTimeout):
                search_pattern(CATASTROPHIC, f"{'a' * 60}!{number}")
    assert time.monotonic() - began < GENEROUS_SECONDS
    assert time.process_time() - processor < 1.0
    assert search_pattern(r"(?:(a)+)+b", "xaab") == (2, "a")


def test_a_page_with_very_many_attributes_does_not_hold_this_process() -> None:
    began, processor = time.monotonic(), time.process_time()
    with suppress(TarantulaError):
        PickerPage.from_response(SourceResponse(URL, attributes_page().encode(), "text/html", NOW), EgressPolicy())
    assert time.monotonic() - began < GENEROUS_SECONDS
    assert time.process_time() - processor < 2.0
