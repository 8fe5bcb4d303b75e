"""Omissions of a mirror, an export or a comparison: each document that is left out, with the cause."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Self

from tarantula.core.csv_text import csv_text
from tarantula.core.errors import TarantulaError, WithheldError
from tarantula.store.captures import MissingCapture

MISSING_LIST = "missing.csv"
"""Name of the list in an incomplete mirror or package."""


class OmissionCause(StrEnum):
    """Why something was left out."""

    MISSING = "missing"
    """The file, or the earlier item, that has the body is not there."""
    DAMAGED = "damaged"
    """The record cannot be read."""
    WITHHELD = "withheld"
    """It is taken down or under embargo."""
    TOO_LARGE = "too-large"
    """It exceeds a limit of the operation."""


class UnreadBody(NamedTuple):
    """Why the body of a document could not be read."""

    cause: str
    """`OmissionCause`."""
    reason: str
    """One sentence: which file, which offset."""

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Return the cause and the message of an error."""
        return cls(cause_of(error), str(error))


NO_BODY = UnreadBody(OmissionCause.MISSING, "Its body is missing.")


class Omission(NamedTuple):
    """A document, or a record of no known document, that was left out."""

    url: str
    """Empty for a record of no known document."""
    cause: str
    """`OmissionCause`."""
    reason: str
    """One sentence: which file, which offset."""


class IncompleteError(TarantulaError):
    """Nothing was written, because something would have been left out. Commands exit with code 3."""

    def __init__(self, message: str, omissions: Sequence[Omission]) -> None:
        super().__init__(message)
        self.omissions = list(omissions)


def cause_of(error: Exception) -> OmissionCause:
    """Return why a body could not be read."""
    if isinstance(error, WithheldError):
        return OmissionCause.WITHHELD
    is_gone = isinstance(error, MissingCapture) or isinstance(error.__cause__, FileNotFoundError)
    return OmissionCause.MISSING if is_gone else OmissionCause.DAMAGED


def as_csv(omissions: Iterable[Omission]) -> bytes:
    """Return the list as CSV with a header line."""
    return csv_text([Omission._fields, *omissions], newline="\n").encode()


def count_omissions(path: Path) -> int:
    """Return the number of entries of a list written by `as_csv`."""
    with path.open(encoding="utf-8", newline="") as file:
        return sum(1 for _ in csv.reader(file)) - 1
