"""The replay app: serves archived pages to requests that carry a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from secrets import token_urlsafe

from sqlalchemy.orm import Session
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tarantula.archive.replay import content
from tarantula.archive.replay.content import ReplayContent
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.fetch.media_types import media_type
from tarantula.links.charset import BYTE_ORDER_MARKS
from tarantula.models import Document, Item
from tarantula.store.listings import find_item
from tarantula.web.replay.security import STATIC_POLICY, WRAPPER_POLICY, SandboxMiddleware, TicketSigner, copy_policy

TELL_SCRIPT = "/tell.js"
"""Where it is."""
HTML_SCRIPT_TAG = '<script nonce="{nonce}" src="/tell.js"></script>'
XHTML_SCRIPT_TAG = '<script xmlns="http://www.w3.org/1999/xhtml" nonce="{nonce}" src="/tell.js"/>'

# Before the doctype it would change how a browser lays the page out.
_BEFORE = re.compile(
    rb"(?:\s|<!--(?!-?>).*?--!?>|<!--->|<!-->|<\?[^>]*>)*(?:<!doctype[^>]*>)?", re.IGNORECASE | re.DOTALL
)


def insert_script(body: bytes, content_type: str, nonce: str) -> bytes:
    """Return a page that runs our script; what is no page comes back as it was."""
    kind = media_type(content_type)
    if kind == "text/html":
        return _in_html(body, content_type, HTML_SCRIPT_TAG.format(nonce=nonce))
    if kind == "application/xhtml+xml":
        end = body.rfind(b"</")
        return body[:end] + XHTML_SCRIPT_TAG.format(nonce=nonce).encode() + body[end:] if end >= 0 else body
    return body


def _in_html(body: bytes, content_type: str, script: str) -> bytes:
    mark, encoding = next(
        ((mark, name) for mark, name in BYTE_ORDER_MARKS if body.startswith(mark)), (b"", content_type)
    )
    if "utf-16" in encoding.lower():
        codec = "utf-16-be" if "be" in encoding.lower() else "utf-16-le"
        start = _BEFORE.match(body[len(mark) :].decode(codec, "replace").encode())
        assert start is not None
        place = len(mark) + len(start[0].decode().encode(codec))
        return body[:place] + script.encode(codec) + body[place:]
    start = _BEFORE.match(body, len(mark))
    assert start is not None
    return body[: start.end()] + script.encode() + body[start.end() :]


RENDERED_TYPES = ("text/html", "application/xhtml+xml", "image/svg+xml", "text/xml", "application/xml")
"""Types of documents that a browser lays out by themselves, with all that they hold."""
TEXT_TYPES = (*RENDERED_TYPES, "application/javascript", "application/json", "application/ecmascript")
DISPLAYED_TYPES = ("text/", "image/", "audio/", "video/")
"""What browsers show; all else is handed over as a file."""

MAX_DOCUMENT_NUMBER = 2**63
EXPIRED_MESSAGE = "This address is not good any more. Reload the page that led here."
NOT_FOUND_MESSAGE = "There is nothing at this address."

_FILES = Path(__file__).parent
_AROUND = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Tarântula</title>
<style>html, body, iframe { border: 0; display: block; height: 100%; margin: 0; width: 100% }</style>
<iframe sandbox="allow-scripts" referrerpolicy="no-referrer" title="An archived page" src="ADDRESS"></iframe>
"""


def create_replay_app(
    installation: Config, database: Database, tickets: TicketSigner, more: Sequence[Route] = ()
) -> ASGIApp:
    """Return the application that shows the archived pages of an installation, and what *more* is kept apart."""
    show = _Show(installation, database, tickets)
    begin = "/{ticket}/{urn}"
    app = Starlette(
        routes=[
            Route(TELL_SCRIPT, show.script),
            Route(f"{begin}/copy/{{path:path}}", show.copy),
            Route(f"{begin}/document/{{number:int}}", show.document),
            Route(f"{begin}/page/{{number:int}}", show.page),
            Route(f"{begin}/original/{{number:int}}", show.original),
            *more,
        ],
        exception_handlers={TarantulaError: _complain},
    )
    app.router.redirect_slashes = False
    return SandboxMiddleware(app)


