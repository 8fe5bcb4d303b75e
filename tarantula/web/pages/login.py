"""Login, logout and language choice. These pages need no script."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from tarantula.accounts import accounts
from tarantula.accounts.login import DEVICE_LIFETIME, TooManyLogins
from tarantula.web.auth import DEVICE_COOKIE, SESSION_COOKIE, Authenticator, session_cookie
from tarantula.web.i18n import LANGUAGE_COOKIE, LANGUAGES, _, language
from tarantula.web.middleware import templates_with_nonces

router = APIRouter(include_in_schema=False)
templates = templates_with_nonces()


@router.get("/begin")
def log_in_by_link(request: Request, code: str = "") -> Response:
    """Log in with the printed one-time link."""
    authenticator: Authenticator = request.state.authenticator
    secret = authenticator.redeem_code(code)
    if secret is None:
        return RedirectResponse("/login?failed=code", status_code=303)
    return _start_session(request, secret, "/")


@router.get("/login")
def login_page(request: Request, next: str = "/", failed: str = "") -> Response:
    """Show the login form."""
    if failed == "code":
        used = _("This link was already used or has been replaced. Start `tarantula web` again to get a new one.")
        return _login_form(request, next, complaint=used)
    return _login_form(request, next)


@router.post("/login")
def log_in(
    request: Request,
    name: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "/",
) -> Response:
    """Log in with name and password."""
    authenticator: Authenticator = request.state.authenticator
    try:
        device = request.cookies.get(DEVICE_COOKIE)
        secret = authenticator.log_in(name, password, request.client.host if request.client else "", device)
    except TooManyLogins as error:
        texts = _("Too many failed logins. Try again in {seconds} seconds.", seconds=error.seconds)
        return _login_form(request, next, name, texts, status=429, headers={"Retry-After": str(error.seconds)})
    if secret is None:
        return _login_form(request, next, name, _("The name or the password is wrong."), status=401)
    answer = _start_session(request, secret, local_path(next))
    if known := authenticator.remember_device(secret, device):
        seconds, secure = int(DEVICE_LIFETIME.total_seconds()), request.url.scheme == "https"
        answer.headers.append("set-cookie", session_cookie(known, secure=secure, name=DEVICE_COOKIE, seconds=seconds))
    return answer


@router.post("/logout")
def log_out(request: Request) -> Response:
    """Log out."""
    authenticator: Authenticator = request.state.authenticator
    if secret := request.cookies.get(SESSION_COOKIE):
        authenticator.log_out(secret)
    answer = RedirectResponse("/login", status_code=303)
    answer.delete_cookie(SESSION_COOKIE)
    return answer


@router.get("/language/{name}")
def choose_language(request: Request, name: str, back: str = "/") -> Response:
    """Store the language in a cookie and go back."""
    answer = RedirectResponse(local_path(back), status_code=303)
    if name in LANGUAGES:
        answer.set_cookie(LANGUAGE_COOKIE, name, max_age=365 * 86400, samesite="lax")
    return answer


def _login_form(
    request: Request,
    next: str,
    name: str = "",
    complaint: str = "",
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    authenticator: Authenticator = request.state.authenticator
    with authenticator.database.reading() as session:
        has_accounts = accounts.exist(session)
    texts = {
        "title": _("Log in"),
        "name": _("Name"),
        "password": _("Password"),
        "no_account": _("There is no account yet. Open the link that `tarantula web` printed when it was started."),
    }
    others = {code: label for code, label in LANGUAGES.items() if code != language()}
    form = {"words": texts, "next": local_path(next), "name": name, "complaint": complaint}
    values = {**form, "has_accounts": has_accounts, "others": others, "language": language()}
    return templates.TemplateResponse(request, "login.html", values, status, headers)


def local_path(address: str) -> str:
    """Return the path and query of an address; a host in it is dropped."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "/"
    # Two slashes would start a host name, and browsers read \\ as /.
    path = "/" + parts.path.replace("\\", "/").lstrip("/")
    return f"{path}?{parts.query}" if parts.query else path


def _start_session(request: Request, secret: str, target: str) -> Response:
    answer = RedirectResponse(target, status_code=303)
    answer.headers.append("set-cookie", session_cookie(secret, secure=request.url.scheme == "https"))
    return answer
