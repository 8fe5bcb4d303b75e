"""The fixity schedule of a daemon: each file of its home within the period, one at a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import monotonic

import pytest
from sqlalchemy import select, update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.lifecycle import verification
from tarantula.lifecycle.verification import FixitySchedule
from tarantula.models import Item, WarcFile, WarcFileState
from tarantula.store.listings import find_item
from tests.support.archived_items import archive, page
from tests.support.file_faults import make_unopenable
from tests.support.waits import eventually

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


def archived(database: Database, config: Config, number: int = 2) -> list[str]:
    """Store items of one file each, which were never read back."""
    urns = [archive(database, config, [page(str(one), b"<p>%d" % one)], months=one) for one in range(number)]
    with database.session() as session:
        for urn in urns:
            item = find_item(session, urn)
            known = session.scalar(select(WarcFile).where(WarcFile.item_id == item.id))
            (path,) = (config.items / urn / "archive").glob("*.warc.gz")
            if known is None:
                session.add(WarcFile(item_id=item.id, name=path.name, state="closed", created_at=NOW))
    return urns


def checks(database: Database) -> dict[str, datetime | None]:
    with database.reading() as session:
        rows = session.execute(select(Item.urn, WarcFile.checked_at).join(Item, Item.id == WarcFile.item_id))
        return dict(rows.all())


def set_check(database: Database, urn: str, checked_at: datetime) -> None:
    with database.session() as session:
        item_id = find_item(session, urn).id
        session.execute(update(WarcFile).where(WarcFile.item_id == item_id).values(checked_at=checked_at))


def with_period(config: Config, period: str) -> Config:
    return config.model_copy(update={"fixity_period": period, "fixity_rate": 1000.0})


def test_files_that_were_never_read_come_first_and_at_once(database: Database, database_config: Config) -> None:
    urns = archived(database, database_config)
    schedule = FixitySchedule(with_period(database_config, "365d"), database)
    assert [schedule.check_next(NOW) for _ in range(3)] == [True, True, False]
    assert None not in checks(database).values()
    with database.reading() as session:
        assert [find_item(session, urn).verified_at is not None for urn in urns] == [True, True]
        assert set(session.scalars(select(WarcFile.state))) == {WarcFileState.VERIFIED}


def test_the_others_are_spread_evenly_and_none_is_late(database: Database, database_config: Config) -> None:
    first, second = archived(database, database_config)
    begin = datetime.now(UTC)
    set_check(database, first, begin - 40 * DAY)
    set_check(database, second, begin - 30 * DAY)
    schedule = FixitySchedule(with_period(database_config, "100d"), database)
    assert not schedule.check_next(begin + 49 * DAY)
    assert schedule.check_next(begin + 51 * DAY)
    assert (checks(database)[first] or begin) >= begin
    # One of two files a period of 100 days is one every 50 days, but the second is late after 65 days.
    assert not schedule.check_next(begin + 64 * DAY)
    assert schedule.check_next(begin + 66 * DAY)
    assert (checks(database)[second] or begin) >= begin
    assert not schedule.check_next(begin + 67 * DAY)


def test_only_closed_files_of_ended_items_of_this_home_are_read(database: Database, database_config: Config) -> None:
    running, interrupted, elsewhere = archived(database, database_config, 3)
    with database.session() as session:
        find_item(session, running).state = ItemState.COLLECTING
        item = find_item(session, interrupted)
        item.state = ItemState.INTERRUPTED
        session.execute(update(WarcFile).where(WarcFile.item_id == item.id).values(state=WarcFileState.OPEN))
        find_item(session, elsewhere).home_id = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
    assert not FixitySchedule(with_period(database_config, "1d"), database).check_next(NOW)


def test_a_loss_is_noticed_and_reported(database: Database, database_config: Config) -> None:
    (urn,) = archived(database, database_config, 1)
    for path in (database_config.items / urn / "archive").glob("*"):
        path.unlink()
    with database.session() as session:
        find_item(session, urn).indicators = None
    assert FixitySchedule(with_period(database_config, "1d"), database).check_next(NOW)
    with database.reading() as session:
        assert session.scalars(select(WarcFile.state)).all() == [WarcFileState.MISSING]


def test_a_file_that_cannot_be_opened_does_not_stop_the_others_and_is_tried_again(
    sqlite: Database, config: Config, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = archived(sqlite, config)
    (path,) = (config.items / first / "archive").glob("*.warc.gz")
    whole = path.read_bytes()
    make_unopenable(path)
    schedule = FixitySchedule(with_period(config, "1d"), sqlite)
    assert [schedule.check_next(NOW) for _ in range(3)] == [True, True, False]
    assert (checks(sqlite)[first], checks(sqlite)[second] is None) == (None, False)
    assert f"{path} cannot be read (File name too long). Correct this, and verify again." in caplog.messages
    path.unlink()
    path.write_bytes(whole)
    assert not schedule.check_next(NOW)
    monkeypatch.setattr(verification, "monotonic", lambda: monotonic() + verification.UNREADABLE_PAUSE_SECONDS)
    assert schedule.check_next(NOW)
    assert checks(sqlite)[first] is not None


def test_the_thread_reads_files_and_one_of_two_daemons_does_it(
    sqlite: Database, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "POLL_SECONDS", 0.01)
    urns = archived(sqlite, config)
    with FixitySchedule(with_period(config, "1d"), sqlite) as first:
        eventually(lambda: None not in checks(sqlite).values())
        with FixitySchedule(with_period(config, "1d"), sqlite) as second:
            eventually(lambda: second.is_waiting)
            assert not first.is_waiting
        set_check(sqlite, urns[0], NOW - 2 * DAY)
        eventually(lambda: (checks(sqlite)[urns[0]] or NOW) > NOW)


def test_a_stopping_daemon_does_not_finish_the_file(sqlite: Database, config: Config) -> None:
    archived(sqlite, config)
    slow = config.model_copy(update={"fixity_rate": 0.000001})
    with FixitySchedule(slow, sqlite) as schedule:
        eventually(lambda: schedule.is_reading)
    assert set(checks(sqlite).values()) == {None}


@pytest.mark.parametrize(("text", "seconds"), [("", None), ("0", None), ("10d", 864_000), ("90", 90)])
def test_the_period_is_a_duration(
    config: Config, monkeypatch: pytest.MonkeyPatch, text: str, seconds: int | None
) -> None:
    monkeypatch.setenv("TARANTULA_FIXITY_PERIOD", text)
    assert Config().fixity_seconds == seconds


def test_a_wrong_period_is_refused(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARANTULA_FIXITY_PERIOD", "often")
    with pytest.raises(TarantulaError, match="TARANTULA_FIXITY_PERIOD: 'often' is not a duration"):
        Config()
