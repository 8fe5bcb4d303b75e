"""Pages in the picker: fetched for the management app, served from the sandbox origin, shown in a frame."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_urlsafe
from time import monotonic
from types import MappingProxyType
from typing import Any, NamedTuple

from nicegui import Client
from nicegui.element import Element
from nicegui.events import GenericEventArguments
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from tarantula.accounts.roles import Owner, Person, Role
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
PAGE_SECONDS = 3600.0
"""Time after which a page is closed."""
MAX_PAGES = 24
"""Maximum number of open pages; the oldest is closed first."""
MAX_PAGES_PER_ACCOUNT = 4
"""Maximum number of open pages per account."""
MAX_PART_LENGTH = 200
"""Maximum length of a selected part of a text."""
MAX_MARKS = 1000


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


@dataclass(slots=True)
class _OpenPage:
    page: PickerPage
    owner: Owner
    expires_at: float


class OpenPages:
    """Open pages, by unguessable keys."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._pages: OrderedDict[str, _OpenPage] = OrderedDict()

    def __len__(self) -> int:
        return len(self._pages)

    def put(self, page: PickerPage, owner: Owner) -> str:
        """Store a page of an account; return its key."""
        self._close_expired()
        own_keys = [key for key, page in self._pages.items() if page.owner == owner]
        for key in own_keys[: max(len(own_keys) - MAX_PAGES_PER_ACCOUNT + 1, 0)]:
            del self._pages[key]
        while len(self._pages) >= MAX_PAGES:
            self._pages.popitem(last=False)
        key = secrets.token_urlsafe(18)
        self._pages[key] = _OpenPage(page, owner, self._clock() + PAGE_SECONDS)
        return key

    def get(self, key: str) -> PickerPage:
        """Return the page of a key; raise `TarantulaError` if it is no longer open."""
        self._close_expired()
        if key not in self._pages:
            raise TarantulaError("This page is no longer open. Open it again.")
        return self._pages[key].page

    def _close_expired(self) -> None:
        now = self._clock()
        for key in [key for key, page in self._pages.items() if page.expires_at <= now]:
            del self._pages[key]


PICK_SCRIPT = "/pick.js"
"""Path of our script."""
EXPIRED_MESSAGE = "This address has expired. Open the page again."
SANDBOX_POLICY = (
    # Without allow-same-origin the page has an opaque origin: no cookies, no storage, no access to the parent page.
    "sandbox allow-scripts; default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'none'; font-src 'none'; frame-src 'none'; object-src 'none'; "
    "form-action 'none'; base-uri 'none'; worker-src 'none'; manifest-src 'none'"
)


def ticket_for(tickets: TicketSigner, key: str) -> str:
    """Return a ticket for an open page."""
    return tickets.sign(_subject(key))


def sandbox_routes(pages: OpenPages, client: PickerClient, tickets: TicketSigner) -> list[Route]:
    """Return the routes that serve open pages."""
    endpoints = _Endpoints(pages, client, tickets)
    prefix = "/{ticket}/picked/{key}"
    return [
        Route(PICK_SCRIPT, endpoints.script),
        Route(f"{prefix}/page", endpoints.page),
        Route(f"{prefix}/sheet/{{number:int}}", endpoints.sheet),
        Route(f"{prefix}/image/{{number:int}}", endpoints.image),
    ]


class _Endpoints:
    """Endpoints of the sandbox origin."""

    def __init__(self, pages: OpenPages, client: PickerClient, tickets: TicketSigner) -> None:
        self._pages = pages
        self._client = client
        self._tickets = tickets

    async def script(self, request: Request) -> Response:
        """Return our script."""
        return FileResponse(Path(__file__).parent / "pick.js", media_type="text/javascript")

    async def page(self, request: Request) -> Response:
        """Return the sanitized page."""
        nonce = token_urlsafe(16)
        body = self._page_of(request).page.document(nonce, PICK_SCRIPT)
        return HTMLResponse(body, headers={"content-security-policy": SANDBOX_POLICY.format(nonce=nonce)})

    async def sheet(self, request: Request) -> Response:
        """Return a style sheet."""
        css = await self._page_of(request).sheet(request.path_params["number"], self._client)
        return Response(css, media_type="text/css")

    async def image(self, request: Request) -> Response:
        """Return an image."""
        body, kind = await self._page_of(request).image(request.path_params["number"], self._client)
        return Response(body, headers={"content-type": kind})

    def _page_of(self, request: Request) -> PickerPage:
        key = request.path_params["key"]
        if not self._tickets.verify(request.path_params["ticket"], _subject(key)):
            raise HTTPException(403, EXPIRED_MESSAGE)
        return self._pages.get(key)


def _subject(key: str) -> str:
    # Item names contain no space, so this cannot be one.
    return f"picked {key}"


class PickedElement(NamedTuple):
    """A selected element. A hostile page may have sent the message."""

    number: int
    part: str = ""
    """The selected part of its text, if any."""


class PickerFrame(Element, component="picker_frame.js"):
    """Shows a page and reports selected elements."""

    def __init__(self, label: str, on_pick: Callable[[PickedElement], Awaitable[None]]) -> None:
        super().__init__()
        self._props["address"] = ""
        self._props["label"] = label
        self._props["turn"] = 0
        self._props["picked"] = []
        self._props["like"] = []

        async def receive(event: GenericEventArguments) -> None:
            if (picked := read_pick_message(event.args)) is not None:
                await on_pick(picked)

        self.on("pick", receive)

    def show(self, address: str) -> None:
        """Show an address in a new frame, without the state of the previous one."""
        self._props["address"] = address
        self._props["turn"] += 1
        self._props["picked"], self._props["like"] = [], []
        self.update()

    def mark_elements(self, picked: Iterable[int], like: Iterable[int]) -> None:
        """Highlight the selected elements and those like them."""
        self._props["picked"] = list(picked)[:MAX_MARKS]
        self._props["like"] = list(like)[:MAX_MARKS]
        self.update()


def read_pick_message(message: Any) -> PickedElement | None:
    """Return a valid message of the frame, or None."""
    if not isinstance(message, dict):
        return None
    number, part = message.get("number"), message.get("part")
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        return None
    return PickedElement(number, part) if isinstance(part, str) and len(part) <= MAX_PART_LENGTH else None
