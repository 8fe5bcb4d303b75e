"""The context of a use case: the person, the database session and the audit log; and pages of long lists."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from sqlalchemy.orm import Session

from tarantula.accounts import accounts, audit, sessions
from tarantula.accounts.roles import INSTALLATION, Owner, Person, Role, local_person
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.store.database import open_database

T = TypeVar("T")

MAX_PAGE_ROWS = 500
_MAX_PLACE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """An installation and the person who uses it."""

    installation: Config
    database: Database
    person: Person
    is_local: bool = False
    """Whether the person typed a command on this machine: they can read the database anyway, so nothing is hidden."""

    @property
    def viewer(self) -> Owner | None:
        """The owner whose view of private sources and alerts applies; ``None`` shows those of all."""
        return None if self.is_local else self.person.owner

    def owner_named(self, session: Session, name: str | None) -> Owner:
        """Return the owner of a new object: the person, or the account a command names; the installation if empty."""
        if name is None:
            return self.person.owner
        return Owner(name, accounts.get(session, name).id) if name else INSTALLATION

    @property
    def may_run_code(self) -> bool:
        """Whether the person may name code to run: on the command line, or as an administrator if this is enabled."""
        return self.is_local or (self.installation.web_components and self.person.role.allows(Role.ADMINISTRATOR))

    @property
    def writing_role(self) -> Role:
        """Role needed to write what readers may write: a reader's token is read-only."""
        return Role.READER if self.person.token is None else Role.CURATOR

    @contextmanager
    def reading(self, needed: Role = Role.READER) -> Iterator[Session]:
        """Open a read-only session, if the person has the role *needed*."""
        self.person.check(needed)
        with self.database.reading() as session:
            yield session

    @contextmanager
    def changing(self, action: str, subject: str, needed: Role = Role.CURATOR, **detail: Any) -> Iterator[Session]:
        """Open a session that commits with an entry in the audit log, if the person has the role *needed*."""
        needed = max(needed, self.writing_role, key=list(Role).index)
        self.person.check(needed)
        with self.database.session() as session:
            sessions.check_session(session, self.person, needed)
            yield session
            audit.record(session, self.person, action, subject, **detail)


@contextmanager
def local_context() -> Iterator[ServiceContext]:
    """Open the installation for a command: the operating system's user acts as an administrator."""
    installation = Config()
    with open_database(installation) as database:
        yield ServiceContext(installation, database, local_person(), is_local=True)


def audited_changes(before: Mapping[str, Any], after: Mapping[str, Any], secret: Set[str]) -> dict[str, Any]:
    """Return old and new value of each changed field, for the audit log; of *secret* fields only that they changed.

    Of a new object *before* is empty, and so fields without a value are left out.
    """
    return {
        key: "changed" if key in secret else [before.get(key), value]
        for key, value in after.items()
        if before.get(key) != value and (key in before or value)
    }


class ResultPage(BaseModel, Generic[T]):
    """Some rows of a list."""

    rows: list[T]
    next: str | None = None
    """Cursor of the next page; ``None`` on the last page."""
    searched: float = 1.0
    """Share of the list that was searched so far, from 0 to 1: a page can be short or empty without being the last."""


def checked_limit(limit: int) -> int:
    """Return *limit* if a page can have so many rows; otherwise raise."""
    if not 1 <= limit <= MAX_PAGE_ROWS:
        raise TarantulaError("A page has from 1 to {limit} rows, not {given}.", limit=MAX_PAGE_ROWS, given=limit)
    return limit


def write_cursor(place: int) -> str:
    """Return the opaque cursor of a place in a list; its format may change."""
    return urlsafe_b64encode(str(place).encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> int | None:
    """Return the place of a cursor; ``None`` for the first page."""
    if cursor is None:
        return None
    try:
        text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except ValueError:
        text = ""
    if not text.isdigit() or not text.isascii() or len(text) > 19 or int(text) > _MAX_PLACE:
        raise TarantulaError(
            "{cursor!r} is not a cursor. Use the `next` of the page before, unchanged.", cursor=cursor[:40]
        )
    return int(text)
