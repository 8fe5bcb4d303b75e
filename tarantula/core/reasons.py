"""Reasons as data: a code with parameters, stored in rows. The sentence is made when a reason is shown.

Programs branch on codes only. To translate a reason, translate its template and fill in the parameters:
``REASON_TEMPLATES[reason.code]`` is the English template.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

TEXT = "text"
"""Code of a reason that is only a sentence, in the parameter `text`; rows of earlier versions may have one."""


class ItemReason(StrEnum):
    """Why an item was interrupted."""

    STOPPED = "stopped"
    DEADLINE = "deadline"
    CRASHED = "crashed"
    ENDED_EARLY = "ended_early"
    NOT_STARTED = "not_started"
    SPIDER_CLOSED = "spider_closed"
    ERROR = "error"


EXPECTED_INTERRUPTIONS = frozenset({ItemReason.STOPPED, ItemReason.DEADLINE})
"""Interruptions that need no attention."""

REASON_TEMPLATES: dict[str, str] = {
    TEXT: "{text}",
    ItemReason.STOPPED: "It was stopped by a user.",
    ItemReason.DEADLINE: "It reached its maximum duration.",
    ItemReason.CRASHED: "Its processes crashed {crashes} times; see {log}.",
    ItemReason.ENDED_EARLY: "Its collector ended before all documents were collected.",
    ItemReason.NOT_STARTED: "Its collector could not be started; see the log.",
    ItemReason.SPIDER_CLOSED: "The spider was closed: {close_reason}.",
    ItemReason.ERROR: "{error}",
}
"""English template of each code, with the names of its parameters."""


class Reason(NamedTuple):
    """A code of `REASON_TEMPLATES` with its parameters."""

    code: str
    parameters: Mapping[str, Any]

    @classmethod
    def of(cls, code: str, **parameters: Any) -> Reason:
        """Return a reason with the given parameters."""
        return cls(str(code), parameters)

    def sentence(self, translate: Callable[[str], str] = str) -> str:
        """Return the reason as text; *translate* is called with the English template."""
        if (template := REASON_TEMPLATES.get(self.code)) is None:
            # Written by a newer version, or by a component that is not installed.
            return f"{self.code} {dict(self.parameters)}" if self.parameters else self.code
        return translate(template).format_map(self.parameters)

    def __str__(self) -> str:
        return self.sentence()


def reason_fields(reason: Reason | None) -> dict[str, Any]:
    """Return the fields `reason` (the English sentence), `reason_code` and `reason_parameters` of a row in JSON."""
    if reason is None:
        return {"reason": None, "reason_code": None, "reason_parameters": None}
    return {"reason": reason.sentence(), "reason_code": reason.code, "reason_parameters": dict(reason.parameters)}
