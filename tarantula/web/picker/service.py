"""Fetching pages for the picker, shared by the management app and the sandbox origin."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from nicegui import Client
from starlette.routing import Route

from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.limited_worker import in_parser_thread
from tarantula.core.states import state_meaning
from tarantula.fetch.egress import EgressPolicy
from tarantula.streams.adapters.base import SourceResponse
from tarantula.streams.picker.browser import PickerBrowser
from tarantula.streams.picker.client import PickerClient, PickerRequest, parse_address
from tarantula.streams.picker.draft import DRAFT_NAME
from tarantula.streams.picker.page import PickerPage
from tarantula.streams.sources.config import BrowserStep, parse_source
from tarantula.streams.sources.request import RequestMethod, SourceRequest, fill_variables
from tarantula.web.picker.sandbox import OpenPages, sandbox_routes, ticket_for
from tarantula.web.replay.security import TicketSigner

MAX_PAGE_BYTES = 5_000_000
"""Maximum size of a page."""
FETCH_TIMEOUT_SECONDS = 30.0
"""Time limit of one fetch."""
ACCEPT = "text/html,application/xhtml+xml,application/json,application/xml;q=0.9,text/csv,text/calendar,*/*;q=0.5"
DRAFT_URL = "http://draft.example/"
"""Address with which the request fields are validated; the real address has its own errors."""
MAX_CONCURRENT_FETCHES = 4
"""Maximum number of simultaneous fetches, over all accounts."""


class PageRequest(NamedTuple):
    """A page to fetch."""

    address: str
    """May contain variables as {name}."""
    render: bool = False
    """Whether a browser loads the page, with its scripts."""
    steps: Sequence[BrowserStep] = ()
    variables: Mapping[str, str] = MappingProxyType({})
    method: str = RequestMethod.GET
    headers: Mapping[str, str] = MappingProxyType({})
    body: str = ""

    @property
    def is_template(self) -> bool:
        """Whether the source has to use this address instead of the one that it redirected to."""
        return bool(self.variables or self.steps or self.headers) or self.method != RequestMethod.GET


class PickerService:
    """Fetches pages for the picker and keeps them open."""

    def __init__(self, installation: Config) -> None:
        self.pages = OpenPages()
        self._installation = installation
        self._client = PickerClient(installation.user_agent)
        self._browser = PickerBrowser(self._client, installation.user_agent)
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_FETCHES)

    def routes(self, tickets: TicketSigner) -> list[Route]:
        """Return the routes of the sandbox origin."""
        return sandbox_routes(self.pages, self._client, tickets)

    async def fetch(self, person: Person, request: PageRequest) -> tuple[SourceResponse, EgressPolicy]:
        """Fetch a page for a curator; return the response, and which addresses its parts may be at."""
        person.check(Role.CURATOR)
        url, request_fields = (
            parse_address(fill_variables(request.address, request.variables)),
            _validated_fields(request),
        )
        policy = EgressPolicy.of(self._installation, [url])
        async with self._slots:
            if request.render or request.steps:
                headers = dict(request_fields.headers)
                page = self._browser.render(url, request.steps, request.variables, policy=policy, headers=headers)
                return await page, policy
            exchange = await self._client.get(
                PickerRequest(url, policy, MAX_PAGE_BYTES, FETCH_TIMEOUT_SECONDS, accept=ACCEPT, sent=request_fields)
            )
        if not 200 <= exchange.status < 300:
            phrase = state_meaning(exchange.status).removeprefix("HTTP").removeprefix(":")
            raise TarantulaError("The server answered {status}{phrase}.", status=exchange.status, phrase=phrase)
        content_type = exchange.get(b"content-type") or ""
        return SourceResponse(exchange.url, exchange.body, content_type, datetime.now(UTC)), policy

    async def open(self, person: Person, answer: SourceResponse, policy: EgressPolicy) -> tuple[str, PickerPage]:
        """Open a page in the sandbox; return its key and the page."""
        page: PickerPage = await in_parser_thread(PickerPage.from_response, answer, policy)
        return self.pages.put(page, person.owner), page


def _validated_fields(request: PageRequest) -> SourceRequest:
    """Return the validated request fields; raise the same errors as for a source."""
    fields = {
        "method": request.method,
        "headers": request.headers,
        "body": request.body,
        "variables": request.variables,
    }
    return parse_source(
        {"name": DRAFT_NAME, "url": DRAFT_URL, "render": bool(request.render or request.steps), **fields}
    ).sent


def picker_service(client: Client) -> PickerService:
    """Return the picker service of the app that serves a client."""
    service: PickerService | None = client.request.state.replay.picker
    if service is None:
        raise TarantulaError("The picker is not available: there is no replay origin.")
    return service


def frame_address(client: Client, key: str) -> str:
    """Return the address of an open page on the sandbox origin."""
    replay = client.request.state.replay
    return f"{replay.origin(client.request)}/{ticket_for(replay.tickets, key)}/picked/{key}/page"
