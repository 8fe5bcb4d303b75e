"""The replay app: serves archived pages to requests that carry a ticket."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from secrets import token_urlsafe

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tarantula.archive.replay import ReplayContent, as_text
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError, WithheldError
from tarantula.fetch.media_types import charset_of, media_type
from tarantula.links.foreign_loads import without_foreign_loads
from tarantula.links.source import end_of_prologue
from tarantula.services.replay import ReplayService
from tarantula.web.limits import error_status, in_request_pool, retry_headers
from tarantula.web.replay.security import (
    STATIC_POLICY,
    WRAPPER_POLICY,
    WRAPPER_STYLE,
    SandboxMiddleware,
    TicketSigner,
    copy_policy,
)

TELL_SCRIPT = "/tell.js"
"""Path of our script."""
HTML_SCRIPT_TAG = '<script nonce="{nonce}" src="/tell.js"></script>'
XHTML_SCRIPT_TAG = '<script xmlns="http://www.w3.org/1999/xhtml" nonce="{nonce}" src="/tell.js"/>'


def insert_script(page: str, kind: str, nonce: str) -> str:
    """Insert our script into an HTML or XHTML page; other content is returned unchanged."""
    if kind == "text/html":
        # Before the doctype it would switch the browser to quirks mode.
        start = end_of_prologue(page)
        return page[:start] + HTML_SCRIPT_TAG.format(nonce=nonce) + page[start:]
    if kind == "application/xhtml+xml":
        before, tag, after = page.rpartition("</")
        return before + XHTML_SCRIPT_TAG.format(nonce=nonce) + tag + after if tag else page
    return page


RENDERED_TYPES = ("text/html", "application/xhtml+xml", "image/svg+xml", "text/xml", "application/xml")
"""Types that a browser renders as documents; it does so with all others in XML, too."""
TEXT_TYPES = (*RENDERED_TYPES, "application/javascript", "application/json", "application/ecmascript")
ARCHIVE_TYPES = ("multipart/", "message/")
"""Prefixes of types that may contain whole pages."""
DISPLAYED_TYPES = ("text/", "image/", "audio/", "video/")
"""Prefixes of types that browsers display; others are downloaded."""

EXPIRED_MESSAGE = "This address has expired. Reload the page that contains the link."

_WRAPPER = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Tarântula</title>
<style>{WRAPPER_STYLE}</style>
<iframe sandbox="allow-scripts" referrerpolicy="no-referrer" title="An archived page" src="ADDRESS"></iframe>
"""


def create_replay_app(
    installation: Config, database: Database, tickets: TicketSigner, more: Sequence[Route] = ()
) -> ASGIApp:
    """Create the app that serves the archived pages of an installation; *more* are routes of the picker."""
    endpoints = _Endpoints(ReplayService(installation, database), tickets)
    prefix = "/{ticket}/{urn}"
    app = Starlette(
        routes=[
            Route(TELL_SCRIPT, endpoints.script),
            Route(f"{prefix}/copy/{{path:path}}", in_request_pool(endpoints.copy)),
            Route(f"{prefix}/document/{{number:int}}", in_request_pool(endpoints.document)),
            Route(f"{prefix}/page/{{number:int}}", in_request_pool(endpoints.page)),
            Route(f"{prefix}/original/{{number:int}}", in_request_pool(endpoints.original)),
            *more,
        ],
        exception_handlers={WithheldError: _withheld, TarantulaError: _not_found},
    )
    app.router.redirect_slashes = False
    return SandboxMiddleware(app)


class _Endpoints:
    """Endpoints of the replay origin."""

    def __init__(self, archive: ReplayService, tickets: TicketSigner) -> None:
        self._archive = archive
        self._tickets = tickets

    def script(self, request: Request) -> Response:
        """Return our script."""
        return FileResponse(Path(__file__).parent / "tell.js", media_type="text/javascript")

    def copy(self, request: Request) -> Response:
        """Return a file of the mirror."""
        file = self._archive.mirror_file(self._authorized_urn(request), request.path_params["path"])
        if not _is_rendered(file.content_type):
            is_shown = not file.content_type.startswith(ARCHIVE_TYPES)
            disposition = "inline" if is_shown else "attachment"
            headers = {"content-type": file.content_type, "content-disposition": disposition}
            return FileResponse(file.path, headers=headers)
        return _page(request, ReplayContent(file.path.read_bytes(), file.content_type))

    def document(self, request: Request) -> Response:
        """Redirect to the copy of a document, or to the stored document."""
        urn, number = self._authorized_urn(request), request.path_params["number"]
        path = self._archive.mirror_path(urn, number)
        prefix = f"/{request.path_params['ticket']}/{urn}"
        return RedirectResponse(f"{prefix}/copy/{path}" if path else f"{prefix}/page/{number}", 303)

    def page(self, request: Request) -> Response:
        """Return a stored document that has no copy."""
        content = self._archive.displayed(self._authorized_urn(request), request.path_params["number"])
        if media_type(content.content_type) not in RENDERED_TYPES:
            return _raw(request, content)
        return _page(request, content)

    def original(self, request: Request) -> Response:
        """Return the original response body; text types are shown as plain text."""
        return _raw(request, self._archive.original(self._authorized_urn(request), request.path_params["number"]))

    def _authorized_urn(self, request: Request) -> str:
        urn = str(request.path_params["urn"])
        if not self._tickets.verify(request.path_params["ticket"], urn):
            raise HTTPException(403, EXPIRED_MESSAGE)
        return urn


def _is_rendered(content_type: str) -> bool:
    kind = media_type(content_type) or ""
    return kind in RENDERED_TYPES or kind == "text/xsl" or kind.endswith("+xml")


def _page(request: Request, content: ReplayContent) -> Response:
    """Return a page for a frame. A window gets a wrapper page instead, whose policy restricts navigation."""
    wanted_for = request.headers.get("sec-fetch-dest")
    if wanted_for == "document":
        address = escape(request.url.path)
        return HTMLResponse(_WRAPPER.replace("ADDRESS", address), headers={"content-security-policy": WRAPPER_POLICY})
    nonce = token_urlsafe(16)
    headers = {"content-type": content.content_type, "content-security-policy": copy_policy(nonce)}
    if wanted_for == "image":
        # A drawing that is used as an image loads nothing.
        return Response(content.body, headers=headers)
    kind = media_type(content.content_type) or ""
    page = without_foreign_loads(content.body, kind, charset_of(content.content_type))
    if page is None:
        return _raw(request, content)
    headers["content-type"] = f"{kind}; charset=utf-8"
    return Response(insert_script(page, kind, nonce).encode("utf-8", "replace"), headers=headers)


def _raw(request: Request, content: ReplayContent) -> Response:
    kind = media_type(content.content_type) or ""
    if kind.startswith("text/") or kind in TEXT_TYPES or kind.endswith(("+xml", "+json")):
        content = as_text(content)
    headers = {"content-type": content.content_type, "content-security-policy": STATIC_POLICY}
    if not content.content_type.startswith(DISPLAYED_TYPES):
        number = request.path_params["number"]
        headers["content-disposition"] = f'attachment; filename="document-{number}"'
    return Response(content.body, headers=headers)


async def _withheld(request: Request, error: Exception) -> Response:
    # RFC 7725: unavailable for legal reasons.
    return PlainTextResponse(str(error), 451)


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, TarantulaError)
    return PlainTextResponse(str(error), error_status(error, 404), retry_headers(error))
