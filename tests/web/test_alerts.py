"""Alerts in the browser and through the API: created, checked, tested on the past, fired, dismissed."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tarantula.accounts import accounts
from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.store.database import open_database
from tests.support.alerts import come, new_source
from tests.support.web_server import api_client, settled, web_server
from tests.web.test_people import PASSWORD, log_in


def test_an_alert_is_created_and_its_firing_is_shown_only_to_its_owner(sqlite_config: Config, window: Page) -> None:
    with open_database(sqlite_config) as database, web_server() as place:
        with database.session() as session:
            for name in ("ana", "rui"):
                accounts.add(session, name, Role.ADMINISTRATOR if name == "ana" else Role.READER, PASSWORD)
        source = new_source(database)
        for second, value in enumerate([1, 20, 1]):
            come(database, source, second, wind=value)
        window.goto(f"{place.address}/alerts")
        log_in(window, "rui")
        window.goto(f"{place.address}/alerts")
        expect(settled(window).get_by_text("Nothing has fired yet.")).to_be_visible()
        window.get_by_role("button", name="New alert").click()
        window.get_by_label("Source").fill("weather.lisboa")
        window.get_by_label("Condition").fill("wind > 10 and")
        checked = window.get_by_test_id("checked")
        expect(checked).to_have_text("At the end of the condition: the name of a field was expected.")
        window.get_by_label("Condition").fill("wind>10")
        expect(checked).to_contain_text("Understood: wind > 10")
        window.get_by_role("button", name="Test on the last 30 days").click()
        expect(window.get_by_test_id("past")).to_contain_text("The alert would have fired")
        window.get_by_role("dialog").get_by_label("Name").fill("Storm")
        window.get_by_role("button", name="Save").click()
        expect(window.get_by_role("row", name="Storm")).to_contain_text("wind > 10")
        come(database, source, 10, wind=30)
        fired = window.get_by_test_id("firings")
        expect(fired).to_contain_text("wind rose above 10: it was 1, it is 30.")
        window.get_by_role("link", name="Português").click()
        expect(settled(window).get_by_test_id("firings")).to_contain_text("wind subiu acima de 10: era 1, é 30.")
        window.get_by_role("link", name="English").click()
        settled(window).get_by_role("button", name="Dismiss weather.lisboa · Storm").click()
        expect(window.get_by_role("button", name="Dismiss all")).to_have_count(0)
        window.get_by_role("button", name="Switch off Storm").click()
        expect(window.get_by_role("button", name="Switch on Storm")).to_be_visible()
        check_api(place.address, window)
        window.get_by_role("button", name="Log out").click()
        log_in(window, "ana")
        window.goto(f"{place.address}/alerts")
        expect(settled(window).get_by_text("Nothing has fired yet.")).to_be_visible()
        expect(window.get_by_text("Storm")).to_have_count(0)


def check_api(address: str, window: Page) -> None:
    cookies = {str(one.get("name")): str(one.get("value")) for one in window.context.cookies()}
    with api_client(f"{address}/api", cookies=cookies, headers={"Origin": address}) as api:
        (row,) = api.get("/alerts").json()
        assert (row["name"], row["on"], row["tree"]["when"]["value"]) == ("Storm", False, "10")
        changed = api.patch(f"/alerts/{row['id']}", json={"condition": row["tree"], "hold": "5m", "on": True})
        assert (changed.json()["hold"], changed.json()["condition"]) == (300, "wind > 10")
        assert api.patch(f"/alerts/{row['id']}", json={"hold": None}).json()["hold"] is None
        refused = api.post("/alerts", json={"source": "weather.lisboa", "condition": "wind >"})
        assert (refused.status_code, refused.json()["detail"]) == (
            400, "At the end of the condition: a value was expected."
        )  # fmt: skip
        (fired,) = api.get("/firings", params={"unseen": False}).json()["rows"]
        assert fired["why"] == "wind rose above 10: it was 1, it is 30."
        assert api.post("/firings/dismiss", json={}).json() == {"count": 0}
        past = api.get(
            f"/alerts/{row['id']}/past", params={"begin": "2026-09-01T00:00:00Z", "end": "2026-10-01T00:00:00Z"}
        )
        assert past.json()["count"] == 2
