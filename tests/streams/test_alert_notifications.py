"""Firings are sent through Apprise: to each recipient once, later to those that could not be reached."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.publications.notifications import (
    CLAIM_TIMEOUT,
    FIRST_RETRY_PAUSE,
    MAX_TRIES,
    NotificationMessage,
    send_message,
)
from tarantula.streams.alerts import send_notifications
from tarantula.streams.alerts.notifications import _claim
from tarantula.streams.alerts.registry import delivery_problem
from tarantula.streams.ingest.type_change import edit_source
from tests.sites.listener import Listener
from tests.sites.mailbox import Mailbox
from tests.support.alerts import BEGIN, change, come, firings, new_alert, new_source

NOW = datetime.fromtimestamp(BEGIN / 1e6 + 3600, UTC)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


def fire(database: Database, source: int, second: int = 0) -> None:
    """Make an alert on wind above 3 fire."""
    come(database, source, second, wind=1)
    come(database, source, second + 1, wind=5)


def test_webhooks_and_mail_get_one_message_with_the_reason(database: Database, database_config: Config) -> None:
    with Listener() as hook, Mailbox() as mail:
        source = new_source(database)
        new_alert(database, "wind > 3", name="Storm", notify=[hook.address, mail.address])
        fire(database, source)
        tellers = [Thread(target=send_notifications, args=(database_config, database, NOW)) for _ in range(3)]
        for teller in tellers:
            teller.start()
        for teller in tellers:
            teller.join()
        (heard,) = hook.heard
        assert heard["title"] == "weather.lisboa: Storm"
        assert heard["message"].endswith("\nwind rose above 3: it was 1, it is 5.")
        (letter,) = mail.received
        assert (letter["Subject"], letter["To"]) == ("weather.lisboa: Storm", "ana@example.org")
    (firing,) = firings(database)
    assert (firing.news, firing.tell_at) == (None, None)


def test_texts_of_strangers_are_neither_html_nor_headers(config: Config) -> None:
    body = "price is <a href='http://evil.example/'>1 & {title} {{7*7}}</a>\nfor the second time"
    message = NotificationMessage("a <b>price</b>\r\nBcc: eva@example.org", body, "info")
    with Listener() as hook, Mailbox() as mail:
        assert send_message(config, message, mail.address)
        assert send_message(config, message, hook.address)
        (letter,), (heard,) = mail.received, hook.heard
    assert [part.get_content_type() for part in letter.walk()] == ["text/plain"]
    assert letter.get_payload(decode=True).decode().split("\r\n")[:2] == body.split("\n")  # type: ignore[union-attr]
    assert letter["Bcc"] is None
    assert heard["message"] == body


def test_pending_firings_share_a_message(sqlite: Database, config: Config) -> None:
    with Listener() as hook:
        source = new_source(sqlite)
        new_alert(sqlite, "wind > 3", notify=[hook.address])
        for second in range(0, 20, 2):
            fire(sqlite, source, second)
        assert send_notifications(config, sqlite, NOW) == 1
        (heard,) = hook.heard
        assert heard["message"].count("wind rose above 3") == 10


def test_a_failing_address_is_retried_and_does_not_affect_others(database: Database, database_config: Config) -> None:
    with Listener() as friend, Listener(status=500) as failing, Mailbox(refuses=True):
        source = new_source(database)
        new_alert(database, "wind > 3", notify=[failing.address, friend.address])
        fire(database, source)
        assert send_notifications(database_config, database, NOW) == 1
        fire(database, source, 10)
        assert len(firings(database)) == 2
        assert send_notifications(database_config, database, NOW + FIRST_RETRY_PAUSE / 2) == 1
        failing.status = 200
        assert send_notifications(database_config, database, NOW + FIRST_RETRY_PAUSE) == 1
        assert send_notifications(database_config, database, NOW + 10 * FIRST_RETRY_PAUSE) == 1
        assert send_notifications(database_config, database, NOW + 100 * FIRST_RETRY_PAUSE) == 0
        assert len(friend.heard) == 2
        assert len(failing.heard) == 4
    assert {firing.news for firing in firings(database)} == {None}


def test_an_address_is_given_up_after_all_tries_and_passwords_are_not_logged(
    sqlite: Database, config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    source, now, tries, problems = new_source(sqlite), NOW, 0, list[str]()
    with Mailbox(refuses=True) as mail:
        secret = "json://user:secret@127.0.0.1:1/"
        new_alert(sqlite, "wind > 3", notify=[mail.address, secret])
        fire(sqlite, source)
        with caplog.at_level(logging.WARNING, logger="tarantula"):
            while firings(sqlite)[0].tell_at is not None:
                now += timedelta(hours=1)
                tries += send_notifications(config, sqlite, now)
                problems.append(delivery_problem(firings(sqlite)[0]))
        assert mail.received == []
    assert tries == MAX_TRIES
    assert problems[0] == "json, mailto refused the message (1 of 6 tries so far)."
    assert problems[-1] == "json, mailto refused the message and was given up after 6 tries."
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("tarantula")]
    assert (
        len([words for words in ours if "weather.lisboa: wind > 3" in words and "could not be sent" in words])
        == 2 * MAX_TRIES
    )
    assert not any("secret" in words for words in ours)


def test_another_process_sends_what_a_dead_one_had_claimed(database: Database, database_config: Config) -> None:
    with Listener() as hook:
        source = new_source(database)
        new_alert(database, "wind > 3", notify=[hook.address])
        fire(database, source)
        assert _claim(database, NOW) is not None, "taken, and then killed"
        assert send_notifications(database_config, database, NOW) == 0
        assert send_notifications(database_config, database, NOW + CLAIM_TIMEOUT) == 1
        assert len(hook.heard) == 1


def test_no_message_is_sent_about_a_source_that_became_private(sqlite: Database, config: Config) -> None:
    with Listener() as hook:
        source = new_source(sqlite, owner="ana")
        number = new_alert(sqlite, "wind > 3", owner="rui", notify=[hook.address])
        fire(sqlite, source)
        with sqlite.session() as session:
            edit_source(session, "weather.lisboa", {"private": True})
        assert send_notifications(config, sqlite, NOW) == 0
        with sqlite.session() as session:
            edit_source(session, "weather.lisboa", {"private": False})
        fire(sqlite, source, 10)
        change(sqlite, number, 20, notify=[])
        assert send_notifications(config, sqlite, NOW) == 0
        assert hook.heard == []
