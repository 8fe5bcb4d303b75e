"""The column type of configurations with secrets, and the table that says which key they are sealed with."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import JSON, Connection, Dialect, TypeDecorator, text

from tarantula.core.messages import Message
from tarantula.core.secrets import Keyring, MissingKey, change_secrets

KEY_TABLE = "secret_key"
_USED = text(f"SELECT id FROM {KEY_TABLE}")
_keyrings: WeakKeyDictionary[Dialect, Keyring] = WeakKeyDictionary()


def set_keyring(dialect: Dialect, keyring: Keyring) -> None:
    """Use a keyring for the columns of an engine."""
    _keyrings[dialect] = keyring


def keyring_of(dialect: Dialect) -> Keyring:
    """Return the keyring of an engine, which `tarantula.core.database.Database` sets."""
    return _keyrings[dialect]


class SealedJson(TypeDecorator[dict[str, Any]]):
    """A configuration as JSON, with its secrets sealed in the database and in clear in Python."""

    impl = JSON
    cache_ok = True

    def process_bind_param(self, value: dict[str, Any] | None, dialect: Dialect) -> dict[str, Any] | None:
        """Seal the secrets."""
        return None if value is None else change_secrets(value, lambda secret: keyring_of(dialect).seal(secret))

    def process_result_value(self, value: dict[str, Any] | None, dialect: Dialect) -> dict[str, Any] | None:
        """Unseal the secrets whose keys are here; none if the engine has no keyring, as for the copy in a backup."""
        keyring = _keyrings.get(dialect)
        return value if value is None or keyring is None else change_secrets(value, keyring.unseal)


def lock_keys(connection: Connection, mode: str) -> None:
    """Lock the table of keys until the transaction ends; on SQLite the transaction itself is a lock."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"LOCK TABLE {KEY_TABLE} IN {mode} MODE"))


def require_key(keyring: Keyring, connection: Connection) -> None:
    """Check that the first key is the one that this database is sealed with; create it for a database without.

    Called in the transaction that stores a secret.
    """
    used = set(connection.scalars(_USED))
    # Of two machines that store the first secret at once, the second one sees the first one's key; and while a
    # secret is stored, the key is not rotated.
    lock_keys(connection, "SHARE" if used else "EXCLUSIVE")
    used = set(connection.scalars(_USED))
    keys = keyring.load()
    if not used:
        register_key(connection, next(iter(keys)) if keys else keyring.add_key())
    elif next(iter(keys), None) not in used:
        raise MissingKey(
            "The secrets of this database are encrypted with the key {used}, and {source} {found}. "
            "All machines of a database need the same key. Copy the key from the machine or the backup that has it "
            "to {path}, or set TARANTULA_SECRET_KEY.",
            used=", ".join(sorted(used)),
            source=keyring.source,
            found=Message("begins with the key {key}", key=next(iter(keys))) if keys else Message("has none"),
            path=keyring.path,
        )


def register_key(connection: Connection, key: str) -> None:
    """Make a key the one that a database is sealed with."""
    connection.execute(text(f"DELETE FROM {KEY_TABLE}"))
    connection.execute(text(f"INSERT INTO {KEY_TABLE} (id) VALUES (:id)"), {"id": key})
