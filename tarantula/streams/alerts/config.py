"""What people wrote in a condition, as values of the fields that it is held against: 1.234,56 € is 1234.56."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from tarantula.core import messages
from tarantula.core.errors import TarantulaError
from tarantula.streams.alerts.condition import Changed, Compare, Leaf, Record, Rule, Sign, Silent, Way, leaves
from tarantula.streams.alerts.config_part_alert import Understood
from tarantula.streams.kinds import Kind
from tarantula.streams.sources.config_part_source_field import SourceField
from tarantula.streams.values.value import NotRead, Value

Texts = Callable[[str], Sequence[str]]
"""The texts that were read of a field lately, by its key."""
OF_TEXTS = (Sign.CONTAINS, Sign.LACKS, Sign.MATCHES)


def understand(rule: Rule, fields: Mapping[str, SourceField], texts: Texts) -> dict[str, Understood]:
    """Return what each value of a condition means, or say which field does not exist and what is no value of one."""
    found = dict[str, Understood]()
    for leaf in leaves(rule.when):
        if leaf.field is None:
            continue
        if leaf.field not in fields:
            near = messages.did_you_mean(leaf.field, fields)
            raise TarantulaError(f"The source has no field {leaf.field}.{near} It has: {', '.join(fields)}.")
        found |= _of_leaf(leaf, fields[leaf.field], texts)
    return found


def key_of(field: str, written: str) -> str:
    """Return by what a meaning is found."""
    return f"{field} {written}"


def _of_leaf(leaf: Leaf, field: SourceField, texts: Texts) -> dict[str, Understood]:
    if isinstance(leaf, Silent):
        return {}
    history = texts(field.key)
    kind, unit = _kind(field, history)
    if kind is not None and not kind.is_number and _counts(leaf):
        raise TarantulaError(f"{field.key} is no number: it can be equal or not, contain, match, change or be silent.")
    if isinstance(leaf, Compare) and leaf.sign not in OF_TEXTS:
        return {key_of(field.key, leaf.value): _value(leaf.value, kind, unit, history, field.key)}
    if isinstance(leaf, Changed) and leaf.amount:
        return {key_of(field.key, f"by {leaf.amount}"): _amount(leaf.amount, kind, unit, history, field.key)}
    return {}


def _kind(field: SourceField, history: Sequence[str]) -> tuple[Kind | None, str]:
    if field.kind is not None or not history:
        return field.kind, field.unit
    from tarantula.streams.values import guess

    guessed = guess(history)
    return guessed.kind, field.unit or guessed.unit


def _counts(leaf: Leaf) -> bool:
    """Whether it asks something of numbers alone."""
    if isinstance(leaf, Compare):
        return leaf.sign not in (*OF_TEXTS, Sign.EQUAL, Sign.OTHER)
    if isinstance(leaf, Changed):
        return bool(leaf.amount or leaf.percent or leaf.way != Way.EITHER)
    return isinstance(leaf, Record)


def _value(text: str, kind: Kind | None, unit: str, history: Sequence[str], key: str) -> Understood:
    if kind is None:
        return Understood(text=text, number=plain_number(text), unit=unit)
    if not kind.is_number:
        return Understood(text=text, kind=kind)
    value = _read(text, kind, unit, history, key)
    return Understood(text=value.text, number=value.number, kind=kind, unit=unit)


def _amount(text: str, kind: Kind | None, unit: str, history: Sequence[str], key: str) -> Understood:
    """Return an amount by which values differ: ten degrees more are no degrees from the zero of a scale."""
    number = plain_number(text)
    if kind is not None:
        value = _read(text, Kind.DURATION if kind == Kind.MOMENT else kind, unit, history, key)
        number = value.number
        if number is not None and kind == Kind.QUANTITY and value.unit and unit:
            number -= _converted(Decimal(0), value.unit, unit)
    if number is None or number <= 0:
        raise TarantulaError(f"{text[:80]!r} is no amount by which {key} could change: write a number above nothing.")
    return Understood(text=f"{number:f}", number=number, kind=kind, unit=unit)


def _read(text: str, kind: Kind, unit: str, history: Sequence[str], key: str) -> Value:
    from tarantula.streams.values import read_text

    # Between two whole numbers there are others, which can be a limit.
    wide = Kind.DECIMAL if kind == Kind.INTEGER else kind
    try:
        return read_text(text, wide, unit, history)
    except NotRead as error:
        raise TarantulaError(f"{text[:80]!r} is no value of {key}: {error}") from error


def _converted(number: Decimal, from_: str, to: str) -> Decimal:
    from tarantula.streams.values import converted

    return converted(number, from_, to)


def plain_number(text: str) -> Decimal | None:
    """Return a number as programs write it, or nothing."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
