"""Base exceptions. Their message is shown to the user as it is: what was wrong, and what to do."""

from __future__ import annotations

from collections.abc import Mapping


class TarantulaError(Exception):
    """An error with a message for the user.

    Commands print the message and exit with code 2. Forms show each message in *fields* at its input; the keys are
    paths such as ``interval`` or ``fields.0.unit``.
    """

    def __init__(self, *message: object, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(*message)
        self.fields = dict(fields or {})


class NotFoundError(TarantulaError):
    """The requested object does not exist."""


class ConflictError(TarantulaError):
    """The current state forbids the action: a name is taken, an item is in another state."""


class UnusableError(TarantulaError):
    """Something that the action needs cannot be used until it is repaired."""


class DatabaseUnavailableError(TarantulaError):
    """The database cannot be used at the moment."""
