"""Notification that a source is missing: once, after the configured number of misses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.publications.notifications import CLAIM_TIMEOUT, FIRST_RETRY_PAUSE
from tarantula.streams.ingest.failures import _claim, send_miss_notifications
from tarantula.streams.ingest.value_typing import FailedReading
from tarantula.streams.sources.config import SourceStatus
from tests.sites.listener import Listener
from tests.support.sources import follow, ingest, one, state_of

AWAY = FailedReading(SourceStatus.UNREACHED, "Its server did not answer.")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


def test_one_message_is_sent_and_another_only_after_a_successful_reading(
    database: Database, database_config: Config
) -> None:
    now = datetime.now(UTC)
    with Listener() as own, Listener() as everywhere:
        installation = database_config.model_copy(update={"notify": everywhere.address})
        source = follow(database, misses=2, notify=[own.address])
        ingest(database, source, one("12"))
        ingest(database, source, AWAY, 1)
        assert send_miss_notifications(installation, database, now) == 0
        ingest(database, source, AWAY, 2)
        assert send_miss_notifications(installation, database, now) == 1
        ingest(database, source, AWAY, 3)
        assert send_miss_notifications(installation, database, now) == 0
        for listener in (own, everywhere):
            (message,) = listener.heard
            assert message["title"] == "weather.lisboa can no longer be found"
            assert message["message"] == AWAY.sentence
        ingest(database, source, one("12"), 4)
        ingest(database, source, AWAY, 5)
        ingest(database, source, AWAY, 6)
        assert send_miss_notifications(installation, database, now) == 1
        assert len(own.heard) == 2


def test_a_failing_address_is_retried(database: Database, database_config: Config) -> None:
    now = datetime.now(UTC)
    with Listener(status=500) as deaf, Listener() as well:
        source = follow(database, misses=1, notify=[deaf.address, well.address, "json://127.0.0.1:1/"])
        ingest(database, source, AWAY)
        assert send_miss_notifications(database_config, database, now) == 1
        assert send_miss_notifications(database_config, database, now) == 0
        assert send_miss_notifications(database_config, database, now + FIRST_RETRY_PAUSE + timedelta(seconds=1)) == 1
        assert len(well.heard) == 1
        assert len(deaf.heard) == 2
        ingest(database, source, one("12"), 1)
    assert state_of(database).news is None


def test_another_process_sends_what_a_dead_one_had_claimed(database: Database, database_config: Config) -> None:
    now = datetime.now(UTC)
    with Listener() as hook:
        source = follow(database, misses=1, notify=[hook.address])
        ingest(database, source, AWAY)
        assert _claim(database_config, database, now) is not None, "taken, and then killed"
        assert send_miss_notifications(database_config, database, now) == 0
        assert send_miss_notifications(database_config, database, now + CLAIM_TIMEOUT) == 1
        assert len(hook.heard) == 1
    assert state_of(database).news is None


def test_the_addresses_of_the_installation_get_nothing_about_private_sources(
    database: Database, database_config: Config
) -> None:
    with Listener() as everywhere:
        installation = database_config.model_copy(update={"notify": everywhere.address})
        source = follow(database, "test.bank", misses=1, private=True)
        ingest(database, source, AWAY)
        send_miss_notifications(installation, database, datetime.now(UTC))
        assert everywhere.heard == []
