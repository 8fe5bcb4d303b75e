"""Servers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from tarantula.scope.servers_part_server_settings import ServerSettings
from tarantula.services import servers
from tarantula.services.pagination import Page
from tarantula.services.servers import ServerRow
from tarantula.web.api.common import AskedDesk, Cursor, Limit, Urn, paged

router = APIRouter(tags=["servers"])

Server = Annotated[str, Path(max_length=270, description="A host name, with the port when it is not the default.")]
LARGEST = 2**31 - 1


class ServerChanges(BaseModel, extra="forbid"):
    """What is decided for a server; what is null is as the publication has it, and what is not told stays."""

    depth: int | None = Field(default=None, ge=0, le=LARGEST)
    documents: int | None = Field(default=None, ge=0, le=LARGEST)
    delay: float | None = Field(default=None, ge=0, le=86_400 * 365)
    excluded: bool | None = None


class Accepted(BaseModel):
    """What a server that was accepted brings."""

    waiting: int
    """Refused documents that wait now."""


@router.get("/items/{urn}/servers", summary="Servers that an item met")
def list_servers(
    desk: AskedDesk,
    urn: Urn,
    words: Annotated[str, Query(max_length=270, description="All of them are in its name.")] = "",
    limit: Limit = 50,
    after: Cursor = None,
) -> Page[ServerRow]:
    """Return the servers that an item met, accepted or not."""
    return paged(servers.listed(desk, urn, words), limit, after)


@router.post("/items/{urn}/servers/{server}/accept", summary="Accept a server")
def accept_server(desk: AskedDesk, urn: Urn, server: Server) -> Accepted:
    """Take a server into an item, also while it is collected. For curators."""
    return Accepted(waiting=servers.accept(desk, urn, server))


@router.patch("/servers/{server}", summary="Decide something for a server")
def set_server(
    desk: AskedDesk,
    server: Server,
    body: ServerChanges,
    publication: Annotated[str | None, Query(max_length=100, description="Only within this publication.")] = None,
) -> ServerSettings:
    """Give a server settings of its own, in all publications or within one. For curators."""
    return servers.set_for(desk, server, publication, **body.model_dump(exclude_unset=True))
