"""How reading a source goes."""

from __future__ import annotations

from enum import StrEnum


class SourceStatus(StrEnum):
    """What became of the last readings."""

    NEW = "new"
    """Not read yet."""
    READ = "read"
    MISSING = "missing"
    """Something that is wanted was not on the page."""
    DOUBTFUL = "doubtful"
    """What was found was put aside."""
    UNREACHED = "unreached"
    """Its server did not answer, or not with the page."""
    REFUSED = "refused"
    """robots.txt, or a rule, forbids it."""
