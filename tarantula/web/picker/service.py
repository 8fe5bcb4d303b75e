"""Pointing at pages, as the two applications share it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from nicegui import Client
from starlette.routing import Route

from tarantula.accounts.roles import Person, Role
from tarantula.core.errors import TarantulaError
from tarantula.core.states import state_meaning
from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.picker.browser import PickerBrowser
from tarantula.streams.picker.client import PickerClient, PickerRequest, is_private_address, parse_address
from tarantula.streams.picker.draft import DRAFT_NAME
from tarantula.streams.picker.page import PickerPage
from tarantula.streams.sources.config import BrowserStep, parse_source
from tarantula.streams.sources.request import RequestMethod, SourceRequest, fill_variables
from tarantula.web.picker.sandbox import OpenPages, sandbox_routes, ticket_for
from tarantula.web.replay.security import TicketSigner

MAX_PAGE_BYTES = 5_000_000
"""Bytes of a page."""
FETCH_TIMEOUT_SECONDS = 30.0
"""Seconds for one."""
ACCEPT = "text/html,application/xhtml+xml,application/json,application/xml;q=0.9,text/csv,text/calendar,*/*;q=0.5"
DRAFT_URL = "http://draft.example/"
"""Where what is sent is checked by itself: what is wrong with the address is said in other words."""
MAX_CONCURRENT_FETCHES = 4
"""Pages that are asked for at the same time, by all who use the pages."""


class PageRequest(NamedTuple):
    """What somebody wants to look at."""

    address: str
    """With {words} in braces for variables."""
    render: bool = False
    """Whether a browser makes the page, with its scripts."""
    steps: Sequence[BrowserStep] = ()
    variables: Mapping[str, str] = MappingProxyType({})
    method: str = RequestMethod.GET
    headers: Mapping[str, str] = MappingProxyType({})
    body: str = ""

    @property
    def is_template(self) -> bool:
        """Whether it is the address that was written that is followed, and not the one that it led to."""
        return bool(self.variables or self.steps or self.headers) or self.method != RequestMethod.GET


class PickerService:
    """What is open, and who asks servers for it."""

    def __init__(self, user_agent: str) -> None:
        self.pages = OpenPages()
        self._visitor = PickerClient(user_agent)
        self._rendering = PickerBrowser(self._visitor, user_agent)
        self._turns = asyncio.Semaphore(MAX_CONCURRENT_FETCHES)

    def routes(self, tickets: TicketSigner) -> list[Route]:
        """Return the addresses of the other origin."""
        return sandbox_routes(self.pages, self._visitor, tickets)

    async def ask(self, person: Person, wish: PageRequest) -> tuple[SourceResponse, bool]:
        """Return what a server sends to somebody who may add sources, and whether it is at a private address."""
        person.check(Role.CURATOR)
        url, sent = parse_address(fill_variables(wish.address, wish.variables)), _checked(wish)
        async with self._turns:
            private = await asyncio.to_thread(is_private_address, url)
            if wish.render or wish.steps:
                headers = dict(sent.headers)
                page = self._rendering.render(url, wish.steps, wish.variables, allow_private=private, headers=headers)
                return await page, private
            exchange = await self._visitor.get(
                PickerRequest(url, private, MAX_PAGE_BYTES, FETCH_TIMEOUT_SECONDS, accept=ACCEPT, sent=sent)
            )
        if not 200 <= exchange.status < 300:
            phrase = state_meaning(exchange.status).removeprefix("HTTP").removeprefix(":")
            raise TarantulaError(f"The server answered {exchange.status}{phrase}.")
        content_type = exchange.get(b"content-type") or ""
        return SourceResponse(exchange.url, exchange.body, content_type, datetime.now(UTC)), private

    async def open(self, person: Person, answer: SourceResponse, *, allow_private: bool) -> tuple[str, PickerPage]:
        """Make a page ready to be pointed at; return its key with it."""
        look = await asyncio.to_thread(PickerPage.at, answer, allow_private=allow_private)
        return self.pages.put(look, person.name), look


def _checked(wish: PageRequest) -> SourceRequest:
    """Return what is sent, or say what is wrong with it as would be said of a source."""
    said = {"method": wish.method, "headers": wish.headers, "body": wish.body, "variables": wish.variables}
    return parse_source({"name": DRAFT_NAME, "url": DRAFT_URL, "render": bool(wish.render or wish.steps), **said}).sent


def picker_service(client: Client) -> PickerService:
    """Return what a page's own application shares with the other origin."""
    picking: PickerService | None = client.request.state.replay.picking
    if picking is None:
        raise TarantulaError("Pages cannot be pointed at here: there is no other origin to show them.")
    return picking


def frame_address(client: Client, key: str) -> str:
    """Return where an open page is shown."""
    replay = client.request.state.replay
    return f"{replay.origin(client.request)}/{ticket_for(replay.tickets, key)}/picked/{key}/page"
