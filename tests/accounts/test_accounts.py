"""Accounts, sessions, tokens and the audit log, and who may change them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from tarantula.accounts import sessions
from tarantula.accounts import tokens as stored_tokens
from tarantula.accounts.credentials import secret_digest
from tarantula.accounts.login import log_in
from tarantula.accounts.roles import NotAllowed, Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.models import Account, LoginSession, Token
from tarantula.services import accounts, tokens
from tarantula.services.context import ServiceContext
from tarantula.services.streams import alerts, views
from tests.support.followed_sources import followed

PASSWORD = "correct horse battery"
HERE = "192.0.2.7"


pytestmark = pytest.mark.usefixtures("quick_passwords")


@pytest.fixture
def desk(database: Database, database_config: Config) -> ServiceContext:
    """The context of the command line, with an administrator, a curator and a reader."""
    made = ServiceContext(database_config, database, Person("root", Role.ADMINISTRATOR))
    for name, role in (("ana", Role.ADMINISTRATOR), ("rui", Role.CURATOR), ("eva", Role.READER)):
        accounts.add_account(made, name, role, PASSWORD)
    return made


def logged_in(desk: ServiceContext, name: str) -> ServiceContext:
    """Return the context of a person who logs in."""
    secret = log_in(desk.database, name, PASSWORD, HERE)
    assert secret is not None
    with desk.database.reading() as session:
        person = sessions.person_of(session, secret_digest(secret))
    assert person is not None
    return ServiceContext(desk.installation, desk.database, person)


def person_of_token(desk: ServiceContext, secret: str) -> Person | None:
    with desk.database.reading() as session:
        return stored_tokens.person_of(session, secret)


def test_passwords_are_stored_as_argon2_hashes(desk: ServiceContext) -> None:
    with desk.reading() as session:
        stored = session.scalars(select(Account.password)).all()
    assert len(set(stored)) == 3
    assert all(one.startswith("$argon2id$") and PASSWORD not in one for one in stored)


@pytest.mark.parametrize("password", ["short", "", "x" * 1001, "lone surrogate \udc80"])
def test_an_invalid_password_is_refused(desk: ServiceContext, password: str) -> None:
    with pytest.raises(TarantulaError, match="The password"):
        accounts.add_account(desk, "ivo", Role.READER, password)
    with pytest.raises(NotFoundError):
        accounts.get_account(desk, "ivo")


def test_the_first_account_must_be_an_administrator(database: Database, database_config: Config) -> None:
    desk = ServiceContext(database_config, database, Person("root", Role.ADMINISTRATOR))
    with pytest.raises(ConflictError, match="first account must be an administrator's"):
        accounts.add_account(desk, "eva", Role.READER, PASSWORD)
    assert accounts.list_accounts(desk) == []


def test_names_are_unique(desk: ServiceContext) -> None:
    with pytest.raises(ConflictError, match="There is already an account rui"):
        accounts.add_account(desk, "rui", Role.READER, PASSWORD)
    assert accounts.get_account(desk, "rui").role == Role.CURATOR


@pytest.mark.parametrize(
    "change",
    [
        lambda desk: accounts.edit_account(desk, "ana", role=Role.CURATOR),
        lambda desk: accounts.edit_account(desk, "ana", disabled=True),
        lambda desk: accounts.remove_account(desk, "ana"),
    ],
    ids=["role", "disabled", "removed"],
)
def test_the_last_administrator_cannot_be_removed(
    desk: ServiceContext, change: Callable[[ServiceContext], object]
) -> None:
    with pytest.raises(ConflictError, match="ana is the only administrator"):
        change(desk)
    accounts.add_account(desk, "ivo", Role.ADMINISTRATOR, PASSWORD)
    change(desk)


@pytest.mark.parametrize("name", ["rui", "eva"])
def test_only_administrators_manage_accounts(desk: ServiceContext, name: str) -> None:
    own = logged_in(desk, name)
    for attempt in (
        lambda: accounts.list_accounts(own),
        lambda: accounts.add_account(own, "ivo", Role.READER, PASSWORD),
        lambda: accounts.edit_account(own, name, role=Role.ADMINISTRATOR),
        lambda: accounts.remove_account(own, "ana"),
        lambda: accounts.list_audit(own),
    ):
        with pytest.raises(NotAllowed, match="this needs an administrator"):
            attempt()
    assert [row.name for row in accounts.list_accounts(desk)] == ["ana", "eva", "rui"]


def test_an_open_page_cannot_change_anything_after_the_session_ended(desk: ServiceContext) -> None:
    ana, rui, eva = (logged_in(desk, name) for name in ("ana", "rui", "eva"))
    accounts.add_account(desk, "ivo", Role.ADMINISTRATOR, PASSWORD)
    accounts.edit_account(desk, "ana", role=Role.CURATOR)
    accounts.edit_account(desk, "rui", disabled=True)
    accounts.edit_account(desk, "eva", password="another one altogether")
    with pytest.raises(NotAllowed, match="ana is a curator"):
        accounts.remove_account(ana, "eva")
    for gone in (rui, eva):
        with pytest.raises(NotAllowed, match="session has ended"):
            tokens.add_token(gone, "harvest", Role.READER)


def test_a_password_change_ends_all_other_sessions(desk: ServiceContext) -> None:
    here, elsewhere = logged_in(desk, "rui"), logged_in(desk, "rui")
    with pytest.raises(TarantulaError, match="not the current password"):
        accounts.change_password(here, "wrong wrong wrong", "another one altogether")
    accounts.change_password(here, PASSWORD, "another one altogether")
    with desk.reading() as session:
        assert session.scalars(select(LoginSession.digest)).all() == [here.person.session]
    assert elsewhere.person.session != here.person.session
    assert log_in(desk.database, "rui", PASSWORD, HERE) is None
    assert log_in(desk.database, "rui", "another one altogether", HERE) is not None


@pytest.mark.parametrize("column", ["seen_at", "expires_at"])
def test_sessions_expire(desk: ServiceContext, column: str) -> None:
    person = logged_in(desk, "rui").person
    assert person.session is not None
    past = datetime.now(UTC) - sessions.IDLE_TIMEOUT
    with desk.database.session() as session:
        session.execute(update(LoginSession).values({column: past}))
        assert sessions.person_of(session, person.session) is None


def test_a_token_never_exceeds_the_role_of_its_account(desk: ServiceContext) -> None:
    rui = logged_in(desk, "rui")
    with pytest.raises(NotAllowed, match="needs an administrator"):
        tokens.add_token(rui, "too much", Role.ADMINISTRATOR)
    made = tokens.add_token(rui, "harvest", Role.CURATOR, days=30)
    assert person_of_token(desk, made.secret) == Person("rui", Role.CURATOR, made_id(desk, "rui"), token="harvest")
    accounts.edit_account(desk, "rui", role=Role.READER)
    assert person_of_token(desk, made.secret) == Person("rui", Role.READER, made_id(desk, "rui"), token="harvest")
    accounts.edit_account(desk, "rui", disabled=True)
    assert person_of_token(desk, made.secret) is None


def made_id(desk: ServiceContext, name: str) -> int | None:
    with desk.reading() as session:
        return session.scalar(select(Account.id).where(Account.name == name))


def test_a_token_cannot_create_tokens(desk: ServiceContext) -> None:
    made = tokens.add_token(logged_in(desk, "rui"), "harvest", Role.READER)
    person = person_of_token(desk, made.secret)
    assert person is not None
    program = ServiceContext(desk.installation, desk.database, person)
    with pytest.raises(NotAllowed, match="A token cannot do this"):
        tokens.add_token(program, "more", Role.READER)
    with pytest.raises(NotAllowed, match="A token cannot do this"):
        accounts.change_password(program, PASSWORD, "another one altogether")
    with pytest.raises(NotAllowed, match="rui is a reader, and this needs a curator"), program.changing("x", "y"):
        pytest.fail("a reader's token was let in")


def test_tokens_expire_and_only_their_digest_is_stored(desk: ServiceContext) -> None:
    made = tokens.add_token(desk, "harvest", Role.READER, days=1, account="eva")
    with desk.database.session() as session:
        token = session.scalars(select(Token)).one()
        assert made.secret.startswith("tarantula_")
        assert token.digest == secret_digest(made.secret)
        token.expires_at = datetime.now(UTC) - timedelta(seconds=1)
    assert person_of_token(desk, made.secret) is None


def test_tokens_are_managed_by_owners_and_administrators(desk: ServiceContext) -> None:
    eva, rui = logged_in(desk, "eva"), logged_in(desk, "rui")
    made = tokens.add_token(eva, "harvest", Role.READER)
    assert tokens.list_tokens(rui) == []
    with pytest.raises(NotAllowed, match="managed by an administrator only"):
        tokens.remove_token(rui, made.id)
    with pytest.raises(NotAllowed, match="managed by an administrator only"):
        tokens.add_token(rui, "harvest", Role.READER, account="eva")
    assert [row.id for row in tokens.list_tokens(desk)] == [made.id]
    tokens.remove_token(eva, made.id)
    assert tokens.list_tokens(desk) == []
    assert person_of_token(desk, made.secret) is None


@pytest.mark.parametrize("by", ["owner", "administrator"])
def test_a_password_change_revokes_all_tokens(desk: ServiceContext, by: str) -> None:
    rui = logged_in(desk, "rui")
    made = tokens.add_token(rui, "harvest", Role.READER)
    other = tokens.add_token(logged_in(desk, "eva"), "harvest", Role.READER)
    if by == "owner":
        accounts.change_password(rui, PASSWORD, "another one altogether")
    else:
        accounts.edit_account(desk, "rui", password="another one altogether")
    assert person_of_token(desk, made.secret) is None
    assert [row.id for row in tokens.list_tokens(desk)] == [other.id]


@pytest.mark.parametrize(("days", "valid"), [(None, 30), (7, 7), (0, None)])
def test_tokens_expire_by_default(desk: ServiceContext, days: int | None, valid: int | None) -> None:
    installation = desk.installation.model_copy(update={"token_days": 30})
    made = tokens.add_token(replace(desk, installation=installation), "harvest", Role.READER, days, "eva")
    assert made.expires_at == (None if valid is None else made.created_at + timedelta(days=valid))


def test_unknown_scopes_are_refused(desk: ServiceContext) -> None:
    with pytest.raises(TarantulaError, match=r"'everything' is not a scope\. Write one or several of: publications,"):
        tokens.add_token(desk, "harvest", Role.READER, account="eva", scopes=["items", "everything"])
    made = tokens.add_token(desk, "harvest", Role.READER, account="eva", scopes=["search", "items"])
    assert made.scopes == ["items", "search"]
    person = person_of_token(desk, made.secret)
    assert person is not None
    assert person.scopes == frozenset({"items", "search"})


def test_a_readers_token_cannot_write_views(desk: ServiceContext) -> None:
    eva, rui = logged_in(desk, "eva"), logged_in(desk, "rui")
    followed(desk.database, "weather", {"value": "decimal"})
    view = views.add_source_view(eva, "weather")
    other = views.share_view(rui, views.add_source_view(rui, "weather").id)
    person = person_of_token(desk, tokens.add_token(eva, "harvest", Role.READER).secret)
    assert person is not None
    program = replace(desk, person=person)
    assert views.list_dashboard(program) == [view]
    for attempt in (
        lambda: views.add_source_view(program, "weather"),
        lambda: views.edit_view(program, view.id, {"title": "x"}),
        lambda: views.share_view(program, view.id),
        lambda: views.remove_view(program, view.id),
        lambda: views.fold_view(program, view.id, True),
        lambda: views.arrange_views(program, [view.id]),
        lambda: views.copy_shared_view(program, other.id),
        lambda: alerts.dismiss_firings(program),
    ):
        with pytest.raises(NotAllowed, match="eva is a reader, and this needs a curator"):
            attempt()
    assert views.list_dashboard(eva) == [view]


def test_the_audit_log_has_changes_but_no_failed_ones(desk: ServiceContext) -> None:
    ana = logged_in(desk, "ana")
    accounts.edit_account(ana, "rui", role=Role.READER)
    with pytest.raises(ConflictError):
        accounts.remove_account(ana, "ana")
    first = accounts.list_audit(desk, limit=2)
    assert [(row.who, row.action, row.subject) for row in first.rows] == [
        ("ana", "account.edit", "rui"),
        ("ana", "login", "ana"),
    ]
    assert first.rows[0].detail == {"role": "reader"}
    rest = accounts.list_audit(desk, before=first.next)
    assert [row.subject for row in rest.rows] == ["eva", "rui", "ana"]
    assert rest.next is None
    assert [row.action for row in accounts.list_audit(desk, subject="rui").rows] == [
        "account.edit",
        "account.add",
    ]
    assert [row.action for row in accounts.list_audit(desk, who="ana").rows] == ["account.edit", "login"]
    assert PASSWORD not in accounts.list_audit(desk).model_dump_json()


def test_changes_made_with_a_token_name_it(desk: ServiceContext) -> None:
    made = tokens.add_token(desk, "harvest", Role.ADMINISTRATOR, account="ana")
    person = person_of_token(desk, made.secret)
    assert person is not None
    accounts.edit_account(ServiceContext(desk.installation, desk.database, person), "rui", role=Role.READER)
    (entry, *_) = accounts.list_audit(desk).rows
    assert (entry.who, entry.detail) == ("ana", {"role": "reader", "token": "harvest"})
