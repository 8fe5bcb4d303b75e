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

from tarantula.core.errors import TarantulaError
from tarantula.streams.picker.client import PickerClient
from tarantula.streams.picker.page import PickerPage
from tarantula.web.replay.security import TicketSigner

PAGE_SECONDS = 3600.0
"""Seconds after which a page is forgotten."""
MAX_PAGES = 24
"""How many are open at a time; then the oldest is forgotten."""
MAX_PAGES_PER_ACCOUNT = 4
"""How many of them are one person's."""


@dataclass(slots=True)
class _Opened:
    look: PickerPage
    owner: str
    until: float


class OpenPages:
    """What people look at, by keys that nobody guesses."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._pages: OrderedDict[str, _Opened] = OrderedDict()

    def __len__(self) -> int:
        return len(self._pages)

    def put(self, look: PickerPage, owner: str) -> str:
        """Keep a page for somebody; return its key."""
        self._forget()
        own = [key for key, page in self._pages.items() if page.owner == owner]
        for key in own[: max(len(own) - MAX_PAGES_PER_ACCOUNT + 1, 0)]:
            del self._pages[key]
        while len(self._pages) >= MAX_PAGES:
            self._pages.popitem(last=False)
        key = secrets.token_urlsafe(18)
        self._pages[key] = _Opened(look, owner, self._clock() + PAGE_SECONDS)
        return key

    def get(self, key: str) -> PickerPage:
        """Return the page of a key, or say that it is not there any more."""
        self._forget()
        if key not in self._pages:
            raise TarantulaError("This page is not open any more. Open it again.")
        return self._pages[key].look

    def _forget(self) -> None:
        now = self._clock()
        for key in [key for key, page in self._pages.items() if page.until <= now]:
            del self._pages[key]


PICK_SCRIPT = "/pick.js"
"""Where our script is."""
EXPIRED_MESSAGE = "This address is not good any more. Open the page again."
SANDBOX_POLICY = (
    # Without allow-same-origin its origin is nobody's: no cookies, no storage, no way to the page around it.
    "sandbox allow-scripts; default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'none'; font-src 'none'; frame-src 'none'; object-src 'none'; "
    "form-action 'none'; base-uri 'none'; worker-src 'none'; manifest-src 'none'"
)


def ticket_for(tickets: TicketSigner, key: str) -> str:
    """Return a ticket for a page that is open."""
    return tickets.write(_subject(key))


def sandbox_routes(pages: OpenPages, visitor: PickerClient, tickets: TicketSigner) -> list[Route]:
    """Return the addresses at which open pages are shown."""
    show = _Show(pages, visitor, tickets)
    begin = "/{ticket}/picked/{key}"
    return [
        Route(PICK_SCRIPT, show.script),
        Route(f"{begin}/page", show.page),
        Route(f"{begin}/sheet/{{number:int}}", show.sheet),
        Route(f"{begin}/image/{{number:int}}", show.image),
    ]


class _Show:
    """One answer for each kind of address."""

    def __init__(self, pages: OpenPages, visitor: PickerClient, tickets: TicketSigner) -> None:
        self._pages = pages
        self._visitor = visitor
        self._tickets = tickets

    async def script(self, request: Request) -> Response:
        """Give our script."""
        return FileResponse(Path(__file__).parent / "pick.js", media_type="text/javascript")

    async def page(self, request: Request) -> Response:
        """Show a page."""
        nonce = token_urlsafe(16)
        body = self._look(request).page.document(nonce, PICK_SCRIPT)
        return HTMLResponse(body, headers={"content-security-policy": SANDBOX_POLICY.format(nonce=nonce)})

    async def sheet(self, request: Request) -> Response:
        """Give a stylesheet."""
        css = await self._look(request).sheet(request.path_params["number"], self._visitor)
        return Response(css, media_type="text/css")

    async def image(self, request: Request) -> Response:
        """Give an image."""
        body, kind = await self._look(request).image(request.path_params["number"], self._visitor)
        return Response(body, headers={"content-type": kind})

    def _look(self, request: Request) -> PickerPage:
        key = request.path_params["key"]
        if not self._tickets.admit(request.path_params["ticket"], _subject(key)):
            raise HTTPException(403, EXPIRED_MESSAGE)
        return self._pages.get(key)


def _subject(key: str) -> str:
    # No item is called so: a name has no space.
    return f"picked {key}"
