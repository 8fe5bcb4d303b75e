"""Stop, extend, resume and remove requests, and when they are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.reasons import ItemReason, Reason
from tarantula.core.states import ItemState
from tarantula.lifecycle.coordinator import reopen_item
from tarantula.lifecycle.removal import remove_item
from tarantula.lifecycle.supervisor import extend_item, stop_item
from tarantula.models import Document, Item, LinkRow, Publication, Server
from tests.support.command_result import Tarantula
from tests.support.item_lifecycles import NOON, change, finish_documents, item, join, new_item


@pytest.fixture
def urn(database: Database, database_config: Config) -> str:
    return new_item(database_config, database)


@pytest.mark.parametrize("state", ["waiting", "collecting", "converting"])
def test_an_item_without_a_process_stops_at_once(database: Database, urn: str, state: str) -> None:
    change(database, urn, state=state)
    assert stop_item(database, urn, NOON)
    stopped = item(database, urn)
    assert (stopped.state, stopped.reason, stopped.finished_at) == ("interrupted", Reason.of(ItemReason.STOPPED), NOON)
    assert stopped.news == {"kind": "interrupted", "why": "It was stopped by a user."}


def test_a_running_collector_gets_a_stop_request(database: Database, config: Config, urn: str) -> None:
    change(database, urn, state="collecting")
    join(database, urn)
    assert not stop_item(database, urn, NOON)
    assert not stop_item(database, urn, NOON + timedelta(hours=1))
    asked = item(database, urn)
    assert (asked.state, asked.stop_wanted_at) == ("collecting", NOON)
    with pytest.raises(TarantulaError, match="is being stopped"):
        reopen_item(config, database, urn)


@pytest.mark.parametrize("state", ["archived", "interrupted"])
def test_a_finished_item_cannot_be_stopped(database: Database, urn: str, state: str) -> None:
    change(database, urn, state=state)
    with pytest.raises(TarantulaError, match=f"Item {urn} is {state} and cannot become interrupted"):
        stop_item(database, urn, NOON)


@pytest.mark.parametrize(
    ("before", "text", "deadline"),
    [
        (None, "2d", NOON + timedelta(days=2)),
        (NOON + timedelta(days=1), "2d", NOON + timedelta(days=3)),
        (NOON - timedelta(days=1), "1h30m", NOON + timedelta(minutes=90)),
        (NOON + timedelta(days=1), "2027-06-01 14:00", NOON + timedelta(hours=1)),
        (None, "2027-06-01T14:00:00+00:00", NOON + timedelta(hours=2)),
    ],
)
def test_a_deadline_is_extended(
    database: Database, database_config: Config, urn: str, before: datetime, text: str, deadline: datetime
) -> None:
    change(database, urn, deadline=before)
    lisbon = database_config.model_copy(update={"timezone": "Europe/Lisbon"})
    assert extend_item(lisbon, database, urn, text, NOON) == deadline
    assert item(database, urn).deadline == deadline


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("2027-05-31 10:00", "2027-05-31 10:00:00 UTC is past. Give a deadline in the future."),
        ("0d", "A duration must be more than 0 seconds"),
        ("soon", "'soon' is not a duration"),
        ("2027-02-30", "There is no 2027-02-30 in the calendar."),
        ("36000d", None),
        ("99999-01-01", "is not a date"),
    ],
)
def test_a_past_or_invalid_deadline_is_refused(
    database: Database, database_config: Config, urn: str, text: str, sentence: str | None
) -> None:
    utc = database_config.model_copy(update={"timezone": "UTC"})
    if sentence is None:
        assert extend_item(utc, database, urn, text, NOON).year == 2125
        return
    before = item(database, urn).deadline
    with pytest.raises(TarantulaError, match=sentence):
        extend_item(utc, database, urn, text, NOON)
    assert item(database, urn).deadline == before


@pytest.mark.parametrize("state", ["archived", "converting"])
def test_a_finished_item_has_no_deadline_to_extend(
    database: Database, database_config: Config, urn: str, state: str
) -> None:
    change(database, urn, state=state)
    with pytest.raises(TarantulaError, match=f"Item {urn} is {state}: its deadline has no effect any more."):
        extend_item(database_config, database, urn, "2d", NOON)


def test_an_item_with_nothing_left_to_collect_resumes_with_conversion(
    database: Database, config: Config, urn: str
) -> None:
    change(database, urn, state="interrupted", crashes=3)
    assert reopen_item(config, database, urn) == ("fcul", ItemState.INTERRUPTED)
    finish_documents(database, urn)
    assert reopen_item(config, database, urn) == ("fcul", ItemState.CONVERTING)
    assert (item(database, urn).state, item(database, urn).crashes) == ("converting", 0)


def test_an_item_is_removed_with_its_files_and_its_rows(database: Database, database_config: Config, urn: str) -> None:
    kept = new_item(database_config, database, "kept")
    with database.session() as session:
        document = session.scalars(select(Document).where(Document.item_id == item(database, urn).id)).one()
        session.add(LinkRow(document_id=document.id, target=b"0" * 16, kind=0))
    for folder in (database_config.items, database_config.archived):
        (folder / urn / "deep").mkdir(parents=True)
        (folder / urn / "deep" / "file").write_text("kept")
    change(database, urn, state="interrupted")
    remove_item(database_config, database, urn)
    assert [path.name for path in database_config.items.iterdir()] == [kept]
    assert list(database_config.archived.iterdir()) == []
    with database.session() as session:
        assert session.scalars(select(Item.urn)).all() == [kept]
        assert session.scalar(select(func.count()).select_from(LinkRow)) == 0
        assert session.scalar(select(func.count()).select_from(Document)) == 1
        assert session.scalar(select(func.count()).select_from(Publication)) == 2
        assert session.scalar(select(func.count()).select_from(Server)) == 2


@pytest.mark.parametrize("state", ["waiting", "collecting", "converting"])
def test_an_active_item_is_not_removed(database: Database, database_config: Config, urn: str, state: str) -> None:
    change(database, urn, state=state)
    with pytest.raises(TarantulaError, match=f"is {state} and cannot be removed. Stop it first with"):
        remove_item(database_config, database, urn)
    assert item(database, urn).state == state


def test_the_stop_extend_and_resume_commands(
    sqlite_config: Config, sqlite: Database, tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = new_item(sqlite_config, sqlite, "done")
    finish_documents(sqlite, done)
    change(sqlite, done, state="interrupted")
    assert tarantula("item", "resume", done).code == 0
    assert item(sqlite, done).state == "archived"
    urn = new_item(sqlite_config, sqlite, "typed", max_duration="1h")
    assert "has time until" in tarantula("item", "extend", urn, "2d").out
    assert tarantula("item", "stop", urn).out == f"{urn} is interrupted.\n"
    again = tarantula("item", "stop", urn)
    assert (again.code, again.err) == (2, f"Item {urn} is interrupted and cannot become interrupted.\n")
    assert f"Continue it with `tarantula item resume {urn}`." in tarantula("item", "extend", urn, "2d").out
    past = tarantula("item", "extend", urn, "2020-01-01")
    assert (past.code, past.err.endswith("is past. Give a deadline in the future.\n")) == (2, True)
    monkeypatch.setattr("sys.stdin", None)
    unsure = tarantula("item", "remove", urn)
    assert unsure.code != 0
    assert item(sqlite, urn).state == "interrupted"
    assert tarantula("item", "remove", urn, "--yes").out == f"{urn} is removed.\n"
    for verb in (["stop"], ["resume"], ["extend"], ["remove", "--yes"]):
        arguments = [*verb, urn, *(["2d"] if verb == ["extend"] else [])]
        refused = tarantula("item", *arguments)
        assert refused.code == 2
        assert refused.err.startswith(f"There is no item {urn!r}. Did you mean done-")


def test_a_removal_is_confirmed_by_name(
    sqlite_config: Config, sqlite: Database, tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = new_item(sqlite_config, sqlite, "asked")
    stop_item(sqlite, urn, datetime.now(UTC))
    typed = iter(["yes", urn])
    monkeypatch.setattr("typer.prompt", lambda *_: next(typed))
    refused = tarantula("item", "remove", urn)
    destroyed = f"The removal of {urn} destroys 1 documents and 0 decisions.\n"
    assert (refused.code, refused.err) == (2, f"{destroyed}That is not {urn}: nothing was removed.\n")
    assert tarantula("item", "remove", urn).code == 0
