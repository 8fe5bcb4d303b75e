"""Sentences that several stages say in the same words."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tarantula.core.errors import TarantulaError

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean fcul?``, or nothing if no known name is near."""
    near = get_close_matches(name, known, n=3)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def validation_messages(error: ValidationError, fields: Iterable[str]) -> list[str]:
    """Return what is wrong, one sentence a field."""
    return detail_messages(error.errors(include_url=False), fields)


def detail_messages(errors: Iterable[ErrorDetails], fields: Iterable[str]) -> list[str]:
    """Return what is wrong, one sentence each."""
    known = tuple(fields)
    return list(dict.fromkeys(_of_field(details, known) for details in errors))


def messages_by_field(error: ValidationError, fields: Iterable[str]) -> dict[str, str]:
    """Return the first thing that is wrong with each field; under no name, what is wrong with all of them together."""
    known, complaints = tuple(fields), dict[str, str]()
    for details in error.errors(include_url=False):
        complaints.setdefault(str(details["loc"][0]) if details["loc"] else "", _of_field(details, known))
    return complaints


def validation_error(error: ValidationError, fields: Iterable[str]) -> TarantulaError:
    """Return the error that says what is wrong, one sentence a field, and in which of them it is."""
    known, places = tuple(fields), dict[str, str]()
    for details in error.errors(include_url=False):
        places.setdefault(".".join(str(part) for part in details["loc"]), _of_field(details, known))
    return TarantulaError("\n".join(validation_messages(error, known)), fields=places)


def _of_field(details: ErrorDetails, known: tuple[str, ...]) -> str:
    field = ".".join(str(part) for part in details["loc"])
    if details["type"] == "value_error":
        return str(details["ctx"]["error"])
    if details["type"] == "json_invalid":
        return f"This is not JSON: {details['ctx']['error']}."
    if details["type"] == "missing":
        return f"The field {field} is missing."
    if details["type"] == "extra_forbidden":
        return f"There is no field {field}.{did_you_mean(field, known)}"
    complaint = details["msg"][:1].lower() + details["msg"][1:]
    return f"The field {field} cannot be {str(details['input'])[:80]!r}: {complaint}."
