"""Login and logout at an OpenID Connect provider. These pages need no script."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tarantula.accounts.oidc import OidcProvider, PendingLogin, ProviderIdentity
from tarantula.accounts.sessions import MAX_SESSION_DURATION
from tarantula.accounts.throttle import TooManyLogins
from tarantula.core.errors import DatabaseUnavailableError, TarantulaError
from tarantula.services import identities
from tarantula.web.auth import Authenticator, is_secure, own_cookie, session_cookie
from tarantula.web.i18n import _, language
from tarantula.web.limits import LOGIN, run_in_pool
from tarantula.web.pages.login import local_path, log_out_here, login_form, start_session

router = APIRouter(include_in_schema=False)

START_PATH = "/login/oidc"
CALLBACK_PATH = "/login/oidc/callback"
PENDING_COOKIE = "tarantula_oidc"
"""Cookie of a login that waits for the provider."""
PENDING_SECONDS = 600
ID_TOKEN_COOKIE = "tarantula_id_token"
"""Cookie with the ID token of the session, with which the provider knows which of its sessions is to end."""
LONGEST_COOKIE = 3800
"""Characters; browsers drop cookies of more than 4096 bytes with their attributes."""

_GO_ON = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="0;url={address}">
<title>Tarântula</title>
</head>
<body><main><h1>Tarântula</h1><p><a href="{address}">{text}</a></p></main></body>
</html>
"""


@router.get(START_PATH)
async def start_login(request: Request, next: str = "/") -> Response:
    """Send the browser to the provider."""
    provider = _provider(request)
    if provider is None:
        return RedirectResponse("/login", status_code=303)
    pending = PendingLogin.begin(local_path(next))
    try:
        address = await provider.authorization_url(_own_url(request, CALLBACK_PATH), pending)
    except TarantulaError as error:
        return await run_in_pool(LOGIN, login_form, request, next, complaint=_(str(error)), status=503)
    answer = RedirectResponse(address, status_code=303)
    # Lax, since the provider's page leads back here.
    answer.headers.append(
        "set-cookie", session_cookie(request, pending.cookie(), PENDING_COOKIE, PENDING_SECONDS, "Lax")
    )
    return answer


@router.get(CALLBACK_PATH)
async def finish_login(request: Request) -> Response:
    """Log in the person who comes back from the provider."""
    provider, pending = _provider(request), PendingLogin.parse(own_cookie(request, PENDING_COOKIE))
    if provider is None:
        return RedirectResponse("/login", status_code=303)
    if pending is None:
        text = _("This login was begun in another window, or too long ago. Log in again.")
        return await run_in_pool(LOGIN, login_form, request, "/", complaint=text, status=400)
    try:
        secret, identity = await _log_in(request, provider, pending)
    except TooManyLogins as error:
        headers = {"Retry-After": str(error.seconds)}
        answer = await run_in_pool(
            LOGIN, login_form, request, pending.target, complaint=_(str(error)), status=429, headers=headers
        )
    except TarantulaError as error:
        status = 503 if isinstance(error, DatabaseUnavailableError) else 403
        answer = await run_in_pool(LOGIN, login_form, request, pending.target, complaint=_(str(error)), status=status)
    else:
        # A redirect from another site would be followed without the new cookie, which is SameSite=Strict.
        answer = start_session(request, secret, _go_on(pending.target))
        _keep_id_token(request, answer, identity)
    answer.headers.append("set-cookie", session_cookie(request, "", PENDING_COOKIE, 0, "Lax"))
    return answer


@router.post("/logout")
async def log_out(request: Request) -> Response:
    """Log out, here and at the provider if the session began there."""
    answer = await run_in_pool(LOGIN, log_out_here, request)
    provider, id_token = _provider(request), request.cookies.get(ID_TOKEN_COOKIE)
    if provider is None or id_token is None:
        return answer
    try:
        address = await provider.logout_url(_own_url(request, "/login"), id_token.removeprefix("-"))
    except TarantulaError:
        address = None
    if address is not None:
        left = _go_on(address)
        left.raw_headers += [header for header in answer.raw_headers if header[0] == b"set-cookie"]
        answer = left
    answer.delete_cookie(ID_TOKEN_COOKIE, "/logout", secure=is_secure(request), httponly=True, samesite="strict")
    return answer


async def _log_in(request: Request, provider: OidcProvider, pending: PendingLogin) -> tuple[str, ProviderIdentity]:
    authenticator: Authenticator = request.state.authenticator
    database, address = authenticator.database, request.client.host if request.client else ""
    identity = None
    await run_in_pool(LOGIN, identities.count_attempt, database, address)
    try:
        identity = await provider.identity(_own_url(request, CALLBACK_PATH), pending, request.query_params)
        secret = await run_in_pool(LOGIN, identities.log_in, database, provider.settings, identity, address)
    except DatabaseUnavailableError:
        raise
    except TarantulaError as error:
        await run_in_pool(LOGIN, identities.record_failure, database, str(error), address, identity)
        raise
    return secret, identity


def _keep_id_token(request: Request, answer: Response, identity: ProviderIdentity) -> None:
    token = identity.id_token if len(identity.id_token) <= LONGEST_COOKIE else "-"
    answer.set_cookie(
        ID_TOKEN_COOKIE,
        token,
        max_age=int(MAX_SESSION_DURATION.total_seconds()),
        path="/logout",
        secure=is_secure(request),
        httponly=True,
        samesite="strict",
    )


def _provider(request: Request) -> OidcProvider | None:
    authenticator: Authenticator = request.state.authenticator
    return authenticator.provider


def _own_url(request: Request, path: str) -> str:
    # The name in the Host header is one of the trusted ones.
    return f"{'https' if is_secure(request) else 'http'}://{request.url.netloc}{path}"


def _go_on(address: str) -> HTMLResponse:
    """Return a page that goes to an address by itself."""
    return HTMLResponse(_GO_ON.format(address=escape(address), text=escape(_("Continue")), language=language()))
