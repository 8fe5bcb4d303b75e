"""The daemon: due publications are collected, converted and archived without a command."""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest
from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.lifecycle.coordinator import prepare_item
from tarantula.lifecycle.processes import PROCESS_LOG, LocalProcessStarter
from tarantula.models import Collector, Item
from tests.sites.drawing import page
from tests.sites.listener import Listener
from tests.sites.server import Answer, Web
from tests.support.crawls import describe, interrupt, run, start, states, wait_until
from tests.support.waits import TIMEOUT_SECONDS

KINDS = ["sqlite", "postgresql"] if os.environ.get("TARANTULA_FULL_SIZE") else ["sqlite"]
DAEMON = [sys.executable, "scheduler.py"]


def only(database: Database) -> Item | None:
    with database.reading() as session:
        return session.scalars(select(Item)).one_or_none()


def is_in(database: Database, state: str) -> bool:
    found = only(database)
    return found is not None and found.state == state


@pytest.mark.parametrize("database_config", KINDS, indirect=True)
def test_a_due_item_is_archived_although_collector_and_daemon_are_killed(
    database: Database, config: Config, web: Web, gate: Event
) -> None:
    start_at = datetime.now(UTC) - timedelta(minutes=1)
    with Listener() as listener:
        describe(
            database, "due", base_url=web.url(), robots=False, every="monthly", start=start_at,
            notify=[listener.address],
        )  # fmt: skip
        daemon = start(DAEMON, TARANTULA_RETRY_PAUSE="0.1")
        wait_until(lambda: bool(web.visits_to("/slow")), daemon)
        interrupt(daemon, signal.SIGKILL)
        daemon = start(DAEMON, TARANTULA_RETRY_PAUSE="0.1")
        with database.reading() as session:
            pid = session.scalars(select(Collector.pid)).one()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: getattr(only(database), "crashes", 0) == 1, daemon)
        wait_until(lambda: len(web.visits_to("/slow")) == 2, daemon)
        gate.set()
        wait_until(lambda: is_in(database, "archived") and bool(listener.heard), daemon)
        daemon.send_signal(signal.SIGTERM)
        out, err = daemon.communicate(timeout=TIMEOUT_SECONDS)
    item = only(database)
    assert item is not None
    assert (daemon.returncode, err) == (0, ""), out + err
    assert item.urn == f"due-{start_at:%Y%m%dT%H%M%S}"
    assert "The daemon stops" in out
    assert f"A process of {item.urn} crashed (1 so far)" in out
    assert listener.titles() == [f"{item.urn} is archived"]
    assert set(states(database).values()) == {200}
    assert (config.archived / item.urn).is_dir()
    assert len(web.visits_to("/")) == 1


def test_the_daemon_reports_in_one_line_why_it_cannot_start(config: Config) -> None:
    code, out, err = run(*DAEMON, TARANTULA_DATABASE_URL="mysql://nobody")
    assert (code, out) == (2, "")
    assert err.startswith("TARANTULA_DATABASE_URL is not the URL of a supported database.")
    code, out, err = run(*DAEMON, TARANTULA_TIMEZONE="Europe/Lisboa")
    assert (code, out) == (2, "")
    assert err.startswith("TARANTULA_TIMEZONE: 'Europe/Lisboa' is not a time zone. Did you mean Europe/Lisbon")


def test_a_publication_is_collected_whatever_its_name_is(sqlite: Database, config: Config) -> None:
    """An item is started by its urn: a publication called like the stream reader does not start that."""
    with Web({"/": Answer(page("Base"))}) as web:
        describe(sqlite, "streams", base_url=web.url(), robots=False)
        urn = prepare_item(config, "streams")
        starter = LocalProcessStarter(config)
        starter.start(urn, ItemState.WAITING)
        assert starter.wait_all(TIMEOUT_SECONDS) == []
    assert is_in(sqlite, "archived"), (config.items / urn / PROCESS_LOG).read_text()
    assert [visit.path for visit in web.visits] == ["/"]
