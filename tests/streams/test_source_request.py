"""The HTTP request of a source: encoding, validation, secrets and redirects."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.streams.reading.servers import VisitQueue
from tarantula.streams.reading.visits import FollowedSource, StreamVisit
from tarantula.streams.sources.request import LONGEST_BODY, MOST_HEADERS, SourceRequest
from tests.sites.server import Answer, Web
from tests.support.crawls import SCRAPY, interrupt, start, wait_until
from tests.support.sources import config, follow, state_of

LETTERS = some.text(some.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=30)
JSON_FIELD = {"key": "value", "place": {"path": "value"}}
KEY = "wq7/ é+1"
"""A secret that is escaped differently in every format."""


def sent(**values: Any) -> SourceRequest:
    return config(**values).sent


def refused(**values: Any) -> dict[str, str]:
    """Return the error messages by field."""
    with pytest.raises(TarantulaError) as caught:
        config(**values)
    return dict(caught.value.fields)


@given(LETTERS)
def test_variables_are_escaped_for_the_format_of_the_body(value: str) -> None:
    posting: dict[str, Any] = {"method": "POST", "variables": {"town": value, "days": "3"}}
    as_json = sent(**posting, body='{"town": "{town}", "days": {days}}')
    assert json.loads(as_json.body) == {"town": value, "days": 3}
    as_form = sent(**posting, body="town={town}&days={days}")
    assert parse_qs(as_form.body.decode(), keep_blank_values=True) == {"town": [value], "days": ["3"]}
    as_xml = sent(**posting, body="<ask><town at='{days}'>{town}</town></ask>")
    town = ElementTree.fromstring(as_xml.body)[0]
    assert (town.text or "", town.attrib) == (value, {"at": "3"})
    assert [dict(one.headers)["Content-Type"] for one in (as_json, as_form, as_xml)] == [
        "application/json",
        "application/x-www-form-urlencoded",
        "text/xml; charset=utf-8",
    ]


def test_a_content_type_header_overrides_the_detected_format() -> None:
    graph = "{ weather { temperature } }"
    said = sent(method="post", body=graph, headers={"Content-Type": "application/graphql"})
    assert said == SourceRequest("POST", (("Content-Type", "application/graphql"),), graph.encode())
    assert sent(method="POST", body="nome=São João&x=1").body == b"nome=S%C3%A3o%20Jo%C3%A3o&x=1"
    assert sent(method="POST") == SourceRequest("POST")


TOKEN = {"token": KEY}


@pytest.mark.parametrize(
    ("field", "values", "sentence"),
    [
        ("method", {"method": "DELETE"}, "'DELETE' is not a supported method. Choose GET or POST."),
        ("headers", {"headers": {"X Key": "1"}}, "'X Key' is not a valid header name. Example: X-API-Key."),
        (
            "headers",
            {"headers": {"User-Agent": "x"}},
            "The header User-Agent is set by Tarântula.",
        ),
        ("headers", {"headers": {"host": "x"}}, "The header host is set by Tarântula. Remove it."),
        ("headers", {"headers": {"X-A": "1", "x-a": "2"}}, "Two headers have the same name. Remove one of them."),
        ("headers", {"headers": {"X-A": "a\r\nHost: b"}}, "The value of the header X-A is too long"),
        ("headers", {"headers": {"X-A": "{a}"}, "variables": {"a": "é\n"}}, "The value of the header X-A is too long"),
        ("headers", {"headers": {"X-A": "…"}}, "The value of the header X-A is too long"),
        ("headers", {"headers": {"X-A": "{none}"}}, "The variable none has no value. Give it one."),
        ("headers", {"headers": {f"X-{n}": "1" for n in range(MOST_HEADERS + 1)}}, "A source has at most 20 headers."),
        (
            "headers",
            {"headers": {"Authorization": "Bearer abc"}},
            "The header Authorization is a secret. Write",
        ),
        ("headers", {"headers": {"X-API-Key": "abc"}}, "The header X-API-Key is a secret. Write {token} in its place"),
        ("headers", {"headers": {"Cookie": "{town}"}, "variables": {"town": "x"}}, "The header Cookie is a secret"),
        ("body", {"body": "a=1"}, "A body can only be sent with POST. Choose POST, or remove the body."),
        ("body", {"method": "POST", "body": '{"a": }'}, "The body is not valid JSON (line 1, character 7)."),
        ("body", {"method": "POST", "body": "[" * 20_000}, "The body is nested too deeply."),
        (
            "body",
            {"method": "POST", "body": "a={none}"},
            "The variable none has no value. Give it one. Put a space after braces",
        ),
        ("body", {"method": "POST", "body": "a" * (LONGEST_BODY + 1)}, "The body can have at most 20,000 characters."),
        (
            "body",
            {"method": "POST", "body": '{"a": {"api_key": "x"}}'},
            "The api_key in it is a secret. Write",
        ),
        ("body", {"method": "POST", "body": "user=ana&password=x"}, "The password in it is a secret"),
        ("body", {"method": "POST", "body": "<a><w:Password>x</w:Password></a>"}, "The Password in it is a secret"),
        ("render", {"method": "POST", "render": True}, "A browser can only use GET. Choose GET, or"),
    ],
)
def test_invalid_requests_are_rejected_at_their_field(field: str, values: dict[str, Any], sentence: str) -> None:
    assert refused(**values)[field].startswith(sentence)


@pytest.mark.parametrize(
    "values",
    [
        {"headers": {"Authorization": "Bearer {token}", "Accept": "application/json"}, "variables": TOKEN},
        {"method": "POST", "body": '{"passengers": "2", "max_tokens": "3", "key": "t"}'},
        {"method": "POST", "body": '{"password": "{token}"}', "variables": TOKEN},
        {"method": "POST", "body": "<a><password>{token}</password></a>", "variables": TOKEN},
    ],
)
def test_secrets_in_variables_and_plain_texts_are_accepted(values: dict[str, Any]) -> None:
    config(**values)


def visit(**values: Any) -> StreamVisit:
    """Return the visit of a source that was read before."""
    source = FollowedSource(1, 1, config(url="http://a.example/", **values))
    source.validators = {"url": source.url, "etag": '"one"'}
    turns = VisitQueue()
    turns.add(source)
    turns.hold("a.example", 0.0)
    handed_out = turns.next(0.0)
    assert handed_out is not None
    return handed_out


def test_get_requests_are_conditional_and_posts_are_not() -> None:
    assert visit(headers={"X-A": "1"}).conditions == {"If-None-Match": '"one"'}
    assert visit(method="POST", body="a=1").conditions == {}


@pytest.mark.parametrize(
    ("status", "url", "expected"),
    [
        (302, "http://a.example/b", SourceRequest("GET", (("X-A", "1"),))),
        (303, "http://b.example/", SourceRequest()),
        (301, "https://a.example/", SourceRequest()),
        (307, "http://a.example/b", SourceRequest("POST", (("X-A", "1"), ("Content-Type", "application/json")), b"[]")),
        (308, "http://b.example/", None),
        (307, "https://a.example/", None),
    ],
)
def test_headers_and_body_go_only_to_the_own_server(status: int, url: str, expected: SourceRequest | None) -> None:
    led = visit(method="POST", headers={"X-A": "1"}, body="[]")
    if expected is None:
        with pytest.raises(Exception, match="headers and body are sent only to the source's own server"):
            led.redirected_to(url, status)
    else:
        onward = led.redirected_to(url, status)
        assert onward.sent == expected
        # Removed headers stay removed, even if a redirect leads back.
        assert "X-A" in dict(onward.redirected_to("http://a.example/", 302).sent.headers) or not expected.headers


def test_sources_share_a_visit_only_if_they_send_the_same_request() -> None:
    turns = VisitQueue()
    sending: list[dict[str, Any]] = [{}, {"headers": {"X-A": "1"}}, {"headers": {"X-A": "1"}}, {"method": "POST"}]
    for number, said in enumerate(sending):
        turns.add(FollowedSource(number, 1, config(f"test.s{number}", url="http://a.example/", **said)))
    assert [len(one.sources) for one in turns.at("a.example").waiting.values()] == [1, 2, 1]


def test_services_get_the_configured_request_and_secrets_stay_hidden(database: Database) -> None:
    quote = Answer('{"value": 12.5}', "application/json", headers={"ETag": '"one"'})
    with Web({"/post": quote, "/get": quote, "/led": quote}, ["127.0.0.1", "127.0.0.2", "127.0.0.3"]) as web:
        web.routes["127.0.0.2/led"] = Answer(status=302, headers={"Location": web.url("/led")})
        web.routes["127.0.0.3/away"] = Answer(status=307, headers={"Location": web.url("/post")})
        common: dict[str, Any] = {
            "adapter": "json",
            "fields": [JSON_FIELD],
            "interval": 1,
            "variables": {"api_key": KEY, "town": "Évora"},
            "headers": {"X-API-Key": "{api_key}", "Accept": "application/json"},
        }
        posted = {"method": "POST", "body": '{"key": "{api_key}", "town": "{town}"}'}
        follow(database, "test.post", url=web.url("/post"), **common, **posted)
        follow(database, "test.get", url=web.url("/get"), **common)
        follow(database, "test.led", url=web.url("/led", "127.0.0.2"), allow_private=True, **common)
        away = follow(database, "test.away", url=web.url("/away", "127.0.0.3"), **common, **posted, misses=1)
        process = start([SCRAPY, "crawl", "streams", "-L", "DEBUG"])
        wait_until(
            lambda: (
                all(len(web.visits_to(path)) > 2 for path in ("/post", "/get"))
                and all(state_of(database, number).status != "new" for number in (3, 4))
            ),
            process,
        )
        log = interrupt(process)
    post, get, led = (web.visits_to(path, "127.0.0.1") for path in ("/post", "/get", "/led"))
    assert {(one.method, one.headers["x-api-key"], one.headers["accept"]) for one in post} == {
        ("POST", KEY, "application/json")
    }
    assert json.loads(post[0].body) == {"key": KEY, "town": "Évora"}
    assert not any("if-none-match" in one.headers for one in post)
    assert {(one.method, one.body) for one in get} == {("GET", b"")}
    assert get[1].headers["if-none-match"] == '"one"'
    assert all("x-api-key" not in one.headers for one in led)
    assert all("x-api-key" not in one.headers for one in web.visits_to("/robots.txt"))
    state = state_of(database, away)
    assert (state.status, "only to the source's own server" in state.sentence) == ("unreached", True)
    assert [state_of(database, number).status for number in (1, 2, 3)] == ["read", "read", "read"]
    assert KEY not in log