class _Show:
    """One answer for each kind of address."""

    def __init__(self, installation: Config, database: Database, tickets: TicketSigner) -> None:
        self._installation = installation
        self._database = database
        self._tickets = tickets

    def script(self, request: Request) -> Response:
        """Give our script."""
        return FileResponse(_FILES / "tell.js", media_type="text/javascript")

    def copy(self, request: Request) -> Response:
        """Show a copy of the mirror."""
        path = request.path_params["path"]
        with self._admitted(request) as (session, item):
            found = content.mirror_file(session, self._mirror(item), item, path)
        if found is None:
            raise HTTPException(404, NOT_FOUND_MESSAGE)
        if media_type(found.content_type) not in RENDERED_TYPES:
            return FileResponse(found.path, headers={"content-type": found.content_type})
        return _page(request, ReplayContent(found.path.read_bytes(), found.content_type))

    def document(self, request: Request) -> Response:
        """Lead to the copy of a document, or else to the document."""
        with self._document(request) as (session, item, document):
            path = content.path_of_document(session, self._mirror(item), document)
        begin = f"/{request.path_params['ticket']}/{item.urn}"
        return RedirectResponse(f"{begin}/copy/{path}" if path else f"{begin}/page/{document.id}", 303)

    def page(self, request: Request) -> Response:
        """Show a document that has no copy."""
        with self._document(request) as (session, _, document):
            found = content.displayed_content(session, self._installation.items, document)
        if found is None:
            raise HTTPException(404, NOT_FOUND_MESSAGE)
        if media_type(found.content_type) not in RENDERED_TYPES:
            return _bytes(found, document)
        return _page(request, found)

    def original(self, request: Request) -> Response:
        """Give the bytes that a server sent; what is text is shown as text."""
        with self._document(request) as (session, _, document):
            found = content.original_content(session, self._installation.items, document)
        if found is None:
            raise HTTPException(404, NOT_FOUND_MESSAGE)
        return _bytes(found, document)

    def _mirror(self, item: Item) -> Path:
        return self._installation.archived / item.urn

    @contextmanager
    def _admitted(self, request: Request) -> Iterator[tuple[Session, Item]]:
        urn = request.path_params["urn"]
        if not self._tickets.admit(request.path_params["ticket"], urn):
            raise HTTPException(403, EXPIRED_MESSAGE)
        with self._database.reading() as session:
            yield session, find_item(session, urn)

    @contextmanager
    def _document(self, request: Request) -> Iterator[tuple[Session, Item, Document]]:
        number = request.path_params["number"]
        with self._admitted(request) as (session, item):
            document = session.get(Document, number) if number < MAX_DOCUMENT_NUMBER else None
            if document is None or document.item_id != item.id:
                raise HTTPException(404, NOT_FOUND_MESSAGE)
            yield session, item, document


def _page(request: Request, found: ReplayContent) -> Response:
    """Return a page for a frame; for a window, a page of ours around it, which says where it may not lead."""
    if request.headers.get("sec-fetch-dest") == "document":
        address = escape(request.url.path)
        return HTMLResponse(_AROUND.replace("ADDRESS", address), headers={"content-security-policy": WRAPPER_POLICY})
    nonce = token_urlsafe(16)
    body = insert_script(found.body, found.content_type, nonce)
    headers = {"content-type": found.content_type, "content-security-policy": copy_policy(nonce)}
    return Response(body, headers=headers)


def _bytes(found: ReplayContent, document: Document) -> Response:
    kind = media_type(found.content_type) or ""
    if kind.startswith("text/") or kind in TEXT_TYPES or kind.endswith(("+xml", "+json")):
        found = content.as_text(found)
    headers = {"content-type": found.content_type, "content-security-policy": STATIC_POLICY}
    if not found.content_type.startswith(DISPLAYED_TYPES):
        headers["content-disposition"] = f'attachment; filename="document-{document.id}"'
    return Response(found.body, headers=headers)


async def _complain(request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 404)
