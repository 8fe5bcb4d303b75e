"""Error messages: validation errors as sentences, and suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tarantula.core.errors import TarantulaError

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suggestion such as `` Did you mean fcul?``, or an empty string if no known name is similar."""
    near = get_close_matches(name, known, n=3)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def validation_messages(error: ValidationError, fields: Iterable[str]) -> list[str]:
    """Return one sentence per problem; *fields* are the known names, for suggestions."""
    return detail_messages(error.errors(include_url=False), fields)


def detail_messages(errors: Iterable[ErrorDetails], fields: Iterable[str]) -> list[str]:
    """Return one sentence per problem in pydantic's details of an error."""
    known = tuple(fields)
    return list(dict.fromkeys(_message(details, known) for details in errors))


def messages_by_field(error: ValidationError, fields: Iterable[str]) -> dict[str, str]:
    """Return the first message of each field; problems of the whole model are under the empty string."""
    known, messages = tuple(fields), dict[str, str]()
    for details in error.errors(include_url=False):
        messages.setdefault(str(details["loc"][0]) if details["loc"] else "", _message(details, known))
    return messages


def validation_error(error: ValidationError, fields: Iterable[str]) -> TarantulaError:
    """Return a `TarantulaError` with one line per problem, and the messages by path of the field."""
    known, by_path = tuple(fields), dict[str, str]()
    for details in error.errors(include_url=False):
        by_path.setdefault(_path(details), _message(details, known))
    return TarantulaError("\n".join(validation_messages(error, known)), fields=by_path)


def _path(details: ErrorDetails) -> str:
    return ".".join(str(part) for part in details["loc"])


def _message(details: ErrorDetails, known: tuple[str, ...]) -> str:
    field = _path(details)
    if details["type"] == "value_error":
        return str(details["ctx"]["error"])
    if details["type"] == "json_invalid":
        return f"This is not JSON: {details['ctx']['error']}."
    if details["type"] == "missing":
        return f"The field {field} is missing."
    if details["type"] == "extra_forbidden":
        return f"There is no field {field}.{did_you_mean(field, known)}"
    problem = details["msg"][:1].lower() + details["msg"][1:]
    return f"The field {field} cannot be {str(details['input'])[:80]!r}: {problem}."
