"""Verification of stored files: what is lost is counted exactly, reported, and forgotten when it is readable again."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select, update

from tarantula.archive.damage import list_damage
from tarantula.archive.fixity import ReadRate, verify_item
from tarantula.archive.quality.indicators import store_indicators
from tarantula.archive.quality.validation import ItemDecision, decide_item, list_decisions
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.states import ItemState, Validation
from tarantula.models import BodyDamage, BodyProblem, Document, Item, WarcFile, WarcFileState
from tarantula.store import warc_positions
from tarantula.store.listings import (
    attention_reasons,
    find_item,
    fired_effects,
    is_complete,
    is_undecided,
    item_rows,
)
from tarantula.store.transitions import change_state
from tarantula.store.warc_files import ReadBack, files_of_item
from tests.support.archived_items import BASE, NAMES, SENT, archive, page
from tests.support.command_result import Tarantula
from tests.support.contexts import audit_entries
from tests.support.exchanges import ANSWERS
from tests.support.file_faults import make_unopenable

Damage = Callable[[Path], object]


def files_of(config: Config, urn: str) -> list[Path]:
    return sorted((config.items / urn / "archive").glob("*.warc.gz"))


def records(database: Database, urn: str) -> list[tuple[int, int, int, str]]:
    """Return offset, length, document id and URL of the item's documents, in file order."""
    with database.reading() as session:
        rows = session.execute(
            select(Document.warc_offset, Document.warc_length, Document.id, Document.url)
            .where(Document.item_id == find_item(session, urn).id, Document.warc.is_not(None))
            .order_by(Document.warc_offset)
        )
        return [tuple(row) for row in rows]  # type: ignore[misc]


def damage_rows(database: Database) -> list[tuple[int, str]]:
    with database.reading() as session:
        rows = session.execute(select(BodyDamage.document_id, BodyDamage.problem).order_by(BodyDamage.warc_offset))
        return [tuple(row) for row in rows]  # type: ignore[misc]


def item_of(database: Database, urn: str) -> Item:
    with database.reading() as session:
        return find_item(session, urn)


def stored_file(database: Database, urn: str) -> WarcFile:
    with database.reading() as session:
        return session.scalars(select(WarcFile).join(Item, Item.id == WarcFile.item_id).where(Item.urn == urn)).one()


def with_indicators(database: Database, urn: str) -> None:
    with database.session() as session:
        store_indicators(session, find_item(session, urn))


def decide(database: Database, urn: str, validation: Validation = Validation.VALID) -> ItemDecision:
    with database.session() as session:
        return decide_item(session, urn, validation, by="Ana Sá", why="Seen.", anyway=True)


def overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def test_a_sound_item_is_verified_and_complete(database: Database, database_config: Config) -> None:
    urn = archive(database, database_config)
    before = item_of(database, urn)
    assert not is_complete(before, fired_effects(before))
    check = verify_item(database_config, database, urn)
    (path,) = files_of(database_config, urn)
    assert [(file.name, file.state, file.size, file.problem, file.lost) for file in check.files] == [
        (path.name, "verified", path.stat().st_size, "", 0)
    ]
    assert (check.is_whole, check.unknown, check.unread, check.lost_bodies) == (True, [], [], 0)
    file, item = stored_file(database, urn), item_of(database, urn)
    assert (file.state, file.size, file.records) == ("verified", path.stat().st_size, 1 + 2 * len(NAMES))
    assert file.checked_at is not None
    assert item.verified_at == file.checked_at
    assert is_complete(item, fired_effects(item))


@pytest.mark.parametrize("rows_in_memory", [1, 2, 1000])
def test_boundaries_are_those_of_all_rows_in_order(
    database: Database, database_config: Config, rows_in_memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warc_positions, "ROWS_IN_MEMORY", rows_in_memory)
    monkeypatch.setattr(warc_positions, "REGION_BITS", 8)
    urn = archive(database, database_config)
    (path,) = files_of(database_config, urn)
    with warc_positions.ItemPositions(database, item_of(database, urn).id) as rows:
        assert rows.names == {path.name}
        expected = [(one.offset << 1, one.offset + one.length << 1 | 1) for one in rows.positions(path.name)]
        assert list(rows.boundaries(path.name)) == sorted(value for pair in expected for value in pair)
        assert list(rows.boundaries("other.warc.gz")) == []
    assert verify_item(database_config, database, urn).is_whole
    assert verify_item(database_config, database, urn).is_whole


