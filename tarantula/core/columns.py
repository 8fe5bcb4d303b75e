"""Column types, the declarative base of all database tables, and columns that several tables have."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Integer, MetaData, String, TypeDecorator
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from tarantula.core.reasons import MAX_CODE_LENGTH, Reason, as_reason, stored_reason


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
