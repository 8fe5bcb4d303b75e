"""The picker's HTTP client and browser."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.fetch.egress import EgressPolicy
from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.picker.browser import PickerBrowser
from tarantula.streams.picker.client import (
    VISIT_PAUSE_SECONDS,
    PickerClient,
    PickerRequest,
    parse_address,
)
from tests.support.fetches import LOCAL
from tests.support.picker_sites import DOOR, Reply, behind_a_door, site_of, site_that

AGENT = "Mozilla/5.0 (compatible; Tarantula/test)"
Result = TypeVar("Result")


def visiting(act: Callable[[PickerClient], Awaitable[Result]]) -> Result:
    """Run a coroutine with a client, and close the client."""

    async def whole() -> Result:
        client = PickerClient(AGENT)
        try:
            return await act(client)
        finally:
            await client.close()

    return asyncio.run(whole())


def got(url: str, **limits: object) -> bytes:
    """Return the body at a loopback address."""
    wanted = PickerRequest(url, **{"policy": LOCAL, **limits})  # type: ignore[arg-type]
    return visiting(lambda client: client.get(wanted)).body


def test_robots_are_asked_once_and_obeyed_at_every_redirect() -> None:
    robots = ("text/plain", "User-agent: Tarantula\nDisallow: /no\n")
    with site_of({"/robots.txt": robots, "/yes": ("text/plain", "1"), "/no": ("text/plain", "2")}) as site:
        site.answers["/to-no"] = (f"{site.url}no", b"")

        async def several(client: PickerClient) -> list[str]:
            said = []
            for path in ("yes", "no", "to-no"):
                try:
                    said.append((await client.get(PickerRequest(f"{site.url}{path}", LOCAL))).body.decode())
                except TarantulaError as error:
                    said.append(str(error))
            return said

        excluded = f"{site.url}robots.txt excludes it."
        assert visiting(several) == ["1", excluded, excluded]
        assert [path for path, _ in site.asked] == ["/robots.txt", "/yes", "/to-no"]
        assert {agent for _, agent in site.asked} == {AGENT}


def test_private_addresses_are_not_reached_from_public_pages() -> None:
    with site_of({"/": ("text/plain", "1")}) as site:
        with pytest.raises(TarantulaError, match=r"at the private address 127\.0\.0\.1|at a private address"):
            got(site.url, policy=EgressPolicy())
        assert site.asked == []


def test_a_server_is_visited_once_at_a_time_with_pauses() -> None:
    with site_of({"/a": ("text/plain", "1"), "/b": ("text/plain", "2")}) as site:

        async def both(client: PickerClient) -> float:
            began = time.monotonic()
            await asyncio.gather(
                *(client.get(PickerRequest(f"{site.url}{path}", LOCAL, robots=False)) for path in "ab")
            )
            return time.monotonic() - began

        assert visiting(both) >= VISIT_PAUSE_SECONDS


def test_a_server_that_asks_for_long_pauses_is_left_alone() -> None:
    robots = ("text/plain", "User-agent: *\nCrawl-delay: 60\n")
    with site_of({"/robots.txt": robots, "/": ("text/plain", "1")}) as site:

        async def twice(client: PickerClient) -> None:
            await client.get(PickerRequest(site.url, LOCAL))
            await client.get(PickerRequest(site.url, LOCAL))

        with pytest.raises(TarantulaError, match="asks for a pause of"):
            visiting(twice)


def test_exceeded_limits_are_error_messages() -> None:
    with site_of({"/large": ("text/plain", "1" * 2000)}) as site:
        site.answers["/round"] = (f"{site.url}round", b"")
        with pytest.raises(TarantulaError, match=r"1,?000"):
            got(f"{site.url}large", max_size=1000)
        with pytest.raises(TarantulaError, match="redirects more than"):
            got(f"{site.url}round")
    with pytest.raises(TarantulaError, match="could not be fetched"):
        got("http://127.0.0.1:1/")
    with site_that(lambda request: Reply(b"late", wait=5.0)) as url, pytest.raises(TarantulaError, match="longer than"):
        got(url, timeout=0.5)


@pytest.mark.parametrize("written", ["", "javascript:alert(1)", "file:///etc/passwd", "http://", "data:text/html,1"])
def test_invalid_web_addresses_are_rejected(written: str) -> None:
    with pytest.raises(TarantulaError, match="not a web address"):
        parse_address(written)


def test_an_address_may_be_written_without_its_scheme() -> None:
    assert parse_address(" example.org/a b ") == "http://example.org/a%20b"


@pytest.mark.usefixtures("chromium")
def test_steps_log_in_and_reach_content_made_by_scripts() -> None:
    with site_that(behind_a_door) as url:

        async def go(client: PickerClient) -> tuple[SourceResponse, str, str]:
            rendering = PickerBrowser(client, AGENT)
            variables = {"name": "ana", "word": "segredo"}
            inside = await rendering.render(url, DOOR, variables, policy=LOCAL)
            with pytest.raises(TarantulaError) as missing:
                await rendering.render(url, DOOR[:1], {}, policy=LOCAL)
            with pytest.raises(TarantulaError) as private:
                await rendering.render(url, [], {}, policy=EgressPolicy())
            return inside, str(missing.value), str(private.value)

        inside, missing, private = visiting(go)
    assert inside.url == f"{url}home"
    assert b'<p id="v">42</p>' in inside.body
    assert missing == "The variable name has no value. Give it one."
    assert "private address" in private
