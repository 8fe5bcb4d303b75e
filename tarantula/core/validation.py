"""Validation errors of pydantic as messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ValidatorFunctionWrapHandler, WrapValidator

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message, did_you_mean, join_messages

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


def _keep_message(value: Any, validate: ValidatorFunctionWrapHandler) -> str:
    return value if isinstance(value, Message) else validate(value)


MessageText = Annotated[str, WrapValidator(_keep_message)]
"""Field of a model with a message, which pages translate; of other texts pydantic makes a plain `str`."""


def validation_messages(error: ValidationError, fields: Iterable[str]) -> list[str]:
    """Return one message per problem; *fields* are the known names, for suggestions."""
    return detail_messages(error.errors(include_url=False), fields)


def detail_messages(errors: Iterable[ErrorDetails], fields: Iterable[str]) -> list[str]:
    """Return one message per problem in pydantic's details of an error."""
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
    return TarantulaError(join_messages(validation_messages(error, known)), fields=by_path)


SECRET_FIELDS = frozenset(
    {"notify", "settings", "variables", "headers", "body", "steps", "password", "secret", "token"}
)
"""Fields whose values may be passwords: an error does not quote them."""


def _path(details: ErrorDetails) -> str:
    return ".".join(str(part) for part in details["loc"])


def _message(details: ErrorDetails, known: tuple[str, ...]) -> str:
    field = _path(details)
    if details["type"] == "value_error":
        return str(details["ctx"]["error"])
    if details["type"] == "json_invalid":
        return Message("This is not JSON: {error}.", error=details["ctx"]["error"])
    if details["type"] == "missing":
        return Message("The field {field} is missing.", field=field)
    if details["type"] == "extra_forbidden":
        return Message("There is no field {field}.{hint}", field=field, hint=did_you_mean(field, known))
    problem = Message(details["msg"][:1].lower() + details["msg"][1:])
    if SECRET_FIELDS & {str(part) for part in details["loc"]}:
        return Message("The field {field} is not valid: {problem}.", field=field, problem=problem)
    value = str(details["input"])[:80]
    return Message("The field {field} cannot be {value!r}: {problem}.", field=field, value=value, problem=problem)
