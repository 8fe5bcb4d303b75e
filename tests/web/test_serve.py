"""`tarantula serve`: pages and daemon together, and the life of an item through the API."""

from __future__ import annotations

import signal
from datetime import UTC, datetime, timedelta

import pytest

from tarantula.accounts import accounts, tokens
from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tests.sites.drawing import page
from tests.sites.server import Answer, Web
from tests.support.crawls import TARANTULA, describe, start
from tests.support.waits import TIMEOUT_SECONDS, eventually
from tests.support.web_server import api_client, web_server

SITE = {"/": Answer(page("Base", ["/b", "http://other.example/"])), "/b": Answer(page("B"))}


@pytest.mark.usefixtures("quick_passwords")
def test_a_due_item_is_collected_and_managed_through_the_api(sqlite: Database, config: Config) -> None:
    with sqlite.session() as session:
        account = accounts.add(session, "ana", Role.ADMINISTRATOR, "correct horse battery")
        _, secret = tokens.create_token(session, account, "harvest", Role.ADMINISTRATOR, None)
    headers = {"Authorization": f"Bearer {secret}"}
    with Web(SITE) as web, web_server(command="serve") as place, api_client(place.address, headers=headers) as client:
        start = datetime.now(UTC) - timedelta(minutes=1)
        describe(sqlite, "due", base_url=web.url(), robots=False, every="monthly", start=start)
        eventually(lambda: [row["state"] for row in client.get("/api/items").json()["rows"]] == ["archived"])
        (item,) = client.get("/api/items", params={"publication": "due"}).json()["rows"]
        urn = item["urn"]
        assert (item["documents"], item["collected"]) == (3, 2)
        assert client.get("/health").json() == {"status": "well", "database": True, "home": True}
        figures = client.get("/metrics").text.splitlines()
        assert 'tarantula_items{state="archived",validation="pending"} 1.0' in figures
        assert any(line.startswith('tarantula_requests_total{method="GET",route="list_items"') for line in figures)

        first = client.get(f"/api/items/{urn}/documents", params={"limit": 2}).json()
        rest = client.get(f"/api/items/{urn}/documents", params={"limit": 2, "after": first["next"]}).json()
        assert sorted(row["url"] for row in first["rows"] + rest["rows"]) == sorted(
            [web.url(), web.url("/b"), "http://other.example/"]
        )
        assert rest["next"] is None
        number = first["rows"][0]["id"]
        assert client.get(f"/api/items/{urn}/documents/{number}").json()["url"] == web.url()
        assert client.get(f"/api/items/{urn}/documents/{number + 1000}").status_code == 404
        servers = {row["server"]: row["refused"] for row in client.get(f"/api/items/{urn}/servers").json()["rows"]}
        assert servers["other.example"] == 1
        assert client.get(f"/api/items/{urn}/report").json()["totals"]["collected"] == 2
        assert client.get(f"/api/items/{urn}/report/states.csv").text.startswith("state,meaning,documents,percent")

        answer = client.post(f"/api/items/{urn}/stop")
        assert (answer.status_code, answer.json()) == (
            409,
            {"detail": f"Item {urn} is archived and cannot become interrupted."},
        )
        decision = client.post(f"/api/items/{urn}/reject", json={"why": "It is too small."}).json()
        assert (decision["validation"], decision["by"]) == ("rejected", "ana")
        assert [row["why"] for row in client.get(f"/api/items/{urn}/decisions").json()] == ["It is too small."]

        assert client.post(f"/api/items/{urn}/exports", json={"format": "wacz"}).status_code == 202
        eventually(lambda: client.get(f"/api/items/{urn}/exports/wacz").status_code == 200)
        assert client.get(f"/api/items/{urn}/exports/wacz").content.startswith(b"PK")

        again = client.post("/api/publications/due/collect")
        assert again.status_code == 202
        other = again.json()["urn"]
        eventually(lambda: client.get(f"/api/items/{other}").json()["state"] == "archived")
        found = client.get(f"/api/items/{other}/differences", params={"before": urn, "same": True}).json()
        assert found["summary"]["by_url"] == {"new": 0, "changed": 0, "same": 2, "gone": 0, "moved": 0}
        assert client.delete(f"/api/items/{other}").json() == {"lost": [], "lost_total": 0}
        assert client.get(f"/api/items/{other}").status_code == 404
        actions = [(row["action"], row["detail"].get("token")) for row in client.get("/api/audit").json()["rows"]]
    assert actions == [
        ("item.remove", "harvest"),
        ("publication.collect", "harvest"),
        ("item.export", "harvest"),
        ("item.reject", "harvest"),
    ]


def test_no_request_for_the_start_link_logs_its_code(config: Config) -> None:
    process = start([TARANTULA, "web", "--port", "0", "--replay-port", "0"])
    assert process.stdout is not None
    link = process.stdout.readline().strip()
    code = link.partition("code=")[2]
    assert code
    with api_client("") as client:
        for method in ("HEAD", "POST", "PUT", "OPTIONS", "PROPFIND"):
            assert client.request(method, link).status_code >= 400
        assert client.get(link.replace("/begin", "/begun")).status_code in (303, 404)
        # None of them has used the link up.
        assert client.get(link).headers["location"] == "/"
    process.send_signal(signal.SIGINT)
    out, log = process.communicate(timeout=TIMEOUT_SECONDS)
    assert code not in out + log + "".join(path.read_text() for path in config.home.rglob("*.log"))
