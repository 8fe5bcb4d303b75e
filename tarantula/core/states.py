"""The states of documents and items, and the legal moves between those of an item."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from http import HTTPStatus

from tarantula.core.errors import ConflictError


class DocumentState(IntEnum):
    """Zero and below are Tarântula's own, as in 2001; what is above is an HTTP code."""

    COLLECTING = 0
    INVALID_RESPONSE = -1
    NO_CODE = -2
    UNKNOWN_TYPE = -3
    TOO_LARGE = -4
    SERVER_NOT_ACCEPTED = -5
    WAITING = -6
    EXCLUDED_BY_ROBOTS = -7
    TYPE_NOT_WANTED = -8
    OVER_LIMIT = -9
    TIMEOUT = -10
    SYSTEM_ERROR = -11


COLLECTED_STATES = range(200, 300)
"""The states of what a server gave."""

UNREACHED_STATES = frozenset({DocumentState.TIMEOUT, DocumentState.SYSTEM_ERROR})
"""The states that say nothing of the document, only of the way to it."""

STATE_MEANINGS: dict[int, str] = {
    DocumentState.COLLECTING: "being collected",
    DocumentState.INVALID_RESPONSE: "invalid HTTP response",
    DocumentState.NO_CODE: "code could not be told",
    DocumentState.UNKNOWN_TYPE: "type unknown",
    DocumentState.TOO_LARGE: "larger than allowed",
    DocumentState.SERVER_NOT_ACCEPTED: "server not accepted",
    DocumentState.WAITING: "waiting",
    DocumentState.EXCLUDED_BY_ROBOTS: "excluded by robots.txt",
    DocumentState.TYPE_NOT_WANTED: "type outside the publication's profile",
    DocumentState.OVER_LIMIT: "over a limit that is not size",
    DocumentState.TIMEOUT: "timeout",
    DocumentState.SYSTEM_ERROR: "system error",
}


def state_meaning(state: int) -> str:
    """What a document's state says, in words."""
    if state in STATE_MEANINGS:
        return STATE_MEANINGS[state]
    try:
        return f"HTTP: {HTTPStatus(state).phrase}"
    except ValueError:
        return "HTTP"


def is_final(state: int) -> bool:
    """Whether a document in this state is done with."""
    return state not in (DocumentState.WAITING, DocumentState.COLLECTING)


class ItemState(StrEnum):
    """Where an item is in its life."""

    WAITING = "waiting"
    COLLECTING = "collecting"
    CONVERTING = "converting"
    ARCHIVED = "archived"
    INTERRUPTED = "interrupted"


class Validation(StrEnum):
    """What a librarian made of an item."""

    PENDING = "pending"
    VALID = "valid"
    REJECTED = "rejected"


ITEM_TRANSITIONS: dict[ItemState, frozenset[ItemState]] = {
    ItemState.WAITING: frozenset({ItemState.COLLECTING, ItemState.INTERRUPTED}),
    ItemState.COLLECTING: frozenset({ItemState.CONVERTING, ItemState.ARCHIVED, ItemState.INTERRUPTED}),
    ItemState.CONVERTING: frozenset({ItemState.ARCHIVED, ItemState.INTERRUPTED}),
    ItemState.INTERRUPTED: frozenset({ItemState.COLLECTING, ItemState.CONVERTING, ItemState.ARCHIVED}),
    ItemState.ARCHIVED: frozenset(),
}

ACTIVE_ITEM_STATES = frozenset({ItemState.WAITING, ItemState.COLLECTING, ItemState.CONVERTING})
"""The states in which something is still to be done, by whoever comes."""

EXTENSIBLE_ITEM_STATES = frozenset({ItemState.WAITING, ItemState.COLLECTING, ItemState.INTERRUPTED})
"""The states in which a deadline means something."""

REMOVABLE_ITEM_STATES = frozenset({ItemState.INTERRUPTED, ItemState.ARCHIVED})
"""The states in which nobody is at work on an item."""


def check_transition(urn: str, old: ItemState, new: ItemState) -> None:
    """Refuse a move that is not in the table."""
    if new not in ITEM_TRANSITIONS[old]:
        raise ConflictError(f"Item {urn} is {old} and cannot become {new}.")
