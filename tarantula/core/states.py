"""States of documents and items, and the allowed transitions of an item."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from http import HTTPStatus

from tarantula.core.errors import ConflictError


class DocumentState(IntEnum):
    """States of zero and below are Tarântula's own, the same as in 2001; states above zero are HTTP status codes."""

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
"""States of successfully collected documents."""

REDIRECT_CODES = frozenset({301, 302, 303, 307, 308})
"""HTTP codes of redirects that are followed."""

UNREACHED_STATES = frozenset({DocumentState.TIMEOUT, DocumentState.SYSTEM_ERROR})
"""States that describe a failed connection, and not the document."""

STATE_MEANINGS: dict[int, str] = {
    DocumentState.COLLECTING: "being collected",
    DocumentState.INVALID_RESPONSE: "invalid HTTP response",
    DocumentState.NO_CODE: "no status code",
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
    """Return the meaning of a document state in English."""
    if state in STATE_MEANINGS:
        return STATE_MEANINGS[state]
    try:
        return f"HTTP: {HTTPStatus(state).phrase}"
    except ValueError:
        return "HTTP"


def is_final(state: int) -> bool:
    """Whether a document in this state will not change any more."""
    return state not in (DocumentState.WAITING, DocumentState.COLLECTING)


class ItemState(StrEnum):
    """Stage of an item's life."""

    WAITING = "waiting"
    COLLECTING = "collecting"
    CONVERTING = "converting"
    ARCHIVED = "archived"
    INTERRUPTED = "interrupted"
    REMOVING = "removing"
    """Its removal has begun and will be completed; nothing else uses it."""


class Validation(StrEnum):
    """Decision of a librarian about an item."""

    PENDING = "pending"
    VALID = "valid"
    REJECTED = "rejected"


class Shortage(StrEnum):
    """Resource that a machine lacks while a collector pauses."""

    DISK = "disk"
    FILES = "files"
    PORTS = "ports"
    MEMORY = "memory"
    PROCESSES = "processes"


SHORTAGE_MEANINGS: dict[Shortage, str] = {
    Shortage.DISK: "no space on the disk",
    Shortage.FILES: "no open file left",
    Shortage.PORTS: "no port left",
    Shortage.MEMORY: "little memory left",
    Shortage.PROCESSES: "no process left",
}


ITEM_TRANSITIONS: dict[ItemState, frozenset[ItemState]] = {
    ItemState.WAITING: frozenset({ItemState.COLLECTING, ItemState.INTERRUPTED}),
    ItemState.COLLECTING: frozenset({ItemState.CONVERTING, ItemState.ARCHIVED, ItemState.INTERRUPTED}),
    # It is collected again if bodies cannot be read back.
    ItemState.CONVERTING: frozenset({ItemState.COLLECTING, ItemState.ARCHIVED, ItemState.INTERRUPTED}),
    ItemState.INTERRUPTED: frozenset(
        {ItemState.COLLECTING, ItemState.CONVERTING, ItemState.ARCHIVED, ItemState.REMOVING}
    ),
    ItemState.ARCHIVED: frozenset({ItemState.REMOVING}),
    ItemState.REMOVING: frozenset(),
}

ACTIVE_ITEM_STATES = frozenset({ItemState.WAITING, ItemState.COLLECTING, ItemState.CONVERTING})
"""States in which a process works on the item or will do so."""

EXTENSIBLE_ITEM_STATES = frozenset({ItemState.WAITING, ItemState.COLLECTING, ItemState.INTERRUPTED})
"""States in which the deadline can be extended."""

REMOVABLE_ITEM_STATES = frozenset({ItemState.INTERRUPTED, ItemState.ARCHIVED})
"""States in which no process works on the item."""


def check_transition(urn: str, old: ItemState, new: ItemState) -> None:
    """Raise `ConflictError` if an item may not change from *old* to *new*."""
    if new not in ITEM_TRANSITIONS[old]:
        raise ConflictError("Item {urn} is {old} and cannot become {new}.", urn=urn, old=old, new=new)
