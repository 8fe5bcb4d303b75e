"""Nobody waits for a visit that is far: a daemon goes on with the item when it is due."""

from __future__ import annotations

import logging

from tarantula.core.database import Database
from tarantula.core.states import ItemState
from tarantula.store.leases import is_unfinished
from tarantula.store.transitions import lock_item
from tarantula.store.visits import VisitTable

logger = logging.getLogger(__name__)


def pause_until_next_visit(database: Database, urn: str, visits: VisitTable | None) -> bool:
    """Leave an item to a daemon, if nothing is left of it but visits that are to come; say whether that is so."""
    if visits is None:
        return False
    with database.session() as session:
        item, connection = lock_item(session, urn), session.connection()
        due = visits.next_due(connection)
        if due is None or item.state != ItemState.COLLECTING or is_unfinished(connection, item.id):
            return False
        item.launched_at = item.launched_on = None
        item.retry_at = due
    logger.info("The next visit of %s is due at %s.", urn, due.isoformat(timespec="seconds"))
    return True
