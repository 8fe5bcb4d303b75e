"""API routes of servers and their settings."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from tarantula.scope.servers import ServerSettings
from tarantula.services import servers
from tarantula.services.context import ResultPage
from tarantula.services.servers import ItemServerRow
from tarantula.web.api.common import Cursor, Limit, RequestContext, Urn, page_of
from tarantula.web.limits import PooledRoute

router = APIRouter(tags=["servers"], route_class=PooledRoute)

Server = Annotated[str, Path(max_length=270, description="A host name, with the port if it is not the default.")]
MAX_INTEGER = 2**31 - 1


class ServerChanges(BaseModel, extra="forbid"):
    """Settings to change. Null restores the publication's setting; omitted settings keep their values."""

    depth: int | None = Field(default=None, ge=0, le=MAX_INTEGER)
    documents: int | None = Field(default=None, ge=0, le=MAX_INTEGER)
    delay: float | None = Field(default=None, ge=0, le=86_400 * 365)
    excluded: bool | None = None


class AcceptServerResponse(BaseModel):
    """Result of accepting a server."""

    waiting: int
    """Number of refused documents that are now waiting."""


@router.get("/items/{urn}/servers", summary="Servers of an item")
def list_servers(
    context: RequestContext,
    urn: Urn,
    words: Annotated[str, Query(max_length=270, description="Words that the name contains.")] = "",
    limit: Limit = 50,
    after: Cursor = None,
) -> ResultPage[ItemServerRow]:
    """Return the servers that an item encountered, accepted or not."""
    return page_of(servers.list_servers(context, urn, words), limit, after)


@router.post("/items/{urn}/servers/{server}/accept", summary="Accept a server")
def accept_server(context: RequestContext, urn: Urn, server: Server) -> AcceptServerResponse:
    """Accept a server in an item, also while it is collected. For curators."""
    return AcceptServerResponse(waiting=servers.accept_server(context, urn, server))


@router.patch("/servers/{server}", summary="Change the settings of a server")
def set_server(
    context: RequestContext,
    server: Server,
    body: ServerChanges,
    publication: Annotated[str | None, Query(max_length=100, description="Only within this publication.")] = None,
) -> ServerSettings:
    """Change the settings of a server, for all publications or for one. For curators."""
    return servers.set_server(context, server, publication, **body.model_dump(exclude_unset=True))
