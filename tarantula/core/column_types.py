"""Column types of the tables: reasons, times and enumerations as stored, and columns that are encrypted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import JSON, BigInteger, Connection, DateTime, Dialect, Integer, MetaData, String, TypeDecorator, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from tarantula.core.messages import Message
from tarantula.core.reasons import MAX_CODE_LENGTH, Reason, as_reason, stored_reason
from tarantula.core.secrets import Keyring, MissingKey, change_secrets

KEY_TABLE = "secret_key"


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time in UTC, also on databases without time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC; refuse times without a zone, which are ambiguous."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return UTC, whatever the driver returned."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


BigId = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    """Declarative base that names every constraint, so that migrations can refer to them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class ReasonColumns:
    """The reason of a row: a code of `tarantula.core.reasons` and the values of its sentence."""

    # The last columns, after those of the table itself.
    reason_code: Mapped[str | None] = mapped_column(String(MAX_CODE_LENGTH), sort_order=1)
    reason_parameters: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True), sort_order=1)

    @property
    def reason(self) -> Reason | None:
        """The reason, or ``None``."""
        return Reason(self.reason_code, self.reason_parameters or {}) if self.reason_code is not None else None

    @reason.setter
    def reason(self, reason: Reason | None) -> None:
        for column, value in stored_reason(reason).items():
            setattr(self, column, value)

    @property
    def sentence(self) -> str:
        """The reason in English, as a message that pages translate; empty if there is none."""
        return reason.sentence() if (reason := self.reason) is not None else ""

    @sentence.setter
    def sentence(self, sentence: str) -> None:
        self.reason = as_reason(sentence) if sentence else None


def storable_text(text: str) -> str:
    """Return a text without the characters that databases refuse: NUL and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


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
