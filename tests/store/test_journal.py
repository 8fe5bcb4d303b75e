"""The journal: no committed entry is missed, whatever the order of commits."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete

from tarantula.core.database import Database
from tarantula.models import JournalEntry, Server
from tarantula.store.journal import JournalFollower, JournalKind, JournalRecord, append_to_journal, last_visible_id
from tests.support.waits import eventually

EVERY = list(JournalKind)


def look(database: Database, follower: JournalFollower, most: int = 10) -> list[JournalRecord]:
    """Read the next entries in a new transaction."""
    with database.reading() as session:
        return follower.next(session.connection(), most)


def write(database: Database, *numbers: int) -> None:
    """Commit an entry about some documents."""
    with database.engine.begin() as writing:
        append_to_journal(writing, JournalKind.COLLECTED, 1, numbers)


def settle(database: Database, follower: JournalFollower) -> None:
    """Poll until the given entries are settled: other tests write to the same PostgreSQL."""
    eventually(lambda: follower.place == last(database) or look(database, follower) != [])
    assert follower.place == last(database)


def last(database: Database) -> int:
    with database.reading() as session:
        return last_visible_id(session.connection())


def documents(entries: list[JournalRecord]) -> list[list[int]]:
    return [entry.documents for entry in entries]


def test_entries_are_returned_once_in_order(database: Database) -> None:
    follower = JournalFollower(0, EVERY)
    assert look(database, follower) == []
    write(database, 1, 2**40)
    write(database)
    write(database, 3)
    assert documents(look(database, follower, 2)) == [[1, 2**40], []]
    assert documents(look(database, follower, 2)) == [[3]]
    assert look(database, follower, 2) == []
    settle(database, follower)


def test_a_follower_resumes_without_missing_entries(database: Database) -> None:
    follower = JournalFollower(0, EVERY)
    write(database, 1)
    look(database, follower)
    settle(database, follower)
    write(database, 2)
    assert documents(look(database, JournalFollower(follower.place, EVERY))) == [[2]]


def test_other_kinds_are_skipped(database: Database) -> None:
    with database.engine.begin() as writing:
        append_to_journal(writing, JournalKind.ENDED, 7)
        append_to_journal(writing, JournalKind.REMOVED, 8)
    follower = JournalFollower(0, [JournalKind.REMOVED])
    assert [(entry.kind, entry.item_id) for entry in look(database, follower)] == [(JournalKind.REMOVED, 8)]
    settle(database, follower)


def test_an_entry_committed_late_is_not_missed(postgresql_database: Database) -> None:
    follower = JournalFollower(0, EVERY)
    with postgresql_database.engine.begin() as late:
        late.execute(delete(Server))
        append_to_journal(late, JournalKind.COLLECTED, 1, [1])
        write(postgresql_database, 2)
        assert documents(look(postgresql_database, follower)) == [[2]]
        assert look(postgresql_database, follower) == []
        assert follower.place == 0
    assert documents(look(postgresql_database, follower)) == [[1]]
    settle(postgresql_database, follower)
    assert follower.place == 2


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["begin", "commit", "undo"])), max_size=20),
    looks=st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=21, max_size=21),
)
def test_no_entry_is_missed_in_any_order_of_commits(
    postgresql_database: Database, steps: list[tuple[int, str]], looks: list[tuple[int, bool]]
) -> None:
    with postgresql_database.engine.begin() as washing:
        washing.execute(delete(JournalEntry))
    written, seen, number = set[int](), set[int](), 0
    open_ones: dict[int, tuple[Connection, int]] = {}
    follower = JournalFollower(0, EVERY)
    for (who, what), (most, restart) in zip(steps, looks, strict=False):
        if what == "begin" and who not in open_ones:
            number += 1
            other = postgresql_database.engine.connect()
            other.execute(delete(Server))
            append_to_journal(other, JournalKind.COLLECTED, 1, [number])
            open_ones[who] = other, number
        elif what != "begin" and who in open_ones:
            other, its = open_ones.pop(who)
            if what == "commit":
                other.commit()
                written.add(its)
            other.close()
        if restart:
            follower = JournalFollower(follower.place, EVERY)
        seen |= {entry.documents[0] for entry in look(postgresql_database, follower, most)}
    for other, _ in open_ones.values():
        other.close()
    while entries := look(postgresql_database, follower, 2):
        seen |= {entry.documents[0] for entry in entries}
    assert seen == written


def test_an_ordered_follower_waits_for_lower_ids(postgresql_database: Database) -> None:
    follower = JournalFollower(0, EVERY, in_order=True)
    write(postgresql_database, 1)
    with postgresql_database.engine.begin() as late:
        late.execute(delete(Server))
        append_to_journal(late, JournalKind.COLLECTED, 1, [2])
        write(postgresql_database, 3)
        assert documents(look(postgresql_database, follower)) in ([], [[1]])
        assert look(postgresql_database, JournalFollower(1, EVERY, in_order=True)) == []
    rest = JournalFollower(follower.place, EVERY, in_order=True)
    found = look(postgresql_database, rest, 1)

    def is_at_the_end() -> bool:
        found.extend(look(postgresql_database, rest))
        return rest.place == last(postgresql_database)

    eventually(is_at_the_end)
    assert documents(found)[-2:] == [[2], [3]]
