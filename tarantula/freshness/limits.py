"""Limits of a visit plan: the pause and budget of each server, and the horizon of the plan in seconds."""

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
from tarantula.scope.servers import ServerSettings
from tarantula.store.bulk import chunks
from tarantula.store.server_settings import effective_server_settings

DEFAULT_HORIZON_SECONDS = 86_400.0
"""Horizon for a publication without a period and a maximum duration."""
MIN_PAUSE_SECONDS = 0.1
"""Pause between two visits to a server if the publication has no delay."""
MAX_VISITS = 1_000_000
"""Default maximum of visits in a plan."""


class ServerLimit(NamedTuple):
    """Limits of one server."""

    server: str
    pause: float
    """Seconds between two visits; infinite for an excluded server."""
    visits: int | None
    """Maximum number of visits, if there is one."""


def horizon_of(installation: Config, publication: Publication, now: datetime) -> float:
    """Return the seconds until the next item is due, or the maximum duration of an item if that is shorter."""
    due, max_duration = next_due(schedule_of(installation, publication), now), config_of(publication).max_duration
    times = [(due - now).total_seconds()] if due is not None else []
    times += [float(max_duration)] if max_duration else []
    return min(times, default=DEFAULT_HORIZON_SECONDS)


def server_limits(session: Session, publication: Publication, servers: Sequence[int]) -> list[ServerLimit]:
    """Return the limits of servers, given by their ids: their own settings, or those of the publication."""
    delay = config_of(publication).delay
    settings = effective_server_settings(session.connection(), publication.id)
    known = {row.id: row for chunk in chunks(servers) for row in session.execute(_SERVERS.where(Server.id.in_(chunk)))}
    limits = []
    for server in servers:
        row = known[server]
        own = settings.get(row.name, ServerSettings())
        # The last pause includes the Crawl-delay of robots.txt; the backoff is temporary.
        crawl_delay = (row.pause or 0.0) - (row.backoff or 0.0)
        pause = max(delay if own.delay is None else own.delay, crawl_delay, MIN_PAUSE_SECONDS)
        limits.append(ServerLimit(row.name, inf if own.excluded else pause, own.documents))
    return limits


_SERVERS = select(Server.id, Server.name, Server.pause, Server.backoff)