@pytest.mark.parametrize("wrong", [-1, 1, 1 << 40])
def test_a_row_that_does_not_name_its_record_is_found_although_the_file_is_as_it_was(
    database: Database, database_config: Config, wrong: int
) -> None:
    urn = archive(database, database_config)
    assert verify_item(database_config, database, urn).is_whole
    offset, _, document_id, _ = records(database, urn)[2]
    with database.session() as session:
        session.execute(update(Document).where(Document.id == document_id).values(warc_offset=offset + wrong))
    check = verify_item(database_config, database, urn)
    assert (check.files[0].state, check.files[0].lost) == ("damaged", 1)
    assert [found for found, _ in damage_rows(database)] == [document_id]


@pytest.mark.parametrize("known", [False, True], ids=["first time", "again"])
@pytest.mark.parametrize("number", [0, 2, 4])
def test_a_flipped_byte_loses_one_body(database: Database, database_config: Config, number: int, known: bool) -> None:
    urn = archive(database, database_config)
    if known:
        assert verify_item(database_config, database, urn).is_whole
    with_indicators(database, urn)
    (path,) = files_of(database_config, urn)
    offset, length, document_id, url = records(database, urn)[number]
    whole = path.read_bytes()
    overwrite(path, offset + length // 2, bytes([whole[offset + length // 2] ^ 0x10]))
    check = verify_item(database_config, database, urn)
    assert (check.is_whole, check.lost_bodies, check.files[0].state, check.files[0].lost) == (False, 1, "damaged", 1)
    assert damage_rows(database) == [(document_id, BodyProblem.UNREADABLE)]
    item = item_of(database, urn)
    assert item.indicators is not None
    assert (item.indicators["missing_bodies"], item.indicators["damaged_files"]) == (1, 1)
    assert [(rule["rule"], rule["effect"]) for rule in item.attention or ()] == [
        ("missing-bodies > 0", "incomplete"),
        ("damaged-files > 0", "attention"),
    ]
    assert not is_complete(item, fired_effects(item))
    assert item.news is not None
    assert item.news["kind"] == "attention"
    with database.reading() as session:
        (body,) = list_damage(session, item, 10)
    assert (body.document_id, body.url, body.warc, body.offset) == (document_id, url, path.name, offset)

    path.write_bytes(whole)
    assert verify_item(database_config, database, urn).is_whole
    item = item_of(database, urn)
    assert damage_rows(database) == []
    assert item.indicators is not None
    assert (item.indicators["missing_bodies"], item.attention) == (0, [])
    assert is_complete(item, fired_effects(item))


def test_a_decision_stays_and_damage_that_is_found_later_needs_attention(
    database: Database, database_config: Config
) -> None:
    urn = archive(database, database_config)
    verify_item(database_config, database, urn)
    decided = decide(database, urn)
    (path,) = files_of(database_config, urn)
    whole = path.read_bytes()
    overwrite(path, records(database, urn)[0][0], b"\0")
    verify_item(database_config, database, urn)
    item = item_of(database, urn)
    assert item.validation == Validation.VALID
    assert item.later_damage is not None
    assert item.later_damage["parameters"].items() >= {
        ("by", "Ana Sá"),
        ("decided_at", f"{decided.at:%Y-%m-%d %H:%M}"),
    }
    first, *others = map(str, attention_reasons(item))
    assert re.fullmatch(
        r"Damage was found at 20\d\d-\d\d-\d\d \d\d:\d\d UTC, after Ana Sá accepted the item at [\d: -]+ UTC\.", first
    )
    assert others == [
        "1 stored bodies could not be read back (missing-bodies > 0).",
        "1 WARC files are missing or damaged (damaged-files > 0).",
    ]
    assert item.news == {"kind": "attention", "why": " ".join([first, *others])}
    with database.reading() as session:
        assert [one.validation for one in list_decisions(session, find_item(session, urn))] == ["valid"]
        assert session.scalars(select(Item.urn).where(is_undecided())).all() == [urn]

    # A person who accepts it as it is has seen the damage; only further damage is reported.
    decide(database, urn)
    verify_item(database_config, database, urn)
    assert (item_of(database, urn).later_damage, attention_reasons(item_of(database, urn))) == (None, [])
    overwrite(path, records(database, urn)[1][0], b"\0")
    verify_item(database_config, database, urn)
    assert item_of(database, urn).later_damage is not None
    path.write_bytes(whole)
    verify_item(database_config, database, urn)
    item = item_of(database, urn)
    assert (item.validation, item.later_damage, attention_reasons(item)) == (Validation.VALID, None, [])


def test_a_rejected_item_stays_rejected(database: Database, database_config: Config) -> None:
    urn = archive(database, database_config)
    decide(database, urn, Validation.REJECTED)
    files_of(database_config, urn)[0].unlink()
    verify_item(database_config, database, urn)
    item = item_of(database, urn)
    assert (item.validation, item.later_damage, attention_reasons(item)) == (Validation.REJECTED, None, [])
    assert (item.news or {})["kind"] == "attention"


def test_an_interrupted_item_is_verified_and_says_so(database: Database, database_config: Config) -> None:
    urn = archive(database, database_config)
    (path,) = files_of(database_config, urn)
    verify_item(database_config, database, urn)
    with database.session() as session:
        item = find_item(session, urn)
        item.state = ItemState.INTERRUPTED
        item.verified_at = None
        session.execute(update(WarcFile).values(state=WarcFileState.CLOSED))
        (row,) = item_rows(session, [item])
    size = path.stat().st_size
    assert (row.verified_at, row.read_back, row.complete) == (None, ReadBack(done=0, total=size), False)
    verify_item(database_config, database, urn)
    with database.session() as session:
        item = find_item(session, urn)
        (row,) = item_rows(session, [item])
        assert (row.verified_at, row.read_back, row.complete) == (item.verified_at, None, False)
        assert row.verified_at is not None
        # Collected further, it has to be verified again.
        change_state(item, ItemState.COLLECTING, datetime.now(UTC))
        (row,) = item_rows(session, [item])
    assert (row.verified_at, row.read_back) == (None, None)


def test_bytes_that_were_read_back_are_counted_while_an_item_is_verified(
    database: Database, database_config: Config
) -> None:
    urn = archive(database, database_config)
    with database.session() as session:
        item = find_item(session, urn)
        item.state = ItemState.CONVERTING
        for number in range(2):
            name = f"{urn}-{number}.warc.gz"
            session.add(WarcFile(item_id=item.id, name=name, state="closed", size=100, created_at=datetime.now(UTC)))
            (database_config.items / urn / "archive" / name).write_bytes(bytes(100))
    seen: list[ReadBack | None] = []

    def look(_number: int) -> None:
        with database.reading() as session:
            seen.append(item_rows(session, [find_item(session, urn)])[0].read_back)

    verify_item(database_config, database, urn, limiter=look)
    assert list(dict.fromkeys(one.done for one in seen if one is not None)) == [0, 100, 200]
    assert item_of(database, urn).verified_at is not None


def test_a_second_check_keeps_the_date_and_says_nothing_again(
    database: Database, database_config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    urn = archive(database, database_config)
    with_indicators(database, urn)
    (path,) = files_of(database_config, urn)
    path.unlink()
    verify_item(database_config, database, urn)
    with database.session() as session:
        first = session.scalars(select(BodyDamage.found_at)).all()
        session.execute(update(Item).values(news=None))
    verify_item(database_config, database, urn)
    with database.reading() as session:
        assert session.scalars(select(BodyDamage.found_at)).all() == first
    assert item_of(database, urn).news is None
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        f"{path.name} of {urn}: The file is missing. {len(NAMES)} bodies are lost."
    ]


@pytest.mark.parametrize("known", [False, True], ids=["first time", "again"])
def test_a_truncated_file_loses_what_was_behind(database: Database, database_config: Config, known: bool) -> None:
    urn = archive(database, database_config)
    if known:
        verify_item(database_config, database, urn)
    (path,) = files_of(database_config, urn)
    rows = records(database, urn)
    overwritten = path.read_bytes()[: rows[2][0] + 5]
    path.write_bytes(overwritten)
    assert verify_item(database_config, database, urn).lost_bodies == 3
    assert damage_rows(database) == [(row[2], BodyProblem.TRUNCATED) for row in rows[2:]]


def test_a_missing_file_loses_all(database: Database, database_config: Config) -> None:
    urn = archive(database, database_config)
    (path,) = files_of(database_config, urn)
    path.unlink()
    check = verify_item(database_config, database, urn)
    assert (check.files[0].state, check.files[0].size, check.lost_bodies) == ("missing", None, len(NAMES))
    assert damage_rows(database) == [(row[2], BodyProblem.MISSING) for row in records(database, urn)]


def test_a_zeroed_region_loses_the_records_that_it_touches(database: Database, database_config: Config) -> None:
    urn = archive(database, database_config)
    verify_item(database_config, database, urn)
    (path,) = files_of(database_config, urn)
    rows = records(database, urn)
    begin, end = rows[1][0] + 10, rows[2][0] + 10
    overwrite(path, begin, bytes(end - begin))
    assert verify_item(database_config, database, urn).lost_bodies == 2
    assert damage_rows(database) == [(row[2], BodyProblem.UNREADABLE) for row in rows[1:3]]


def test_two_exchanged_files_lose_their_bodies(database: Database, database_config: Config) -> None:
    first = archive(database, database_config, [page("a", b"<p>1"), page("b", b"<p>2")])
    second = archive(database, database_config, [page("c", b"<p>3"), page("d", b"<p>4")], months=1)
    for urn in (first, second):
        verify_item(database_config, database, urn)
    (one,), (other,) = files_of(database_config, first), files_of(database_config, second)
    content = one.read_bytes()
    shutil.copy(other, one)
    other.write_bytes(content)
    for urn in (first, second):
        check = verify_item(database_config, database, urn)
        assert (check.files[0].state, check.lost_bodies) == ("damaged", 2)


def test_appended_bytes_are_damage_without_a_lost_body(database: Database, database_config: Config) -> None:
    urn = archive(database, database_config)
    verify_item(database_config, database, urn)
    with_indicators(database, urn)
    (path,) = files_of(database_config, urn)
    path.write_bytes(path.read_bytes() + b"garbage")
    check = verify_item(database_config, database, urn)
    assert (check.is_whole, check.lost_bodies, check.files[0].lost) == (False, 0, 0)
    item = item_of(database, urn)
    assert [rule["rule"] for rule in item.attention or ()] == ["damaged-files > 0"]
    assert is_complete(item, fired_effects(item))


def test_a_later_item_is_told_that_its_body_is_lost_and_another_capture_is_named(
    database: Database, database_config: Config
) -> None:
    sent = [page("", b""), page("other", b"<p>something else")]
    first = archive(database, database_config, sent)
    second = archive(database, database_config, sent, after=first, months=1)
    third = archive(database, database_config, sent, months=2)
    for urn in (first, second, third):
        verify_item(database_config, database, urn)
        with_indicators(database, urn)
    (path,) = files_of(database_config, first)
    offset, length, lost, _ = records(database, first)[0]
    overwrite(path, offset, bytes(length))
    assert verify_item(database_config, database, first).lost_bodies == 1
    items = {urn: item_of(database, urn) for urn in (first, second, third)}
    assert {urn: (item.indicators or {})["missing_bodies"] for urn, item in items.items()} == {
        first: 1,
        second: 1,
        third: 0,
    }
    assert not is_complete(items[second], fired_effects(items[second]))
    with database.reading() as session:
        for urn in (first, second):
            (body,) = list_damage(session, items[urn], 10)
            assert (body.url, body.offset, body.problem) == (BASE, offset, BodyProblem.UNREADABLE)
            assert [(other.urn, other.url) for other in body.others] == [(third, BASE)]
    shutil.copy(path, path.with_suffix(".kept"))
    overwrite(path, 0, b"")
    assert damage_rows(database) == [(lost, BodyProblem.UNREADABLE)]


def test_an_interrupted_verification_continues(database: Database, database_config: Config) -> None:
    config = database_config.model_copy(update={"warc_size": 1})
    urns = [archive(database, config, [page(str(number), b"<p>%d" % number)], months=number) for number in range(2)]
    for urn in urns:
        verify_item(config, database, urn)

    class Stop(Exception):
        pass

    def stop(_number: int) -> None:
        raise Stop

    begin = datetime.now(UTC)
    verify_item(config, database, urns[0])
    with pytest.raises(Stop):
        verify_item(config, database, urns[1], limiter=stop)
    again = [verify_item(config, database, urn, since=begin) for urn in urns]
    assert [(check.already, len(check.files)) for check in again] == [(1, 0), (0, 1)]
    assert all(check.is_whole for check in again)


def test_files_without_rows_and_open_files_are_reported(database: Database, database_config: Config) -> None:
    urn = archive(database, database_config)
    (path,) = files_of(database_config, urn)
    extra = shutil.copy(path, path.with_name("another.warc.gz"))
    assert verify_item(database_config, database, urn).unknown == [Path(extra).name]
    with database.session() as session:
        find_item(session, urn).state = ItemState.INTERRUPTED
        session.execute(update(WarcFile).values(state=WarcFileState.OPEN))
    check = verify_item(database_config, database, urn)
    assert (check.unread, check.files, check.is_sound, check.is_whole) == ([path.name], [], True, False)


def test_a_file_that_cannot_be_opened_keeps_no_other_from_being_read(
    database: Database, database_config: Config
) -> None:
    config = database_config.model_copy(update={"warc_size": 1})
    urn = archive(database, config, SENT)
    first, second, *_ = files_of(config, urn)
    make_unopenable(first)
    overwrite(second, 0, b"\0")
    check = verify_item(config, database, urn)
    assert check.unreadable == [f"{first} cannot be read (File name too long). Correct this, and verify again."]
    states = {file.name: file.state for file in check.files}
    assert (states[second.name], len(states)) == ("damaged", len(files_of(config, urn)) - 1)
    assert (check.is_sound, check.is_whole) == (False, False)
    with database.reading() as session:
        assert [row.state for row in files_of_item(session, find_item(session, urn).id)].count("closed") == 1


def test_files_of_another_home_are_not_missing(database: Database, database_config: Config, tmp_path: Path) -> None:
    urn = archive(database, database_config)
    verify_item(database_config, database, urn)
    with database.session() as session:
        find_item(session, urn).home_id = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
    check = verify_item(database_config, database, urn)
    assert check.elsewhere.startswith(f"The files of item {urn} are in the home ")
    assert (check.files, damage_rows(database), stored_file(database, urn).state) == ([], [], "verified")
    assert (check.is_sound, check.is_whole) == (True, False)


def test_the_rate_is_kept() -> None:
    waits: list[float] = []
    rate = ReadRate(0.001, waits.append)
    for _ in range(3):
        rate(1_000_000)
    assert [round(wait / 1000) for wait in waits] == [1, 2, 3]


def test_the_command_reports_and_exits_with_3(tarantula: Tarantula, config: Config, sqlite: Database) -> None:
    first, second = archive(sqlite, config), archive(sqlite, config, [ANSWERS["gzip"]], months=1)
    done = tarantula("verify")
    assert (done.code, done.err) == (0, "")
    assert [line.split()[:5] for line in done.out.splitlines()[1:]] == [
        [first, "1", "1", "0", "0"],
        [second, "1", "1", "0", "0"],
    ]
    (path,) = files_of(config, second)
    overwrite(path, records(sqlite, second)[0][0], b"\0\0")
    done = tarantula("verify", second, "--json")
    assert done.code == 3
    (found,) = json.loads(done.out)
    assert (found["urn"], found["whole"], found["lost_bodies"], found["damage_left_out"]) == (second, False, 1, 0)
    (damage,) = found["damage"]
    assert (damage["url"], damage["problem"]) == (ANSWERS["gzip"].url, "unreadable")
    # The first item has the same body.
    assert [other["urn"] for other in damage["others"]] == [first]
    done = tarantula("verify", second)
    assert done.code == 3
    assert f"  unreadable: {ANSWERS['gzip'].url}\n    the same body: {first}, {ANSWERS['gzip'].url}\n" in done.out
    done = tarantula("verify", first, "--since", "1h")
    assert (done.code, "1 were verified before." in done.out) == (0, True)
    with sqlite.session() as session:
        find_item(session, first).home_id = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
    overwrite(path, records(sqlite, second)[0][0], b"\x1f\x8b")
    # Of all items, one in another home is left out; one that is named was to be read.
    assert [tarantula("verify", *urns).code for urns in ((), (second,), (first,))] == [0, 0, 3]
    make_unopenable(path)
    done = tarantula("verify", second)
    assert (done.code, f"{second}: {path} cannot be read" in done.out) == (3, True), done.err
    assert tarantula("verify", "nothing").code == 2
    assert tarantula("verify", "--since", "soon").code == 2
    assert ("item.verify", "all items") in [(action, subject) for _, action, subject in audit_entries(sqlite)]
