"""Sessions, tokens and one-time codes of the authenticator."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select, update
from starlette.types import Message, Receive, Scope, Send

from tarantula.accounts import accounts, sessions, tokens
from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import LoginSession, Token
from tarantula.web import api, auth
from tarantula.web.api.common import add_error_handlers
from tarantula.web.auth import SESSION_COOKIE, Authenticator, AuthMiddleware

PASSWORD = "correct horse battery"

pytestmark = pytest.mark.usefixtures("quick_passwords")


@pytest.fixture
def authenticator(database: Database, database_config: Config) -> Authenticator:
    return Authenticator(database_config, database)


def seen(authenticator: Authenticator) -> datetime:
    with authenticator.database.reading() as session:
        return session.scalars(select(LoginSession.seen_at)).one()


def test_a_one_time_code_works_once(authenticator: Authenticator) -> None:
    code = authenticator.create_code()
    assert authenticator.redeem_code("wrong") is None
    with ThreadPoolExecutor(8) as pool:
        secrets = [secret for secret in pool.map(authenticator.redeem_code, [code] * 8) if secret is not None]
    (secret,) = secrets
    person = authenticator.person_of_session(secret)
    assert person is not None
    assert (person.role, person.account_id) == (Role.ADMINISTRATOR, None)


def test_one_time_codes_end_with_the_first_account(authenticator: Authenticator) -> None:
    inside, code = authenticator.redeem_code(authenticator.create_code()), authenticator.create_code()
    with authenticator.database.session() as session:
        accounts.add(session, "ana", Role.ADMINISTRATOR, PASSWORD)
    assert authenticator.redeem_code(code) is None
    assert authenticator.person_of_session(inside) is None


def test_only_user_activity_extends_a_session(authenticator: Authenticator) -> None:
    with authenticator.database.session() as session:
        accounts.add(session, "ana", Role.ADMINISTRATOR, PASSWORD)
    secret = authenticator.log_in("ana", PASSWORD, "192.0.2.7")
    before = datetime.now(UTC) - sessions.IDLE_TIMEOUT + timedelta(minutes=5)
    with authenticator.database.session() as session:
        session.execute(update(LoginSession).values(seen_at=before))
    assert authenticator.person_of_session(secret, present=False) is not None
    assert seen(authenticator) == before
    assert authenticator.person_of_session(secret) is not None
    assert seen(authenticator) > before
    assert secret is not None
    authenticator.log_out(secret)
    assert authenticator.person_of_session(secret) is None


def test_the_last_use_of_a_token_is_recorded(authenticator: Authenticator) -> None:
    with authenticator.database.session() as session:
        account = accounts.add(session, "ana", Role.ADMINISTRATOR, PASSWORD)
        _, secret = tokens.create_token(session, account, "harvest", Role.READER, None)
    assert authenticator.person_of_token(secret) is not None
    with authenticator.database.reading() as session:
        assert session.scalars(select(Token.used_at)).one() is not None
    for wrong in ("", "\udc80", "x" * 10_000, f"{secret} "):
        assert authenticator.person_of_token(wrong) is None


def test_a_streamed_response_ends_with_its_session(
    authenticator: Authenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "SESSION_CHECK_SECONDS", 0.0)
    secret = authenticator.redeem_code(authenticator.create_code())
    assert secret is not None
    sent: list[bytes] = []

    async def news(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(4):
            if number == 2:
                await asyncio.to_thread(authenticator.log_out, secret)
            await send({"type": "http.response.body", "body": b"%d" % number, "more_body": True})

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            sent.append(message["body"] if message["more_body"] else b"end")

    headers = [(b"host", b"127.0.0.1"), (b"cookie", f"{SESSION_COOKIE}={secret}".encode())]
    request = {"type": "http", "method": "GET", "path": "/api/items/x/live", "query_string": b"", "scheme": "http"}
    asyncio.run(AuthMiddleware(news, authenticator)({**request, "headers": headers}, receive, send))
    assert sent == [b"0", b"1", b"end"]


def test_every_api_path_belongs_to_a_scope() -> None:
    app = FastAPI()
    app.include_router(api.router)
    paths = set(app.openapi()["paths"])
    assert len(paths) > 60
    without = {path for path in paths if tokens.needed_scopes(path) == []}
    assert without == set()
    assert {path for path in paths if tokens.needed_scopes(path) is None} == {"/api/me"}


def test_a_token_is_refused_outside_its_scopes(authenticator: Authenticator) -> None:
    with authenticator.database.session() as session:
        account = accounts.add(session, "ana", Role.ADMINISTRATOR, PASSWORD)
        _, some = tokens.create_token(session, account, "harvest", Role.ADMINISTRATOR, None, ["streams", "search"])
        _, whole = tokens.create_token(session, account, "harvest", Role.ADMINISTRATOR, None)
    app = FastAPI()
    app.include_router(api.router)
    add_error_handlers(app)

    async def statuses(secret: str) -> list[int]:
        transport = httpx.ASGITransport(AuthMiddleware(app, authenticator))
        headers = {"Authorization": f"Bearer {secret}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
            paths = ("me", "streams", "views", "suggestions/x?document=1", "publications", "people", "audit", "tokens")
            answers = [await client.get(f"/api/{path}") for path in paths]
        refused = {answer.json()["detail"] for answer in answers if answer.status_code == 403}
        start = "This token is for search, streams only. Create one with the scope"
        assert refused == ({f"{start} publications.", f"{start} people."} if secret == some else set())
        return [answer.status_code for answer in answers]

    assert asyncio.run(statuses(some)) == [200, 200, 200, 404, 403, 403, 403, 403]
    assert asyncio.run(statuses(whole)) == [200, 200, 200, 404, 200, 200, 200, 200]
