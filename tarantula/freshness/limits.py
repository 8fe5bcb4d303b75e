"""How often the servers of a publication may be visited, and for how long a plan is made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import inf
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.models import Publication, Server
from tarantula.publications.registry import config_of, schedule_of
from tarantula.publications.schedule import next_due
from tarantula.publications.servers import effective_server_settings
from tarantula.scope.servers import ServerSettings
from tarantula.store.bulk import chunks

DEFAULT_HORIZON_SECONDS = 86_400.0
"""Seconds, of a publication that has neither a period nor a longest duration."""
MIN_PAUSE_SECONDS = 0.1
"""Seconds that a plan leaves between two visits, where a publication leaves none."""
MAX_VISITS = 1_000_000
"""Of one plan, unless somebody asks for more."""


class ServerLimit(NamedTuple):
    """What one server may be asked for."""

    server: str
    pause: float
    """Seconds between two visits; infinite for one that is not visited."""
    visits: int | None
    """At most, if that was decided."""


def horizon_of(installation: Config, publication: Publication, now: datetime) -> float:
    """Return how many seconds it is until the next item is due, or the longest that one may take if that is less."""
    due, longest = next_due(schedule_of(installation, publication), now), config_of(publication).max_duration
    times = [(due - now).total_seconds()] if due is not None else []
    times += [float(longest)] if longest else []
    return min(times, default=DEFAULT_HORIZON_SECONDS)


def server_limits(session: Session, publication: Publication, servers: Sequence[int]) -> list[ServerLimit]:
    """Return the limits of servers, by their ids: their own, or what the publication leaves between two visits."""
    delay = config_of(publication).delay
    settings = effective_server_settings(session.connection(), publication.id)
    known = {row.id: row for chunk in chunks(servers) for row in session.execute(_SERVERS.where(Server.id.in_(chunk)))}
    limits = []
    for server in servers:
        row = known[server]
        own = settings.get(row.name, ServerSettings())
        # What robots.txt asks for is in the pause that was last kept; trouble passes.
        asked = (row.pause or 0.0) - (row.backoff or 0.0)
        pause = max(delay if own.delay is None else own.delay, asked, MIN_PAUSE_SECONDS)
        limits.append(ServerLimit(row.name, inf if own.excluded else pause, own.documents))
    return limits


_SERVERS = select(Server.id, Server.name, Server.pause, Server.backoff)
