"""Logging in and out, and choosing a language."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from nicegui import ui
from starlette.responses import RedirectResponse, Response

from tarantula.people import sessions
from tarantula.web.frame import complain
from tarantula.web.gate import SESSION_COOKIE, Gate, session_cookie
from tarantula.web.words import COOKIE, LANGUAGES, _, use

router = APIRouter(include_in_schema=False)


@router.get("/begin")
def begin(request: Request, code: str = "") -> Response:
    """Let in whoever has the link that was printed."""
    gate: Gate = request.state.gate
    secret = gate.take_code(code)
    if secret is None:
        return RedirectResponse("/login?failed=code", status_code=303)
    return _in(request, secret, "/")


@router.get("/logout")
def logout(request: Request) -> Response:
    """End the session."""
    gate: Gate = request.state.gate
    if secret := request.cookies.get(SESSION_COOKIE):
        with gate.database.session() as session:
            sessions.end(session, secret)
    answer = RedirectResponse("/login", status_code=303)
    answer.delete_cookie(SESSION_COOKIE)
    return answer


@router.get("/language/{name}")
def choose_language(request: Request, name: str, back: str = "/") -> Response:
    """Remember a language, and go back."""
    answer = RedirectResponse(own_path(back), status_code=303)
    if name in LANGUAGES:
        answer.set_cookie(COOKIE, name, max_age=365 * 86400, samesite="lax")
    return answer


@ui.page("/login")
def login(request: Request, failed: str = "") -> None:
    """Ask who it is."""
    use(request.state.language)
    ui.page_title(f"{_('Log in')} · Tarântula")
    if failed:
        complain(_("This link was used already, or is not the last one. Start `tarantula web` again for another."))


def own_path(address: str) -> str:
    """Return the path and the query of an address, on these pages whatever else it names."""
    parts = urlsplit(address)
    # Two slashes would begin the name of a host, and browsers take \\ for /.
    path = "/" + parts.path.replace("\\", "/").lstrip("/")
    return f"{path}?{parts.query}" if parts.query else path


def _in(request: Request, secret: str, target: str) -> Response:
    answer = RedirectResponse(target, status_code=303)
    answer.headers.append("set-cookie", session_cookie(secret, secure=request.url.scheme == "https"))
    return answer
