"""Alerts: each person has their own, on sources that they may see."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tarantula.accounts import accounts
from tarantula.accounts.roles import NotAllowed, Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import NotFoundError, TarantulaError
from tarantula.services import accounts as accounts_part_audit
from tarantula.services import accounts as people
from tarantula.services.context import ServiceContext
from tarantula.services.streams import alerts
from tests.support.alerts import BEGIN, SECOND, come, new_source
from tests.support.contexts import audit_entries, context_of


def at(second: float) -> datetime:
    return datetime.fromtimestamp(BEGIN / SECOND + second, UTC)


def test_readers_have_their_own_alerts_only(database: Database) -> None:
    source = new_source(database)
    ana, rui = (context_of(database, Role.READER, name) for name in ("ana", "rui"))
    mine = alerts.add_alert(ana, "weather.lisboa", {"condition": "wind>3 AND NOT temperature > 5", "hold": ""})
    other = alerts.add_alert(rui, "weather.lisboa", {"condition": "wind > 4", "name": "Storm"})
    assert (mine.condition, mine.name) == ("wind > 3 and not temperature > 5",) * 2
    assert [row.id for row in alerts.list_alerts(ana)] == [mine.id]
    for attempt in (
        alerts.get_alert,
        alerts.remove_alert,
        alerts.dry_run_alert,
        lambda context, number: alerts.edit_alert(context, number, {}),
    ):
        with pytest.raises(NotFoundError, match=f"There is no alert {other.id}"):
            attempt(ana, other.id)
    come(database, source, 0, wind=1, temperature=1)
    come(database, source, 1, wind=9)
    (fired,) = alerts.list_firings(rui).rows
    assert (fired.name, fired.source, fired.why) == (
        "Storm", "weather.lisboa", "wind rose above 4: it was 1, it is 9."
    )  # fmt: skip
    assert alerts.dismiss_firings(ana, [fired.id]) == 0
    assert alerts.dismiss_firings(rui, [fired.id]) == 1
    assert [len(alerts.list_firings(context, unseen=True).rows) for context in (ana, rui)] == [1, 0]
    alerts.edit_alert(ana, mine.id, {"on": False, "margin": "1,5"})
    assert (alerts.get_alert(ana, mine.id).on, alerts.get_alert(ana, mine.id).margin) == (False, "1.5")
    alerts.remove_alert(ana, mine.id)
    assert alerts.list_firings(ana).rows == []
    assert audit_entries(database) == [
        ("ana", "alert.add", "weather.lisboa"),
        ("rui", "alert.add", "weather.lisboa"),
        ("ana", "alert.edit", str(mine.id)),
        ("ana", "alert.remove", str(mine.id)),
    ]


def test_private_sources_of_others_are_not_found(sqlite: Database) -> None:
    new_source(sqlite, owner="ana", private=True)
    ana, rui = (context_of(sqlite, Role.ADMINISTRATOR, name) for name in ("ana", "rui"))
    alerts.add_alert(ana, "weather.lisboa", {"condition": "wind > 3"})
    assert (alerts.source_names(ana), alerts.source_names(rui)) == (["weather.lisboa"], [])
    for attempt in (alerts.add_alert, alerts.check_condition, alerts.dry_run):
        with pytest.raises(NotFoundError, match=r"There is no source 'weather\.lisboa'"):
            attempt(rui, "weather.lisboa", {"condition": "wind > 3"})
    assert alerts.list_alerts(rui) == []
    written = [(row.action, row.subject, row.detail) for row in accounts_part_audit.list_audit(rui).rows]
    assert written == [("alert.add", "private source", {})]


def test_firings_are_paged_and_undismissed_ones_come_first(sqlite: Database) -> None:
    source, ana = new_source(sqlite), context_of(sqlite, Role.READER)
    alerts.add_alert(ana, "weather.lisboa", {"condition": "wind changed"})
    for second in range(6):
        come(sqlite, source, second, wind=second)
    first = alerts.list_firings(ana, 2)
    second_page = alerts.list_firings(ana, 2, first.next)
    assert [row.at for row in (*first.rows, *second_page.rows)] == [at(5), at(4), at(3), at(2)]
    alerts.dismiss_firings(ana, [first.rows[0].id])
    assert [row.at for row in alerts.latest_firings(ana)] == [at(4), at(3), at(2), at(1), at(5)]
    assert alerts.dismiss_firings(ana) == 4


def test_a_condition_can_be_checked_and_tried_before_it_is_stored(sqlite: Database) -> None:
    fields = [{"key": "price", "kind": "money", "unit": "EUR", "place": {"css": "b"}}]
    source, ana = new_source(sqlite, "stock.edp", fields=fields), context_of(sqlite, Role.READER)
    checked = alerts.check_condition(ana, "stock.edp", {"condition": "price > 1.234,56 €"})
    assert (checked.condition, checked.values) == ("price > 1.234,56 €", {"price 1.234,56 €": "1234.56 EUR"})
    for second, value in enumerate([1000, 2000, 1000, 3000]):
        come(sqlite, source, second, price=value)
    done = alerts.dry_run(ana, "stock.edp", {"condition": "price > 1.234,56 €"}, at(-1), at(10))
    assert [one.at for one in done.fired] == [at(1), at(3)]
    assert alerts.list_alerts(ana) == []
    for begin, end in ((at(1), at(1)), (at(1), at(0)), (at(0), at(0) + timedelta(days=4000))):
        with pytest.raises(TarantulaError, match="A dry run needs an end after its begin"):
            alerts.dry_run(ana, "stock.edp", {"condition": "price > 1"}, begin, end)


def test_readers_cannot_notify_private_networks_and_their_tokens_are_read_only(sqlite: Database) -> None:
    new_source(sqlite)
    mail = "mailto://127.0.0.1/?from=a@example.org&to=a@example.org"
    elsewhere = "mailto://user:pw@example.org/?smtp=127.0.0.1"
    said = {"condition": "wind > 3", "notify": ["json://127.0.0.1:9/", mail, elsewhere]}
    for address in said["notify"]:
        with pytest.raises(NotAllowed, match=r"private network\. Only a curator can send there"):
            alerts.add_alert(context_of(sqlite, Role.READER), "weather.lisboa", {**said, "notify": address})
    row = alerts.add_alert(context_of(sqlite, Role.CURATOR), "weather.lisboa", said)
    assert row.notify == said["notify"]
    token = ServiceContext(Config(), sqlite, Person("ana", Role.READER, token="harvest"))
    assert [one.id for one in alerts.list_alerts(token)] == [row.id]
    for attempt in (
        lambda: alerts.add_alert(token, "weather.lisboa", {"condition": "wind > 3"}),
        lambda: alerts.edit_alert(token, row.id, {"on": False}),
        lambda: alerts.remove_alert(token, row.id),
        lambda: alerts.dismiss_firings(token),
    ):
        with pytest.raises(NotAllowed):
            attempt()


def test_alerts_are_deleted_with_their_account(sqlite: Database, quick_passwords: None) -> None:
    new_source(sqlite)
    with sqlite.session() as session:
        for name in ("ivo", "rui"):
            accounts.add(session, name, Role.ADMINISTRATOR, "correct horse battery")
    with sqlite.reading() as session:
        ids = {name: accounts.get(session, name).id for name in ("ivo", "rui")}
    owners = [replace(context_of(sqlite), person=Person(name, Role.READER, number)) for name, number in ids.items()]
    for owner in owners:
        alerts.add_alert(owner, "weather.lisboa", {"condition": "wind > 3"})
    people.remove_account(context_of(sqlite, Role.ADMINISTRATOR), "rui")
    assert [len(alerts.list_alerts(owner)) for owner in owners] == [1, 0]
