"""What a person can do wrong, and what can go wrong around them."""

from __future__ import annotations


class TarantulaError(Exception):
    """A sentence that says what was wrong and what to do.

    The commands print it and leave with exit code 2; nothing else is shown.
    """


class NotThere(TarantulaError):
    """What was asked for does not exist."""


class NotNow(TarantulaError):
    """It cannot be done as things are: a name is taken, an item is in another state."""


class NotUsable(TarantulaError):
    """What is needed cannot be used as it is: somebody must mend it first."""


class NotReached(TarantulaError):
    """The database cannot be used at the moment."""
