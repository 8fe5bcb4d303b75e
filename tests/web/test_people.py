"""Accounts, tokens and the audit log in a browser."""

from __future__ import annotations

import httpx
from playwright.sync_api import Page, expect

from tarantula.core.config import Config
from tests.support.web_server import WebServer, api_client, settled, web_server

PASSWORD = "correct horse battery"


def _me(place: WebServer, secret: str) -> httpx.Response:
    with api_client(place.address, headers={"Authorization": f"Bearer {secret}"}) as client:
        return client.get("/api/me")


def log_in(window: Page, name: str, password: str = PASSWORD) -> None:
    window.get_by_label("Name").fill(name)
    window.get_by_label("Password").fill(password)
    window.get_by_role("button", name="Log in").click()


def new_account(window: Page, name: str, role: str) -> None:
    settled(window).get_by_role("button", name="New account").click()
    window.get_by_label("Name").fill(name)
    window.get_by_label("Role").click()
    window.get_by_role("option", name=role).click()
    window.get_by_label("Password").fill(PASSWORD)
    window.get_by_role("button", name="Save").click()


def test_accounts_tokens_and_the_audit_log(config: Config, window: Page) -> None:
    with web_server() as place:
        place.enter(window)
        window.goto(f"{place.address}/people")
        new_account(window, "ana", "Administrator")
        expect(window).to_have_url(f"{place.address}/login")
        log_in(window, "ana")
        expect(window.get_by_text("ana · administrator")).to_be_visible()
        window.goto(f"{place.address}/people")
        new_account(window, "rui", "Curator")
        expect(window.get_by_role("cell", name="rui", exact=True)).to_be_visible()
        settled(window).get_by_role("button", name="Remove ana").click()
        window.get_by_role("button", name="Remove", exact=True).last.click()
        expect(window.get_by_text("ana is the only administrator: create another one first.")).to_be_visible()
        window.goto(f"{place.address}/people")
        settled(window).get_by_role("button", name="Edit rui").click()
        window.get_by_label("Role").click()
        window.get_by_role("option", name="Reader").click()
        window.get_by_role("button", name="Save").click()
        expect(window.get_by_role("row", name="rui").get_by_text("reader", exact=True)).to_be_visible()
        window.goto(f"{place.address}/account")
        settled(window).get_by_role("button", name="New token").click()
        window.get_by_label("Purpose").fill("<b>harvest</b>")
        window.get_by_role("button", name="Create").click()
        secret = window.get_by_test_id("secret").inner_text()
        me = _me(place, secret)
        assert me.json() == {"name": "ana", "role": "reader", "token": "<b>harvest</b>"}
        window.get_by_role("button", name="Done").click()
        expect(window.get_by_role("cell", name="<b>harvest</b>", exact=True)).to_be_visible()
        window.get_by_label("Current password").fill(PASSWORD)
        window.get_by_label("New password").fill("another one altogether")
        window.get_by_role("button", name="Change the password").click()
        expect(window.get_by_text("The password is changed")).to_be_visible()
        window.goto(f"{place.address}/audit?subject=rui")
        expect(window.get_by_role("cell", name="account.edit")).to_be_visible()
        expect(window.get_by_role("row")).to_have_count(3)
        window.goto(f"{place.address}/audit")
        for action in ("login", "account.add", "token.add", "account.password"):
            expect(window.get_by_role("cell", name=action, exact=True).first).to_be_visible()
        assert PASSWORD not in window.content()
        window.get_by_role("button", name="Log out").click()
        log_in(window, "ana", "another one altogether")
        expect(window.get_by_text("ana · administrator")).to_be_visible()
