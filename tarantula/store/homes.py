"""Homes: which home directory has the files of an item, when several machines share a database.

A home has an id, in the file ``home-id``. All files of an item are in one home: that of its first collector.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from socket import gethostname
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Connection, exists, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError, UnusableError
from tarantula.core.files import sync_path
from tarantula.core.messages import Message
from tarantula.models import Home, Item, WarcFile
from tarantula.store.liveness import database_time

HOME_ID_FILE = "home-id"
NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)
"""Error numbers of file systems without hard links."""


_cached_ids: dict[Path, str] = {}
"""Ids of homes that `check_home` has read, by their folder ``items``."""


class FilesElsewhere(UnusableError):
    """The files of an item are in another home."""


def home_id(installation: Config, connection: Connection) -> str:
    """Return the id of this home; create it if there is none, and store the home's path and host in the database."""
    identity = read_home_id(installation.home) or _create_home_id(installation)
    here = {"path": str(installation.home), "host": gethostname()}
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    row = dialect.insert(Home).values(id=identity, **here, created_at=database_time(connection))
    connection.execute(row.on_conflict_do_nothing())
    is_moved = or_(Home.path != here["path"], Home.host != here["host"])
    connection.execute(update(Home).where(Home.id == identity, is_moved).values(here))
    return identity


def read_home_id(home: Path) -> str | None:
    """Return the id of a home; ``None`` if it has none yet."""
    path = home / HOME_ID_FILE
    try:
        return str(UUID(path.read_text(encoding="ascii").strip()))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TarantulaError(
            "{path} cannot be read ({error}). Correct its permissions.", path=path, error=error.strerror
        ) from error
    except ValueError as error:
        raise TarantulaError(
            "{path} does not contain the id of a home. Restore it from a backup, "
            "or write into it the id that the table `home` of the database has for this directory.",
            path=path,
        ) from error


def check_home(session: Session, items: Path, item: Item) -> None:
    """Raise `FilesElsewhere` if an item has another home than the folder *items*; cheap enough for each body."""
    if item.home_id is not None and _cached_ids.get(items) != item.home_id:
        here = read_home_id(items.parent)
        if item.home_id != here:
            raise FilesElsewhere(_elsewhere_message(session, items, item))
        _cached_ids[items] = here


def require_files(session: Session, installation: Config, item: Item) -> None:
    """Raise `FilesElsewhere` if the files of an item are in another home.

    An item of a version without homes is accepted if one of its files is here, or if the database has no other home.
    """
    check_home(session, installation.items, item)
    if item.home_id is None and not _has_a_file(session, installation, item):
        others = other_homes(session, installation)
        if others:
            raise FilesElsewhere(
                "No file of item {urn} is in the home {home}. "
                "Run this with the home that has them; others of this database are: {others}.",
                urn=item.urn,
                home=installation.home,
                others="; ".join(others),
            )


def claim_item(session: Session, installation: Config, item: Item) -> None:
    """Make this the home of an item that has none yet; raise `FilesElsewhere` if it has another."""
    require_files(session, installation, item)
    item.home_id = home_id(installation, session.connection())


def belongs_here(installation: Config) -> ColumnElement[bool]:
    """Return the condition that the files of an item are in this home, or in none yet."""
    return or_(Item.home_id.is_(None), Item.home_id == read_home_id(installation.home))


def other_homes(session: Session, installation: Config) -> list[str]:
    """Return path and host of every other home that has items."""
    here = read_home_id(installation.home) or ""
    others = select(Home).where(Home.id != here, exists().where(Item.home_id == Home.id))
    return [f"{home.path} on {home.host}" for home in session.scalars(others.order_by(Home.created_at, Home.id))]


def _elsewhere_message(session: Session, items: Path, item: Item) -> str:
    here, hint = items.parent, ""
    if (items / item.urn / "archive").is_dir():
        hint = f" If {here} is a copy of that home without its id, write {item.home_id} into {here / HOME_ID_FILE}."
    return Message(
        "The files of item {urn} are in the home {home}, not in {here}. "
        "Run this there, or mount that home here and name it with TARANTULA_HOME.{hint}",
        urn=item.urn,
        home=home_place(session, item),
        here=here,
        hint=hint,
    )


def home_place(session: Session, item: Item) -> str:
    """Return path and host of an item's home, for messages."""
    home = session.get(Home, item.home_id)
    return f"{home.path} on {home.host}" if home is not None else f"with the id {item.home_id}"


def _has_a_file(session: Session, installation: Config, item: Item) -> bool:
    """Whether a file of an item is in this home, or the item has none."""
    names = list(session.scalars(select(WarcFile.name).where(WarcFile.item_id == item.id)))
    archive = installation.items / item.urn / "archive"
    return not names or any(os.path.lexists(archive / name) for name in names)


def _create_home_id(installation: Config) -> str:
    """Create the file of the id; of two processes that do so at once, one wins."""
    home = installation.make_home()
    path, draft = home / HOME_ID_FILE, home / f".{HOME_ID_FILE}-{uuid4()}"
    try:
        with draft.open("x", encoding="ascii") as file:
            file.write(f"{uuid4()}\n")
            file.flush()
            os.fsync(file.fileno())
        _place(draft, path)
        sync_path(home)
    except OSError as error:
        raise TarantulaError(
            "{path} cannot be written ({error}). Free some space or correct the permissions of the home.",
            path=path,
            error=error.strerror,
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    identity = read_home_id(home)
    assert identity is not None
    return identity


def _place(draft: Path, path: Path) -> None:
    """Give a complete file its name, unless there is one."""
    with suppress(FileExistsError):
        try:
            os.link(draft, path)
        except OSError as error:
            if error.errno not in NO_HARD_LINKS:
                raise
            if not path.exists():
                os.replace(draft, path)
