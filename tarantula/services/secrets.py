"""Secrets: which key they are encrypted with, whether it is here, and its rotation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict
from sqlalchemy import JSON as PlainJson
from sqlalchemy import select, type_coerce, update
from sqlalchemy.orm import Session

from tarantula.accounts.roles import Role
from tarantula.core.column_types import lock_keys, register_key, require_key
from tarantula.core.errors import TarantulaError
from tarantula.core.secrets import MissingKey, change_secrets, is_sealed, secrets_in
from tarantula.models import Alert, Item, Publication, SecretKey, Source, TotpFactor
from tarantula.services.context import ServiceContext

TABLES = (Publication, Item, Source, Alert, TotpFactor)
"""Tables whose column ``configuration`` has secrets."""


class SecretsStatus(BaseModel):
    """The keys, and how many secrets are stored."""

    model_config = ConfigDict(frozen=True)

    source: str
    """Variable or file of the keys."""
    keys: list[str]
    """Ids of the keys here; the first one encrypts."""
    used: list[str]
    """Id of the key that the database is encrypted with; empty before the first secret."""
    secrets: dict[str, int]
    """Secrets by table."""
    unreadable: dict[str, int]
    """Secrets that cannot be read, by the id of their key."""
    complaint: str
    """Why the keys cannot be used; empty if they can."""


def status(context: ServiceContext) -> SecretsStatus:
    """Return which keys are here, and which secrets they cannot read."""
    keyring, complaint, keys = context.database.keyring, "", list[str]()
    try:
        keys = list(keyring.load())
    except MissingKey as error:
        complaint = str(error)
    stored, unreadable = Counter[str](), Counter[str]()
    with context.reading(Role.ADMINISTRATOR) as session:
        used = list(session.scalars(select(SecretKey.id)))
        for table, _, configuration in _stored(session):
            for secret in secrets_in(configuration):
                stored[table.__tablename__] += 1
                if is_sealed(keyring.unseal(secret)):
                    unreadable[secret.split(":")[1]] += 1
    return SecretsStatus(
        source=keyring.source,
        keys=keys,
        used=used,
        secrets=dict(stored),
        unreadable=dict(unreadable),
        complaint=complaint,
    )


def rotate(context: ServiceContext, *, drop_old: bool = False) -> int:
    """Encrypt all secrets with a new key, in one transaction; return their number.

    The new key is in the file before a row needs it, and old keys stay there: backups need them.
    """
    keyring, number = context.database.keyring, 0
    keys = list(keyring.load())
    with context.changing("secrets.rotate", "", needed=Role.ADMINISTRATOR, drop_old=drop_old) as session:
        connection = session.connection()
        lock_keys(connection, "EXCLUSIVE")
        used = set(session.scalars(select(SecretKey.id)))
        if not used <= set(keys):
            # Raises the sentence that names the missing key.
            require_key(keyring, connection)
        first = _next_key(context, keys, used)
        for table, number_of_row, configuration in _stored(session):
            clear = change_secrets(configuration, keyring.unseal)
            if lost := [secret for secret in secrets_in(clear) if is_sealed(secret)]:
                raise TarantulaError(
                    "{number} secrets of {table} {row} are encrypted with the key {key}, which is not here. "
                    "Nothing was changed. `tarantula secrets status` shows all of them.",
                    number=len(lost),
                    table=table.__tablename__,
                    row=number_of_row,
                    key=lost[0].split(":")[1],
                )
            sealed = change_secrets(clear, keyring.seal)
            if sealed != configuration:
                values = {"configuration": type_coerce(sealed, PlainJson)}
                session.execute(update(table).where(table.id == number_of_row).values(values))
                number += sum(1 for _ in secrets_in(sealed))
        register_key(connection, first)
    if drop_old:
        keyring.keep_first()
    return number


def _next_key(context: ServiceContext, keys: list[str], used: set[str]) -> str:
    """Return the key to rotate to: the first one here, if the database does not use it yet, or a new one."""
    if keys and used and keys[0] not in used:
        return keys[0]
    return context.database.keyring.add_key()


def _stored(session: Session) -> Iterator[tuple[Any, int, dict[str, Any]]]:
    """Yield table, id and configuration, as stored, of each row that has secrets."""
    for table in TABLES:
        plain = select(table.id, type_coerce(table.configuration, PlainJson)).order_by(table.id)
        for number, configuration in session.execute(plain).all():
            if any(True for _ in secrets_in(configuration)):
                yield table, number, configuration
