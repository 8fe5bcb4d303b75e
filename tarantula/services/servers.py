"""Servers: those that an item met, settings of their own, one accepted while it runs."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tarantula.core.errors import TarantulaError
from tarantula.publications import registry, servers
from tarantula.scope.servers import ServerSettings
from tarantula.services.context import ServiceContext
from tarantula.store.listings import find_item


class ItemServerRow(BaseModel):
    """A server that an item met."""

    server: str
    documents: int
    collected: int
    waiting: int
    refused: int
    settings: ServerSettings


def list_servers(context: ServiceContext, urn: str, words: str = "") -> list[ItemServerRow]:
    """Return every server that an item met, accepted or not; or those whose names have all of some words."""
    wanted = words.lower().split()
    with context.reading() as session:
        rows = servers.servers_of_item(session, find_item(session, urn))
    return [ItemServerRow(**row._asdict()) for row in rows if all(word in row.server for word in wanted)]


def set_server(context: ServiceContext, server: str, publication: str | None = None, **settings: Any) -> ServerSettings:
    """Decide something for a server, for all publications or within one; ``None`` takes a decision back."""
    if not settings:
        raise TarantulaError(f"Nothing was decided: give one of {', '.join(servers.SETTING_FIELDS)}.")
    name = servers.server_name(server)
    with context.changing("server.set", name, publication=publication, **settings) as session:
        within = registry.get_publication(session, publication) if publication is not None else None
        return servers.put_server_settings(session, name, within, settings)


def accept_server(context: ServiceContext, urn: str, server: str) -> int:
    """Take a server into an item, also while it is collected; return how many refused documents now wait."""
    name = servers.server_name(server)
    with context.changing("server.accept", urn, server=name) as session:
        return servers.accept_server(session, find_item(session, urn), name)
