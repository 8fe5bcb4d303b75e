"""Pages open in the picker, served from the sandbox origin; every request needs a ticket."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_urlsafe
from time import monotonic

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from tarantula.accounts.roles import Owner
from tarantula.core.errors import TarantulaError
from tarantula.streams.picker.client import PickerClient
from tarantula.streams.picker.page import PickerPage
from tarantula.web.replay.security import TicketSigner

PAGE_SECONDS = 3600.0
"""Time after which a page is closed."""
MAX_PAGES = 24
"""Maximum number of open pages; the oldest is closed first."""
MAX_PAGES_PER_ACCOUNT = 4
"""Maximum number of open pages per account."""


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
