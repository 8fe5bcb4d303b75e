"""Servers of an item, and the settings and decisions that people make for one server."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tarantula.core.errors import NotFoundError, TarantulaError
from tarantula.publications import registry
from tarantula.scope.servers import ServerSettings
from tarantula.services.context import ServiceContext
from tarantula.store import server_settings
from tarantula.store.listings import find_item


class ItemServerRow(BaseModel):
    """A server of an item, with document counts."""

    server: str
    documents: int
    collected: int
    waiting: int
    refused: int
    settings: ServerSettings


def list_servers(context: ServiceContext, urn: str, words: str = "") -> list[ItemServerRow]:
    """Return all servers of an item, accepted or not, whose names contain every one of *words*."""
    wanted = words.lower().split()
    with context.reading() as session:
        rows = server_settings.servers_of_item(session, find_item(session, urn))
    return [ItemServerRow(**row._asdict()) for row in rows if all(word in row.server for word in wanted)]


def get_server_settings(context: ServiceContext, server: str) -> list[tuple[str | None, ServerSettings]]:
    """Return the settings of a server: pairs of a publication, or ``None`` for all, and the settings there."""
    name = server_settings.server_name(server)
    with context.reading() as session:
        return server_settings.stored_server_settings(session, name)


def set_server(context: ServiceContext, server: str, publication: str | None = None, **settings: Any) -> ServerSettings:
    """Change settings of a server, in all publications or in one; ``None`` resets a setting."""
    if not settings:
        raise TarantulaError(
            "There is no setting to change: give one of {settings}.", settings=", ".join(server_settings.SETTING_FIELDS)
        )
    name = server_settings.server_name(server)
    with context.changing("server.set", name, publication=publication, **settings) as session:
        within = registry.get_publication(session, publication) if publication is not None else None
        return server_settings.put_server_settings(session, name, within, settings)


def clear_server(context: ServiceContext, server: str, publication: str | None = None) -> None:
    """Delete the settings of a server, for all publications or within one."""
    name = server_settings.server_name(server)
    before = dict[str, Any]()
    with context.changing("server.clear", name, publication=publication, before=before) as session:
        within = registry.get_publication(session, publication) if publication is not None else None
        stored = dict(server_settings.stored_server_settings(session, name)).get(publication, ServerSettings())
        before |= {key: value for key, value in stored.model_dump(mode="json").items() if value is not None}
        if not server_settings.clear_server_settings(session, name, within):
            raise NotFoundError(
                "There are no settings for {name}{where}.", name=name, where=_in_publication(publication)
            )


def accept_server(context: ServiceContext, urn: str, server: str) -> int:
    """Accept a server in an item, also while it is collected; return how many refused documents are queued by it."""
    name = server_settings.server_name(server)
    with context.changing("server.accept", urn, server=name) as session:
        return server_settings.accept_server(session, find_item(session, urn), name)


def subject(server: str, publication: str | None = None) -> str:
    """Return the name under which a server is stored, with the publication if there is one, for messages."""
    return f"{server_settings.server_name(server)}{_in_publication(publication)}"


def _in_publication(publication: str | None) -> str:
    """Return `` in NAME`` for messages; empty for all publications."""
    return f" in {publication}" if publication is not None else ""
