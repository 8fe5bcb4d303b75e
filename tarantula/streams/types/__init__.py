"""What texts mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation

from tarantula.streams.kinds import Aggregation, Kind
from tarantula.streams.value import NotRead, Value


@dataclass(frozen=True, slots=True)
class Guess:
    """What a field is."""

    kind: Kind
    unit: str
    aggregation: Aggregation


def guess(texts: Sequence[str]) -> Guess:
    """Guess what texts are."""
    try:
        whole = all(Decimal(text) == int(Decimal(text)) for text in texts)
    except InvalidOperation:
        return Guess(Kind.TEXT, "", Aggregation.LAST)
    return Guess(Kind.INTEGER if whole else Kind.DECIMAL, "", Aggregation.AVERAGE)


def read_text(
    text: str,
    kind: Kind,
    unit: str,
    history: Sequence[str] = (),
    *,
    base_url: str = "",
    now: datetime | None = None,
) -> Value:
    """Read a text as a value."""
    if not kind.is_number:
        return Value(kind, text)
    try:
        number = Decimal(text)
    except InvalidOperation as error:
        raise NotRead(f"{text[:40]!r} is no number.") from error
    return Value(kind, format(number.normalize(), "f"), number)
