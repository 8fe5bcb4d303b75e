"""Items without their base document: they are tried again within their time, and never end as if all were well."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy.orm import Session

from tarantula.archive.quality.baseline import base_row
from tarantula.archive.quality.indicators import store_indicators
from tarantula.core.config import Config
from tarantula.core.reasons import ItemReason, Reason
from tarantula.core.states import COLLECTED_STATES, UNREACHED_STATES, DocumentState, ItemState
from tarantula.lifecycle.supervisor import retry_pause
from tarantula.models import Document, Item
from tarantula.store.liveness import database_time
from tarantula.store.transitions import ItemNotice, queue_notice

MAX_BASE_RETRY_SECONDS = 86_400
"""Time since the start of an item in which its base document is tried again; a deadline may be earlier."""
PASSING_STATES = UNREACHED_STATES | {DocumentState.INVALID_RESPONSE, DocumentState.NO_CODE, 408, 425, 429}
"""States of a base document, besides 500 and over, that another try may change."""

ROBOTS_RULE = "Robots"
"""Rule of documents whose robots.txt could not be fetched."""


def postpone_without_base(session: Session, installation: Config, item: Item) -> timedelta | Reason | None:
    """Put a base document that failed for a passing reason back to waiting.

    Return the pause before the next try; the reason to interrupt the item, if its time is over; ``None`` if the base
    document is there, or failed for good.
    """
    base = base_row(session, item) if item.refreshes_id is None else None
    if base is None or not _may_pass(base):
        return None
    reason = Reason.of(ItemReason.BASE_MISSING, url=base.url, reason=base.reason)
    now = database_time(session.connection())
    pause = retry_pause(installation, max(base.tries, 1))
    ends = [(item.started_at or now) + timedelta(seconds=MAX_BASE_RETRY_SECONDS), item.deadline]
    # Also of an item that is interrupted: so that it can be resumed.
    base.state = DocumentState.WAITING
    session.flush()
    if now + pause >= min(end for end in ends if end is not None):
        return reason
    store_indicators(session, item)
    if item.reason is None:
        # The first time only.
        queue_notice(item, ItemNotice.ATTENTION, reason.sentence())
    item.reason = reason
    return pause


def base_problem(session: Session, item: Item) -> str | None:
    """Return a sentence if an item ended, or waits for another try, without its base document."""
    if item.reason is not None and item.reason.code == ItemReason.BASE_MISSING:
        again = "It is tried again by a daemon, or with" if item.state == ItemState.COLLECTING else "Continue with"
        return f"{item.reason} {again} `tarantula item resume {item.urn}`."
    base = base_row(session, item) if item.state in (ItemState.CONVERTING, ItemState.ARCHIVED) else None
    if base is None or base.state in COLLECTED_STATES:
        return None
    return f"The base document {base.url} was not collected: {base.reason}"


def _may_pass(base: Document) -> bool:
    """Whether another try may succeed; an error of a component, which has a rule of its own, stays."""
    if base.reason is not None and base.reason.code == "robots_error":
        return True
    return base.rule in (None, ROBOTS_RULE) and (base.state in PASSING_STATES or base.state >= 500)
