"""What people wish while an item is collected: that it stops, that it has more time, that it visits other servers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, select

from tarantula.crawl.discovery import Discovery
from tarantula.fetch.politeness import Politeness
from tarantula.publications import servers
from tarantula.publications.config import PublicationConfig
from tarantula.scope.scope import Scope
from tarantula.store.leases import ItemLeases
from tarantula.store.transitions import DEADLINE_REASON, STOPPED_REASON
from tarantula.tables.publications import Item


class ItemControl:
    """Reads them from the database, and sees that the stages go by them."""

    def __init__(
        self,
        item_id: int,
        deadline: datetime | None,
        leases: ItemLeases,
        scope: Scope,
        politeness: Politeness,
        discovery: Discovery,
    ) -> None:
        self._item_id = item_id
        self._deadline = deadline
        self._stop_wanted = False
        self._leases = leases
        self._scope = scope
        self._politeness = politeness
        self._discovery = discovery
        self._known: tuple[Any, ...] = ()
        self._counted: set[str] = set()

    @property
    def over(self) -> str | None:
        """Why the item may not be collected any longer, if it may not."""
        if self._stop_wanted:
            return STOPPED_REASON
        return DEADLINE_REASON if self._deadline is not None and self._deadline <= datetime.now(UTC) else None

    def read(self, connection: Connection) -> None:
        """Go by what was decided meanwhile: the deadline, a wish to stop, the servers and their settings."""
        found = connection.execute(
            select(Item.publication_id, Item.configuration, Item.deadline, Item.stop_wanted_at).where(
                Item.id == self._item_id
            )
        ).one()
        self._deadline, self._stop_wanted = found.deadline, found.stop_wanted_at is not None
        settings = servers.effective_server_settings(connection, found.publication_id)
        self._count_asked(connection, {name for name, own in settings.items() if own.documents is not None})
        if (found.configuration, settings) == self._known:
            return
        self._known = (found.configuration, settings)
        self._scope.adapt(PublicationConfig.model_validate(found.configuration), settings)
        self._politeness.delays = {name: own.delay for name, own in settings.items() if own.delay is not None}
        self._discovery.forget()

    def _count_asked(self, connection: Connection, limited: set[str]) -> None:
        """Count what others asked of servers that have a number of documents, when they come on lease."""
        held = limited & self._leases.held.keys()
        if new := held - self._counted:
            self._scope.servers.budget.count(servers.requested_counts(connection, self._item_id, sorted(new)))
        self._counted = held
