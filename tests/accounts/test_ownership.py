"""Objects that belong to an account: a later account with the same name gets nothing of it."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select, text

from tarantula.accounts import accounts as stored
from tarantula.accounts.roles import Owner, Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database, connect
from tarantula.core.errors import ConflictError, NotFoundError
from tarantula.models import Alert, Event, Source, View
from tarantula.services import accounts, tokens
from tarantula.services.context import ServiceContext
from tarantula.services.streams import alerts, sources, views
from tarantula.store.database import open_database
from tests.support.backups import new_database
from tests.support.old_schemas import upgrade

PASSWORD = "correct horse battery"
HOOK = "json://user:secret@hooks.example.org/x"
FIELDS = {"fields": [{"key": "value", "kind": "decimal", "place": {"css": "b"}}], "url": "http://example.org/"}

pytestmark = pytest.mark.usefixtures("quick_passwords")


@pytest.fixture
def desk(database: Database, database_config: Config) -> ServiceContext:
    made = ServiceContext(database_config, database, Person("root", Role.ADMINISTRATOR))
    accounts.add_account(made, "ana", Role.ADMINISTRATOR, PASSWORD)
    accounts.add_account(made, "rui", Role.CURATOR, PASSWORD)
    return made


def acting(desk: ServiceContext, name: str) -> ServiceContext:
    with desk.database.reading() as session:
        account = stored.get(session, name)
        person = Person(account.name, Role(account.role), account.id)
    return ServiceContext(desk.installation, desk.database, person)


def fill(desk: ServiceContext, name: str) -> None:
    """Create sources, views, an alert and a token for an account."""
    own = acting(desk, name)
    sources.add_source(own, {"name": f"user.{name}.bank", "private": True, "notify": [HOOK], **FIELDS})
    sources.add_source(own, {"name": f"{name}.weather", "notify": [HOOK], **FIELDS})
    for source in (f"user.{name}.bank", f"{name}.weather"):
        views.add_source_view(own, source)
        alerts.add_alert(own, source, {"condition": "value > 3", "notify": [HOOK]})
    tokens.add_token(own, "harvest", Role.READER)


def owned(context: ServiceContext) -> tuple[list[str], list[tuple[str, ...]], list[str]]:
    """Return the names of the visible sources, the sources of the views and those of the alerts."""
    return (
        [row.name for row in sources.find_sources(context)],
        [tuple(row.view.sources) for row in views.list_dashboard(context)],
        [row.source for row in alerts.list_alerts(context)],
    )


def test_a_later_account_of_the_same_name_gets_nothing(desk: ServiceContext) -> None:
    fill(desk, "rui")
    accounts.remove_account(desk, "rui")
    accounts.add_account(desk, "rui", Role.CURATOR, PASSWORD)
    later = acting(desk, "rui")
    assert owned(later) == (["rui.weather"], [], [])
    assert sources.get_source(later, "rui.weather")["notify"] == ["…"]
    assert sources.get_source_row(later, "rui.weather").owner == ""
    assert tokens.list_tokens(later) == []
    with desk.reading() as session:
        for table in (View, Alert, Event):
            assert session.scalar(select(func.count()).select_from(table)) == 0
    entry = accounts.list_audit(desk, subject="rui").rows[1]
    assert (entry.action, entry.detail) == ("account.remove", {"objects": {"source": 2, "view": 2, "alert": 2}})


def test_a_name_alone_owns_nothing(desk: ServiceContext) -> None:
    """An object whose account is gone, however it went, is not shown to an account of the same name."""
    fill(desk, "rui")
    with desk.database.session() as session:
        stored.remove(session, stored.get(session, "rui"))
    accounts.add_account(desk, "rui", Role.CURATOR, PASSWORD)
    later = acting(desk, "rui")
    assert owned(later) == (["rui.weather"], [], [])
    with pytest.raises(NotFoundError):
        sources.get_source(later, "user.rui.bank")
    assert not sources.get_source_row(later, "rui.weather").may_change


def test_objects_can_be_given_to_another_account(desk: ServiceContext) -> None:
    fill(desk, "rui")
    views_before = [("rui.weather",), ("user.rui.bank",)]
    ana = acting(desk, "ana")
    views.add_source_view(ana, "rui.weather")
    with pytest.raises(ConflictError, match="Give its objects to another one"):
        accounts.remove_account(desk, "rui", give_to="rui")
    with pytest.raises(NotFoundError, match="There is no account 'ivo'"):
        accounts.remove_account(desk, "rui", give_to="ivo")
    accounts.remove_account(desk, "rui", give_to="ana")
    names = ["rui.weather", "user.rui.bank"]
    assert owned(ana) == (names, [("rui.weather",), *views_before], names)
    assert all(sources.get_source_row(ana, name).may_change for name in names)
    assert alerts.list_alerts(ana)[0].notify == [HOOK]


def test_the_first_account_takes_over_what_the_printed_link_created(
    database: Database, database_config: Config
) -> None:
    link = ServiceContext(database_config, database, Person("root", Role.ADMINISTRATOR))
    sources.add_source(link, {"name": "weather", "private": True, **FIELDS})
    views.add_source_view(link, "weather")
    accounts.add_account(link, "ana", Role.ADMINISTRATOR, PASSWORD)
    accounts.add_account(link, "root", Role.ADMINISTRATOR, PASSWORD)
    assert owned(acting(link, "ana")) == (["weather"], [("weather",)], [])
    assert owned(acting(link, "root")) == ([], [], [])


def test_a_command_can_name_only_an_account_as_owner(desk: ServiceContext) -> None:
    with pytest.raises(NotFoundError, match="There is no account 'ivo'"):
        sources.add_source(desk, {"name": "weather", **FIELDS}, "ivo")
    sources.add_source(desk, {"name": "weather", "private": True, **FIELDS}, "rui")
    assert owned(acting(desk, "rui"))[0] == ["weather"]
    with desk.reading() as session:
        row = session.scalars(select(Source)).one()
        assert Owner(row.owner, row.owner_id) == acting(desk, "rui").person.owner


def test_objects_of_an_earlier_version_are_keyed_by_account(
    database_config: Config, request: pytest.FixtureRequest
) -> None:
    url = new_database(database_config, request) or f"sqlite:///{database_config.home / 'old.sqlite'}"
    database_config = database_config.model_copy(update={"database_url": url})
    database = connect(database_config)
    now = "2026-01-01 00:00:00+00:00"
    with database.engine.begin() as connection:
        upgrade(connection, "0015")
        connection.execute(
            text("INSERT INTO account (id, name, role, password, created_at) VALUES (7, 'ana', 'reader', 'x', :at)"),
            {"at": now},
        )
        for number, owner in enumerate(("ana", "removed", "")):
            values = {"id": number, "name": f"s{number}", "owner": owner, "at": now, "yes": True, "no": False}
            connection.execute(
                text(
                    "INSERT INTO source (id, name, owner, is_private, is_paused, configuration, words, revision, "
                    "created_at, changed_at) VALUES (:id, :name, :owner, :yes, :no, '{}', '', 1, :at, :at)"
                ),
                values,
            )
            connection.execute(
                text(
                    "INSERT INTO view (id, owner, position, is_shared, configuration) "
                    "VALUES (:id, :owner, 0, :no, '{}')"
                ),
                values,
            )
    database.close()
    with open_database(database_config) as database, database.reading() as session:
        rows = session.execute(select(Source.owner, Source.owner_id).order_by(Source.id)).all()
        assert rows == [("ana", 7), ("removed", None), ("", None)]
        assert session.execute(select(View.owner, View.owner_id)).all() == [("ana", 7)]
