"""The loopback sites behave as the tests that crawl them expect."""

from __future__ import annotations

import re
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import Request, urlopen

import pytest

from tarantula.core.states import DocumentState
from tests.sites.demo import DemoWeb
from tests.sites.demo_text import DEPARTMENTS
from tests.sites.every_state import EveryState
from tests.sites.large import LINKS, SIZE, LargeWeb
from tests.sites.server import Answer, Web

LINK = re.compile(r'(?:href|src)="([^"]+)"')


def read(url: str, **headers: str) -> bytes:
    with urlopen(Request(url, headers=headers), timeout=10) as answer:
        return bytes(answer.read())


def test_one_port_on_many_addresses() -> None:
    addresses = [f"127.0.0.{number}" for number in range(1, 65)]
    with Web({"/": Answer("all"), "127.0.0.7/": Answer("one")}, addresses) as web:
        assert [read(web.url("/", address)) for address in addresses] == [b"all"] * 6 + [b"one"] + [b"all"] * 57
        assert {visit.server for visit in web.visits} == {web.server(address) for address in addresses}


def test_visits_are_recorded() -> None:
    with Web({"/a": Answer("b")}) as web:
        read(web.url("/a"), From="somebody@example.org")
        with pytest.raises(HTTPError) as missing:
            read(web.url("/a?b"))
        missing.value.close()
        assert [(visit.server, visit.path) for visit in web.visits] == [(web.server(), "/a"), (web.server(), "/a?b")]
        assert web.visits_to("/a")[0].headers["from"] == "somebody@example.org"


def test_every_state_is_expected_of_some_document() -> None:
    passing = {DocumentState.COLLECTING, DocumentState.WAITING}
    with EveryState() as web:
        states = set(web.expected.values())
    assert {state for state in DocumentState if state not in states} == passing
    assert {200, 204, 301, 302, 304, 403, 404, 410, 500, 503} <= states


def test_every_page_of_the_large_web_is_found() -> None:
    with LargeWeb(pages=300, servers=8) as web:
        found, new = {0}, {0}
        while new:
            new = {target for number in new for target in web.links(number)} - found
            found |= new
        assert len(found) == 300
        page = read(web.page_url(123))
        assert len(page) == SIZE
        named = {urljoin(web.page_url(123), url) for url in LINK.findall(page.decode())}
        assert named == {web.page_url(number) for number in web.links(123)}
        assert len(named) == LINKS


def test_the_demo_has_only_the_intended_broken_links() -> None:
    departments = [f"pt/{department.short}/seminarios.html" for department in DEPARTMENTS]
    with DemoWeb() as web:
        pages = {f"http://{key.replace('/', f':{web.port}/', 1)}": answer for key, answer in web.routes.items()}
        named = {
            urljoin(url, link)
            for url, answer in pages.items()
            if isinstance(answer, Answer) and isinstance(answer.body, str)
            for link in LINK.findall(answer.body)
        }
        inside = tuple(web.url("/", address) for address in web.addresses)
        broken = {url.split("/", 3)[3] for url in named - pages.keys() if url.startswith(inside)}
    assert broken == {"horarios/2019.html", "arquivo/2031.html", *departments}
    assert len(pages) > 80
