"""Settings and import paths that run code, sent to the API and typed into the form by every role."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.publications.config import setting_line
from tarantula.services import accounts, publications, tokens
from tarantula.services.context import ServiceContext
from tarantula.store.database import open_database
from tests.services.test_privileged_fields import BASE, HOSTILE, VALID, table_of
from tests.support.web_server import api_client, web_server

PASSWORD = "correct horse battery"
NAMES = {"ana": Role.ADMINISTRATOR, "rui": Role.CURATOR, "eva": Role.READER}
REFUSED = "only on the command line"
TOML = {"Content-Type": "application/toml"}


@pytest.fixture
def context(sqlite_config: Config, quick_passwords: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Service context with an account for each role; a module ``owned`` is on the import path of processes."""
    (tmp_path / "owned.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w').close()\n")
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parents[2]}:{tmp_path}")
    with open_database(sqlite_config) as database:
        made = ServiceContext(sqlite_config, database, Person("root", Role.ADMINISTRATOR), is_local=True)
        for name, role in NAMES.items():
            accounts.add_account(made, name, role, PASSWORD)
        publications.add(made, "there", BASE)
        yield made


def test_the_api_refuses_them_for_every_role(context: ServiceContext, tmp_path: Path) -> None:
    before = publications.export_toml(context)
    with web_server() as place, api_client(place.address) as client:
        for name, role in NAMES.items():
            secret = tokens.add_token(context, "test", role, account=name).secret
            client.headers["Authorization"] = f"Bearer {secret}"
            for settings in HOSTILE:
                for response in _attempts(client, {"settings": settings}):
                    _is_refused(response, role)
            for response in _attempts(client, {"strategy": "owned.Strategy"}):
                _is_refused(response, role)
            source = {"name": "weather", "url": "http://weather.pt/", "adapter": "owned.Adapter"}
            _is_refused(client.post("/api/streams", json=source), role)
        assert publications.export_toml(context) == before
        client.headers["Authorization"] = (
            f"Bearer {tokens.add_token(context, 'rui', Role.CURATOR, account='rui').secret}"
        )
        wrong = client.patch("/api/publications/there", json={"settings": {"CONCURRENT_REQUESTS": 100_000}})
        assert wrong.status_code == 400
        assert wrong.json()["fields"] == {
            "settings": "The setting CONCURRENT_REQUESTS must be a whole number from 1 to 256."
        }
        assert client.patch("/api/publications/there", json={"settings": VALID}).json()["settings"] == VALID
    assert not (tmp_path / "trace").exists()


def _attempts(client: httpx.Client, fields: dict[str, Any]) -> list[httpx.Response]:
    scope = {"fields": {**BASE, **fields}, "urls": ["http://www.fc.ul.pt/"]}
    return [
        client.post("/api/publications", json={**BASE, **fields, "name": "fcul"}),
        client.patch("/api/publications/there", json=fields),
        client.post("/api/publications.toml", content=table_of(fields), headers=TOML),
        client.post("/api/publications.toml?replace=true", content=table_of(fields, "there"), headers=TOML),
        client.post("/api/checks/scope", json=scope),
    ]


def _is_refused(response: httpx.Response, role: Role) -> None:
    assert response.status_code == 403, response.text
    assert REFUSED in response.text or (role == Role.READER and "this needs a curator" in response.text)


@pytest.mark.parametrize("name", ["ana", "rui"])
def test_the_form_and_the_import_refuse_them(context: ServiceContext, window: Page, name: str) -> None:
    with web_server() as place:
        window.goto(f"{place.address}/login")
        window.get_by_label("Name").fill(name)
        window.get_by_label("Password", exact=True).fill(PASSWORD)
        window.get_by_role("button", name="Log in").click()
        window.wait_for_url(f"{place.address}/")
        window.goto(f"{place.address}/publications/there")
        window.get_by_text("Advanced: Scrapy").click()
        for settings in HOSTILE[:3]:
            lines = "\n".join(setting_line(key, value) for key, value in settings.items())
            window.get_by_label("Scrapy settings").fill(lines)
            expect(window.get_by_text(f"The setting {next(iter(settings))} can be set {REFUSED}")).to_be_visible()
            window.get_by_role("button", name="Save").click()
            expect(window.get_by_text("Some fields have errors.").first).to_be_visible()
        assert publications.get_publication(context, "there")["settings"] == {}
        window.get_by_label("Scrapy settings").fill("CONCURRENT_REQUESTS = 8")
        expect(window.get_by_text("can be set only")).to_have_count(0)
        window.get_by_role("button", name="Save").click()
        expect(window.get_by_text("there is saved.")).to_be_visible()
        assert publications.get_publication(context, "there")["settings"] == {"CONCURRENT_REQUESTS": 8}
        window.goto(f"{place.address}/publications")
        window.get_by_role("button", name="Import").click()
        window.get_by_label("Or paste TOML").fill(table_of({"settings": HOSTILE[0]}, "imported"))
        window.get_by_role("dialog").get_by_role("button", name="Import").click()
        expect(window.get_by_text(f"The setting LOG_FILE can be set {REFUSED}")).to_be_visible()
        assert [row.name for row in publications.list_publications(context)] == ["there"]
