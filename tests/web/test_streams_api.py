"""The API of sources and views; private sources of other accounts stay hidden."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest
from fastapi import FastAPI, Request
from sqlalchemy import select
from starlette.responses import Response

from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.secrets import MASK
from tarantula.models import AuditEntry
from tarantula.web import api
from tarantula.web.api.common import add_error_handlers
from tarantula.web.api.monitoring import metrics_text
from tarantula.web.auth import Authenticator
from tests.support.contexts import context_of
from tests.support.followed_sources import HOUR, all_summed_up, followed, now, was_doubted, was_read

SOURCE = {"name": "user.ana.preco", "url": "http://127.0.0.1:9/", "fields": [{"key": "price", "place": {"css": "b"}}]}


class Client:
    """Client of an app in this process."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    def ask(self, method: str, path: str, **rest: Any) -> httpx.Response:
        """Send one request."""

        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, path, **rest)

        return asyncio.run(asked())

    def __getattr__(self, method: str) -> Callable[..., httpx.Response]:
        return partial(self.ask, method.upper())


@pytest.fixture
def ask(sqlite: Database, config: Config) -> Client:
    """Client of the API; a header names the account, in place of the authentication middleware."""
    app, authenticator = FastAPI(), Authenticator(config, sqlite)
    app.include_router(api.router)
    add_error_handlers(app)

    @app.middleware("http")
    async def told(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        name, _, role = request.headers.get("who", "ana curator").partition(" ")
        request.state.person, request.state.authenticator = Person(name, Role(role)), authenticator
        return await go_on(request)

    return Client(app)


def test_a_source_is_created_changed_and_removed(ask: Client) -> None:
    assert ask.post("/api/streams", json=SOURCE, headers={"who": "rui reader"}).status_code == 403
    made = ask.post("/api/streams", json=SOURCE)
    assert (made.status_code, made.json()["owner"], made.json()["interval"]) == (201, "ana", 300)
    assert ask.post("/api/streams", json=SOURCE).status_code == 409
    wrong = ask.post("/api/streams", json={**SOURCE, "name": "user.ana.x", "interval": 0})
    assert (wrong.status_code, "between one second and one year" in wrong.text) == (422, True)
    assert ask.patch("/api/streams/user.ana.preco", json={"title": "Preço"}).json()["title"] == "Preço"
    assert ask.patch("/api/streams/user.ana.preco", json={}, headers={"who": "rui curator"}).status_code == 403
    assert [row["name"] for row in ask.get("/api/streams", params={"words": "preco"}).json()["rows"]] == [
        SOURCE["name"]
    ]
    assert ask.get("/api/stream-names", params={"below": "user"}).json() == [{"name": "user.ana", "sources": 1}]
    assert ask.get("/api/streams/user.ana.preco/state").json()["status"] == "new"
    assert ask.delete("/api/streams/user.ana.preco").status_code == 204
    assert ask.get("/api/streams/user.ana.preco").status_code == 404


def source_with_history(database: Database, **values: object) -> int:
    """Create a source with three prices, an hour apart, and a reading put aside."""
    source = followed(database, "bolsa.preco", {"price": "decimal"}, "ana", title="Preço", **values)
    for hour, price in enumerate(("1.10", "2.20", "3.30")):
        was_read(database, source, now() - (3 - hour) * HOUR, {"": {"price": price}})
    was_doubted(database, source, "price", "", "9.99")
    all_summed_up(database)
    return source


def test_the_history_is_exported_in_every_format(sqlite: Database, ask: Client) -> None:
    source_with_history(sqlite)
    at = "/api/streams/bolsa.preco"
    assert [row["value"] for row in ask.get(f"{at}/values").json()] == ["3.3"]
    events = ask.get(f"{at}/events", params={"field": "price", "limit": 2}).json()
    assert [row["value"] for row in events["rows"]] == ["3.3", "2.2"]
    window = {"field": "price", "begin": now() - 24 * HOUR, "end": now(), "most": 1}
    (point,) = ask.get(f"{at}/points", params=window).json()["points"]
    assert (point["count"], point["sum"], point["minimum"], point["last"]) == (3, "6.6", "1.1", "3.3")
    lines = ask.get(f"{at}/export.csv").text.splitlines()
    assert (lines[0], len(lines)) == ("at,field,row,value,number,read", 4)
    assert [row["value"] for row in ask.get(f"{at}/export.json").json()] == ["1.1", "2.2", "3.3"]
    feed = ElementTree.fromstring(ask.get(f"{at}/export.atom").content)
    assert len(feed.findall("{http://www.w3.org/2005/Atom}entry")) == 3
    assert _rows_of_parquet(ask.get(f"{at}/export.parquet")) == 3
    last = ask.get(f"{at}/export.prometheus")
    assert (last.text.splitlines()[-1].endswith(" 3.3"), last.headers["content-type"][:10]) == (True, "text/plain")
    assert ask.get(f"{at}/export.atom", params={"grain": "day"}).status_code == 400
    assert ask.get(f"{at}/export.docx").status_code == 422
    assert ask.get(f"{at}/export.csv", params={"field": "colour"}).status_code == 404
    days = ask.get(f"{at}/export.csv", params={"grain": "year"}).text.splitlines()
    assert days[0].startswith("start,field,row,count,sum")


def _rows_of_parquet(answer: httpx.Response) -> int:
    from pyarrow import parquet

    return int(parquet.read_table(BytesIO(answer.content)).num_rows)


def test_request_errors_name_their_field_and_secrets_stay_hidden(sqlite: Database, ask: Client) -> None:
    sending = {
        "method": "post",
        "headers": {"X-API-Key": "{key}"},
        "body": "q={q}",
        "variables": {"key": "k", "q": "q"},
    }
    wrong = ask.post("/api/streams", json={**SOURCE, **sending, "headers": {"X-API-Key": "abc"}})
    assert (wrong.status_code, list(wrong.json()["fields"])) == (422, ["headers"])
    own = ask.post("/api/streams", json={**SOURCE, **sending, "name": "quotes.edp"}).json()
    # A variable with the name of a secret is masked.
    assert {key: own[key] for key in sending} == {**sending, "method": "POST", "variables": {"key": MASK, "q": "q"}}
    others = ask.get("/api/streams/quotes.edp", headers={"who": "rui curator"}).json()
    assert (others["headers"], others["body"], others["variables"]) == (
        {"X-API-Key": "…"},
        "…",
        {"key": MASK, "q": "…"},
    )
    assert ask.patch("/api/streams/quotes.edp", json={"body": "q={key}"}).status_code == 200
    with sqlite.reading() as session:
        last = session.scalars(select(AuditEntry).order_by(AuditEntry.id.desc())).first()
    assert last is not None
    assert last.detail == {"changes": {"body": "changed"}}


def test_readings_put_aside_are_decided(sqlite: Database, ask: Client) -> None:
    source_with_history(sqlite)
    (aside,) = ask.get("/api/streams/bolsa.preco/aside").json()
    assert aside["read"] == "9.99"
    to = f"/api/streams/bolsa.preco/aside/{aside['id']}/accept"
    assert ask.post(to, headers={"who": "rui curator"}).status_code == 403
    assert ask.post("/api/streams/bolsa.preco/aside/77/dismiss").status_code == 404
    assert ask.post(to).status_code == 204
    assert ask.post(to).status_code == 409
    assert ask.get("/api/streams/bolsa.preco/aside").json() == []
    assert ask.get("/api/streams/bolsa.preco/values").json()[0]["value"] == "9.99"


def test_views_are_created_ordered_shared_and_read(sqlite: Database, ask: Client) -> None:
    source_with_history(sqlite)
    view = {"kind": "line", "parts": [{"source": "bolsa.preco", "field": "price"}]}
    first, second = (ask.post("/api/views", json=view).json()["id"] for _ in range(2))
    assert [row["id"] for row in ask.get("/api/views").json()] == [second, first]
    assert [row["id"] for row in ask.put("/api/views/order", json={"views": [first]}).json()] == [first, second]
    changed = ask.patch(f"/api/views/{first}", json={"formulas": [{"text": "a * 10", "title": "Dez"}]})
    assert changed.json()["view"]["formulas"][0]["title"] == "Dez"
    assert ask.patch(f"/api/views/{first}", json={"formulas": [{"text": "a *"}]}).status_code == 400
    data = ask.get(f"/api/views/{first}/data", params={"begin": now() - 24 * HOUR, "end": now()}).json()
    assert [track["points"][-1]["value"] for track in data["tracks"]] == [3.3, 33.0]
    rui = {"who": "rui reader"}
    assert ask.get(f"/api/views/{first}", headers=rui).status_code == 404
    assert ask.put(f"/api/views/{first}/sharing", json={}).json()["shared"]
    assert [row["id"] for row in ask.get("/api/shared-views", headers=rui).json()] == [first]
    assert ask.post(f"/api/shared-views/{first}/take", headers=rui).json()["owner"] == "rui"
    assert ask.delete(f"/api/views/{second}").status_code == 204


def test_private_sources_are_hidden_from_others(sqlite: Database, ask: Client) -> None:
    source_with_history(sqlite, private=True)
    eva = {"who": "eva administrator"}
    assert ask.get("/api/streams", headers=eva).json()["rows"] == []
    assert ask.get("/api/stream-names", headers=eva).json() == []
    for path in ("", "/state", "/values", "/aside", "/export.csv", "/export.atom", "/events?field=price"):
        assert ask.get(f"/api/streams/bolsa.preco{path}", headers=eva).status_code == 404, path
        assert ask.get(f"/api/streams/bolsa.preco{path}").status_code == 200, path
    assert ask.get("/api/streams/bolsa.preco/points?field=price&begin=0&end=9", headers=eva).status_code == 404
    assert b"bolsa" not in metrics_text(context_of(sqlite, Role.ADMINISTRATOR, "eva"))


def test_public_sources_are_prometheus_metrics(sqlite: Database) -> None:
    source_with_history(sqlite)
    figure = b'tarantula_stream_value{field="price",row="",source="bolsa.preco"} 3.3'
    assert figure in metrics_text(context_of(sqlite, Role.READER, "eva"))
