"""The chain of hashes over the audit log."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, text

from tarantula.accounts import audit
from tarantula.accounts.audit import AuditCheck
from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database, connect
from tarantula.core.errors import TarantulaError
from tarantula.models import AuditEntry
from tarantula.services.context import ServiceContext
from tarantula.store.database import open_database
from tests.support.backups import new_database
from tests.support.command_result import Tarantula
from tests.support.old_schemas import upgrade

ANA = Person("ana", Role.ADMINISTRATOR, 7)


def write(database: Database, number: int) -> None:
    with database.session() as session:
        detail = {"é": ["ü", 1.5, None, {"z": 1, "a": True}], "number": number, "role": Role.READER}
        audit.record(session, ANA, "account.edit", f"conta {number}", **detail)


def check(database: Database, head: str = "") -> AuditCheck:
    with database.reading() as session:
        return audit.verify(session, head)


def execute(database: Database, statement: str) -> None:
    with database.engine.begin() as connection:
        connection.execute(text(statement))


@pytest.fixture
def log(database: Database) -> Database:
    """A log of six entries."""
    for number in range(6):
        write(database, number)
    return database


def test_entries_follow_one_another(log: Database) -> None:
    found = check(log)
    assert (found.entries, found.broken_at, found.problem) == (6, None, "")
    with log.reading() as session:
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
    assert [entry.previous for entry in entries] == [audit.FIRST_HASH, *(entry.hash for entry in entries[:-1])]
    assert found.head == f"6:{entries[-1].hash}"
    assert {entry.account_id for entry in entries} == {7}
    write(log, 6)
    assert check(log, found.head).problem == ""


@pytest.mark.parametrize(
    "change",
    [
        "who = 'rui'",
        "account_id = 8",
        "account_id = NULL",
        "action = 'account.add'",
        "subject = 'conta 9'",
        "at = '2026-01-01 00:00:00+00:00'",
        "detail = '{}'",
        "hash = previous",
    ],
)
def test_an_altered_entry_is_found(log: Database, change: str) -> None:
    execute(log, f"UPDATE audit_entry SET {change} WHERE id = 3")
    found = check(log)
    assert (found.entries, found.broken_at) == (2, 3)
    assert found.problem == "Entry 3 was altered: it does not have the hash of its content."


def test_a_removed_entry_is_found(log: Database) -> None:
    execute(log, "DELETE FROM audit_entry WHERE id IN (3, 4)")
    found = check(log)
    assert found.broken_at == 5
    assert found.problem.startswith("Entry 5 does not follow entry 2")


def test_a_removed_beginning_is_found(log: Database) -> None:
    execute(log, "DELETE FROM audit_entry WHERE id = 1")
    assert check(log).broken_at == 2


def test_an_inserted_entry_is_found(log: Database) -> None:
    execute(
        log,
        "INSERT INTO audit_entry (id, at, who, account_id, action, subject, detail, previous, hash) "
        "SELECT 70, at, who, account_id, action, subject, detail, previous, hash FROM audit_entry WHERE id = 6",
    )
    assert check(log).broken_at == 70


def test_a_removed_end_is_found(log: Database) -> None:
    execute(log, "DELETE FROM audit_entry WHERE id > 4")
    found = check(log)
    assert found.broken_at is None
    assert found.problem == "Entries are missing at the end: the log had 6, and has 4. The last one is 4."


def test_a_head_kept_elsewhere_shows_a_log_that_was_computed_again(log: Database) -> None:
    head = check(log).head
    with log.session() as session:
        last = audit.FIRST_HASH
        for entry in session.scalars(select(AuditEntry).order_by(AuditEntry.id)):
            entry.who, entry.previous = "rui", last
            last = entry.hash = audit.entry_hash(entry, last)
    execute(log, f"UPDATE audit_head SET hash = '{last}'")
    assert check(log).problem == ""
    assert check(log, head).problem.startswith("Up to entry 6 the log is another one than it was")
    execute(log, "DELETE FROM audit_entry WHERE id = 6")
    execute(log, "UPDATE audit_head SET entries = 5, hash = (SELECT hash FROM audit_entry WHERE id = 5)")
    assert check(log).problem == ""
    assert check(log, head).problem.startswith("Entries are missing at the end: the log had 6, and has 5.")


@pytest.mark.parametrize("head", ["x", "12", "12:abc", "-1:" + "0" * 64])
def test_a_head_that_is_none_is_refused(log: Database, head: str) -> None:
    with pytest.raises(TarantulaError, match="is not the head of an audit log"):
        check(log, head)


def test_concurrent_writers_make_one_chain(database: Database, database_config: Config) -> None:
    context = ServiceContext(database_config, database, ANA)

    def change(number: int) -> None:
        try:
            with context.changing("test", str(number)) as session:
                session.execute(select(AuditEntry.id)).all()
                if number % 5 == 0:
                    raise TarantulaError("This one is undone.")
        except TarantulaError:
            pass

    with ThreadPoolExecutor(8) as pool:
        checks = [pool.submit(check, database) for _ in range(3)]
        list(pool.map(change, range(60)))
    assert {one.result().problem for one in checks} == {""}
    found = check(database)
    assert (found.entries, found.problem) == (48, "")


def test_entries_of_an_earlier_version_are_chained(database_config: Config, request: pytest.FixtureRequest) -> None:
    url = new_database(database_config, request) or f"sqlite:///{database_config.home / 'old.sqlite'}"
    installation = database_config.model_copy(update={"database_url": url})
    with connect(installation) as database, database.engine.begin() as connection:
        upgrade(connection, "0015")
        for number in range(1, 2504):
            connection.execute(
                text(
                    "INSERT INTO audit_entry (at, who, action, subject, detail) "
                    "VALUES ('2026-01-01 00:00:00.123456+00:00', 'ana', 'x', :subject, :detail)"
                ),
                {"subject": f"ação {number}", "detail": '{"b": "é", "a": [1, 2.50]}'},
            )
    with open_database(installation) as database:
        found = check(database)
        assert (found.entries, found.problem) == (2503, "")
        write(database, 1)
        assert check(database).entries == 2504
        execute(database, "UPDATE audit_entry SET subject = 'other' WHERE id = 1700")
        assert check(database).broken_at == 1700


def test_the_command_verifies_the_log(tarantula: Tarantula, config: Config) -> None:
    with open_database(config) as database:
        for number in range(3):
            write(database, number)
    done = tarantula("user", "verify-audit")
    assert done.code == 0
    assert done.out.startswith("The audit log is whole: 3 entries.\nHead: 3:")
    head = done.out.rpartition(" ")[2].strip()
    assert tarantula("user", "verify-audit", "--head", head).code == 0
    assert tarantula("user", "verify-audit", "--head", "nonsense").code == 2
    with open_database(config) as database:
        execute(database, "UPDATE audit_entry SET who = 'rui' WHERE id = 2")
    done = tarantula("user", "verify-audit", "--head", head)
    assert (done.code, done.out) == (1, "Entry 2 was altered: it does not have the hash of its content.\n")
    assert '"broken_at": 2' in tarantula("user", "verify-audit", "--json").out
