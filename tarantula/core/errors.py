"""Base exceptions. Their message is shown to the user as it is: what was wrong, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tarantula.core.messages import Message


class MessageError(Exception):
    """An error made of a template and its parameters; ``str(error)`` is the `Message`."""

    def __init__(self, template: str = "", /, **parameters: object) -> None:
        super().__init__(Message(template, **parameters))

    def __reduce__(self) -> tuple[Any, ...]:
        # By default the class would be called with the message, and a class may have other arguments.
        return _restore_error, (type(self), self.args, self.__dict__)


class TarantulaError(MessageError):
    """An error with a message for the user: ``raise TarantulaError("There is no item {urn}.", urn=urn)``.

    Commands print the message and exit with code 2. Forms show each message in *fields* at its input; the keys are
    paths such as ``interval`` or ``fields.0.unit``.
    """

    def __init__(self, template: str = "", /, *, fields: Mapping[str, str] | None = None, **parameters: object) -> None:
        super().__init__(template, **parameters)
        self.fields = dict(fields or {})


class NotFoundError(TarantulaError):
    """The requested object does not exist."""


class ConflictError(TarantulaError):
    """The current state forbids the action: a name is taken, an item is in another state."""


class WithheldError(TarantulaError):
    """A URL is taken down or under embargo: its documents are not shown."""


class UnusableError(TarantulaError):
    """Something that the action needs cannot be used until it is repaired."""


class DatabaseUnavailableError(TarantulaError):
    """The database cannot be used at the moment."""


class DatabaseUnreachableError(DatabaseUnavailableError):
    """The server of the database does not answer; a process that runs on waits until it is back."""


def _restore_error(kind: type[MessageError], arguments: tuple[Any, ...], attributes: Mapping[str, Any]) -> MessageError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error
