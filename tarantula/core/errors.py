"""What a person can do wrong, and what can go wrong around them."""

from __future__ import annotations

from collections.abc import Mapping


class TarantulaError(Exception):
    """A sentence that says what was wrong and what to do.

    The commands print it and leave with exit code 2; nothing else is shown. A form shows it where it belongs, as far as
    *fields* says which sentence is about which of them: ``interval``, ``fields.0.unit``.
    """

    def __init__(self, *sentence: object, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(*sentence)
        self.fields = dict(fields or {})


class NotFoundError(TarantulaError):
    """What was asked for does not exist."""


class ConflictError(TarantulaError):
    """It cannot be done as things are: a name is taken, an item is in another state."""


class UnusableError(TarantulaError):
    """What is needed cannot be used as it is: somebody must mend it first."""


class DatabaseUnavailableError(TarantulaError):
    """The database cannot be used at the moment."""
