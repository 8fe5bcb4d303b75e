"""Pointing at pages, as the two applications share it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from nicegui import Client
from starlette.routing import Route

from tarantula.accounts.roles import Role
from tarantula.accounts.roles_part_person import Person
from tarantula.core.errors import TarantulaError
from tarantula.core.states import meaning
from tarantula.streams.adapters.base import Answer
from tarantula.streams.picker.browser import Rendering
from tarantula.streams.picker.client import Visitor, Wanted, address_of, is_private
from tarantula.streams.picker.draft import DRAFT
from tarantula.streams.picker.page_part_look import Look
from tarantula.streams.sources.config import read
from tarantula.streams.sources.config_part_steps import Step
from tarantula.streams.sources.request import Method, Sent
from tarantula.streams.sources.request_part_variables import filled
from tarantula.web.picker.sandbox import routes_of, ticket_for
from tarantula.web.picker.sandbox_part_opened import OpenPages
from tarantula.web.replay.security_part_tickets import Tickets

LARGEST = 5_000_000
"""Bytes of a page."""
PATIENCE = 30.0
"""Seconds for one."""
ACCEPT = "text/html,application/xhtml+xml,application/json,application/xml;q=0.9,text/csv,text/calendar,*/*;q=0.5"
DRAFT_URL = "http://draft.example/"
"""Where what is sent is checked by itself: what is wrong with the address is said in other words."""
AT_A_TIME = 4
"""Pages that are asked for at the same time, by all who use the pages."""


class Wish(NamedTuple):
    """What somebody wants to look at."""

    address: str
    """With {words} in braces for variables."""
    render: bool = False
    """Whether a browser makes the page, with its scripts."""
    steps: Sequence[Step] = ()
    variables: Mapping[str, str] = MappingProxyType({})
    method: str = Method.GET
    headers: Mapping[str, str] = MappingProxyType({})
    body: str = ""

    @property
    def is_template(self) -> bool:
        """Whether it is the address that was written that is followed, and not the one that it led to."""
        return bool(self.variables or self.steps or self.headers) or self.method != Method.GET


class Picking:
    """What is open, and who asks servers for it."""

    def __init__(self, user_agent: str) -> None:
        self.pages = OpenPages()
        self._visitor = Visitor(user_agent)
        self._rendering = Rendering(self._visitor, user_agent)
        self._turns = asyncio.Semaphore(AT_A_TIME)

    def routes(self, tickets: Tickets) -> list[Route]:
        """Return the addresses of the other origin."""
        return routes_of(self.pages, self._visitor, tickets)

    async def ask(self, person: Person, wish: Wish) -> tuple[Answer, bool]:
        """Return what a server sends to somebody who may add sources, and whether it is at a private address."""
        person.check(Role.CURATOR)
        url, sent = address_of(filled(wish.address, wish.variables)), _checked(wish)
        async with self._turns:
            private = await asyncio.to_thread(is_private, url)
            if wish.render or wish.steps:
                headers = dict(sent.headers)
                page = self._rendering.render(url, wish.steps, wish.variables, allow_private=private, headers=headers)
                return await page, private
            exchange = await self._visitor.get(Wanted(url, private, LARGEST, PATIENCE, accept=ACCEPT, sent=sent))
        if not 200 <= exchange.status < 300:
            phrase = meaning(exchange.status).removeprefix("HTTP").removeprefix(":")
            raise TarantulaError(f"The server answered {exchange.status}{phrase}.")
        content_type = exchange.get(b"content-type") or ""
        return Answer(exchange.url, exchange.body, content_type, datetime.now(UTC)), private

    async def open(self, person: Person, answer: Answer, *, allow_private: bool) -> tuple[str, Look]:
        """Make a page ready to be pointed at; return its key with it."""
        look = await asyncio.to_thread(Look.at, answer, allow_private=allow_private)
        return self.pages.put(look, person.name), look


def _checked(wish: Wish) -> Sent:
    """Return what is sent, or say what is wrong with it as would be said of a source."""
    said = {"method": wish.method, "headers": wish.headers, "body": wish.body, "variables": wish.variables}
    return read({"name": DRAFT, "url": DRAFT_URL, "render": bool(wish.render or wish.steps), **said}).sent


def picking_of(client: Client) -> Picking:
    """Return what a page's own application shares with the other origin."""
    picking: Picking | None = client.request.state.replay.picking
    if picking is None:
        raise TarantulaError("Pages cannot be pointed at here: there is no other origin to show them.")
    return picking


def address_in_frame(client: Client, key: str) -> str:
    """Return where an open page is shown."""
    replay = client.request.state.replay
    return f"{replay.origin(client.request)}/{ticket_for(replay.tickets, key)}/picked/{key}/page"
