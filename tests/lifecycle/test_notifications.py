"""Notifications are sent once to each address, and failures do not affect the item."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.lifecycle.coordinator import complete_item
from tarantula.lifecycle.notifications import check_notify_addresses, send_item_notices
from tarantula.lifecycle.supervisor import stop_item
from tarantula.publications.config import read_config
from tarantula.publications.notifications import FIRST_RETRY_PAUSE, MAX_TRIES
from tests.sites.listener import Listener
from tests.support.item_lifecycles import change, finish_documents, item, new_item


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


def test_publication_and_installation_addresses_are_notified_once(database: Database, database_config: Config) -> None:
    with Listener() as publication, Listener() as everywhere:
        installation = database_config.model_copy(update={"notify": everywhere.address})
        urn = new_item(database_config, database, notify=[publication.address, everywhere.address])
        stop_item(database, urn, datetime.now(UTC))
        tellers = [Thread(target=send_item_notices, args=(installation, database)) for _ in range(3)]
        for teller in tellers:
            teller.start()
        for teller in tellers:
            teller.join()
        for listener in (publication, everywhere):
            (message,) = listener.heard
            assert message["title"] == f"{urn} was interrupted"
            assert message["message"] == "It was stopped by a user. 0 documents collected, 0 bytes."
            assert message["type"] == "warning"
    assert item(database, urn).news is None


def test_an_archived_item_is_notified(database: Database, database_config: Config) -> None:
    with Listener() as listener:
        urn = new_item(database_config, database, notify=[listener.address])
        finish_documents(database, urn)
        change(database, urn, state="converting")
        assert not complete_item(database_config, urn)
        assert not complete_item(database_config, urn)
        assert listener.titles() == [f"{urn} is archived"]
        assert listener.heard[0]["message"] == "1 document collected, 0 bytes."
    assert (database_config.archived / urn).is_dir()
    assert item(database, urn).state == "archived"


def test_a_failed_notification_does_not_affect_the_item(
    database: Database, database_config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    with Listener(status=500) as deaf:
        addresses = [deaf.address, "json://user:secret@127.0.0.1:1/"]
        urn = new_item(database_config, database, notify=addresses)
        stop_item(database, urn, datetime.now(UTC))
        with caplog.at_level(logging.WARNING, logger="tarantula"):
            assert send_item_notices(database_config, database) == 1
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("tarantula")]
    assert len([words for words in ours if f"'{urn} was interrupted' could not be sent" in words]) == 2
    assert not any("secret" in words for words in ours)
    assert item(database, urn).state == "interrupted"
    assert send_item_notices(database_config, database) == 0


def test_failed_addresses_are_retried_and_none_is_notified_twice(database: Database, database_config: Config) -> None:
    now = datetime.now(UTC)
    with Listener() as friend, Listener(status=500) as deaf:
        urn = new_item(database_config, database, notify=[friend.address, deaf.address])
        stop_item(database, urn, now)
        assert send_item_notices(database_config, database, now=now) == 1
        assert send_item_notices(database_config, database, now=now + FIRST_RETRY_PAUSE / 2) == 0
        deaf.status = 200
        assert send_item_notices(database_config, database, now=now + FIRST_RETRY_PAUSE) == 1
        assert send_item_notices(database_config, database, now=now + 100 * FIRST_RETRY_PAUSE) == 0
        assert friend.titles() == [f"{urn} was interrupted"]
        assert deaf.titles()[-1:] == [f"{urn} was interrupted"]
    assert item(database, urn).news is None


def test_an_address_is_given_up_after_the_last_try(sqlite: Database, config: Config) -> None:
    urn, now, tries = new_item(config, sqlite, notify=["json://127.0.0.1:1/"]), datetime.now(UTC), 0
    stop_item(sqlite, urn, now)
    while item(sqlite, urn).news is not None:
        now += timedelta(hours=1)
        tries += send_item_notices(config, sqlite, now=now)
    assert tries == MAX_TRIES


@pytest.mark.parametrize("address", ["nowhere", "nothing://host", "mailto://"])
def test_invalid_addresses_are_refused(address: str, config: Config) -> None:
    with pytest.raises(TarantulaError, match=r"Apprise does not support addresses|begins with a service"):
        read_config({"name": "fcul", "base_url": "http://www.fc.ul.pt/", "notify": address})
    with pytest.raises(
        TarantulaError, match=r"TARANTULA_NOTIFY: (?:Apprise does not support|A notification address begins)"
    ):
        check_notify_addresses(config.model_copy(update={"notify": address}))
