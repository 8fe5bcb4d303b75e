"""Servers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from tarantula.scope.servers import ServerSettings
from tarantula.services import servers
from tarantula.services.pagination import ResultPage
from tarantula.services.servers import ItemServerRow
from tarantula.web.api.common import Cursor, Limit, RequestContext, Urn, page_of

router = APIRouter(tags=["servers"])

Server = Annotated[str, Path(max_length=270, description="A host name, with the port when it is not the default.")]
MAX_INTEGER = 2**31 - 1


class ServerChanges(BaseModel, extra="forbid"):
    """What is decided for a server; what is null is as the publication has it, and what is not told stays."""

    depth: int | None = Field(default=None, ge=0, le=MAX_INTEGER)
    documents: int | None = Field(default=None, ge=0, le=MAX_INTEGER)
    delay: float | None = Field(default=None, ge=0, le=86_400 * 365)
    excluded: bool | None = None


class AcceptServerResponse(BaseModel):
    """What a server that was accepted brings."""

    waiting: int
    """Refused documents that wait now."""


@router.get("/items/{urn}/servers", summary="Servers that an item met")
def list_servers(
    desk: RequestContext,
    urn: Urn,
    words: Annotated[str, Query(max_length=270, description="All of them are in its name.")] = "",
    limit: Limit = 50,
    after: Cursor = None,
) -> ResultPage[ItemServerRow]:
    """Return the servers that an item met, accepted or not."""
    return page_of(servers.list_servers(desk, urn, words), limit, after)


@router.post("/items/{urn}/servers/{server}/accept", summary="Accept a server")
def accept_server(desk: RequestContext, urn: Urn, server: Server) -> AcceptServerResponse:
    """Take a server into an item, also while it is collected. For curators."""
    return AcceptServerResponse(waiting=servers.accept_server(desk, urn, server))


@router.patch("/servers/{server}", summary="Decide something for a server")
def set_server(
    desk: RequestContext,
    server: Server,
    body: ServerChanges,
    publication: Annotated[str | None, Query(max_length=100, description="Only within this publication.")] = None,
) -> ServerSettings:
    """Give a server settings of its own, in all publications or within one. For curators."""
    return servers.set_server(desk, server, publication, **body.model_dump(exclude_unset=True))
