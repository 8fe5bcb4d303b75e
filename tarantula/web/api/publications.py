"""API routes of publications, and of checks of publication fields and scope."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from tarantula.publications.config import PublicationConfig
from tarantula.publications.fields import MAX_ADDRESSES
from tarantula.services import publications
from tarantula.services.context import ResultPage
from tarantula.services.publications import PublicationRow, UrlVerdict
from tarantula.web.api.common import Cursor, Limit, Name, RequestContext, page_of
from tarantula.web.limits import PooledRoute

router = APIRouter(route_class=PooledRoute)

TOML_TYPE = "application/toml"
MAX_TRIED_URLS = 200

PublicationFields = Annotated[dict[str, Any], Body(description="Fields of a publication, as in `PublicationConfig`.")]


class NewPublication(PublicationConfig):
    """Fields of a new publication; the service checks the notification addresses, in a thread of its own."""

    notify: list[Annotated[str, Field(max_length=2000)]] = Field(default_factory=list, max_length=MAX_ADDRESSES)


class CopyRequest(BaseModel, extra="forbid"):
    """Name of the copy."""

    name: str = Field(max_length=100)


class ImportResponse(BaseModel):
    """Names of the stored publications."""

    names: list[str]


class CollectResponse(BaseModel):
    """Response of "collect now": the new item's URN."""

    urn: str


class CheckRequest(BaseModel, extra="forbid"):
    """Fields of a new publication, or of the stored one with this name."""

    fields: dict[str, Any]
    stored: str | None = Field(default=None, max_length=100)


class ScopeTestRequest(BaseModel, extra="forbid"):
    """URLs to test against the scope of a publication, stored or not."""

    fields: dict[str, Any]
    urls: list[Annotated[str, Field(max_length=4000)]] = Field(max_length=MAX_TRIED_URLS)
    depth: int = Field(default=1, ge=0, le=10_000)


@router.get("/publications", summary="Publications", tags=["publications"])
def list_publications(context: RequestContext, limit: Limit = 50, after: Cursor = None) -> ResultPage[PublicationRow]:
    """Return publications by name, with their last items and next due times."""
    return page_of(publications.list_publications(context), limit, after)


@router.post("/publications", summary="Create a publication", status_code=201, tags=["publications"])
def add_publication(context: RequestContext, body: NewPublication) -> dict[str, Any]:
    """Create a publication. For curators."""
    publications.add(context, body.name, body.model_dump())
    return publications.show_publication(context, body.name)


@router.get("/publications.toml", summary="Publications as TOML", response_class=Response, tags=["publications"],
            responses={200: {"content": {TOML_TYPE: {"schema": {"type": "string"}}}}})  # fmt: skip
def export_publications(
    context: RequestContext,
    name: Annotated[list[str] | None, Query(max_length=1000, description="Names; by default all.")] = None,
) -> Response:
    """Return publications as importable TOML, with secrets encrypted. For curators."""
    return Response(publications.export_toml(context, name), media_type=TOML_TYPE)


@router.post("/publications.toml", summary="Import publications", status_code=201, tags=["publications"])
def import_publications(
    context: RequestContext,
    body: Annotated[str, Body(media_type=TOML_TYPE)],
    replace: Annotated[bool, Query(description="Also replace existing publications.")] = False,
) -> ImportResponse:
    """Store all publications of a TOML file, or none on error. For curators."""
    return ImportResponse(names=publications.import_toml(context, body, replace))


@router.get("/publications/{name}", summary="One publication", tags=["publications"])
def show_publication(context: RequestContext, name: Name) -> dict[str, Any]:
    """Return every field of a publication, with secrets masked; a masked value that is sent back changes nothing."""
    return publications.show_publication(context, name)


@router.patch("/publications/{name}", summary="Change a publication", tags=["publications"])
def edit_publication(context: RequestContext, name: Name, body: PublicationFields) -> dict[str, Any]:
    """Change some fields; items that have started keep their settings. For curators."""
    publications.edit(context, name, body)
    return publications.show_publication(context, name)


@router.delete("/publications/{name}", summary="Remove a publication", status_code=204, tags=["publications"])
def remove_publication(context: RequestContext, name: Name) -> None:
    """Remove a publication without items. For curators."""
    publications.remove(context, name)


@router.post("/publications/{name}/copy", summary="Copy a publication", status_code=201, tags=["publications"])
def copy_publication(context: RequestContext, name: Name, body: CopyRequest) -> dict[str, Any]:
    """Create a copy of a publication. For curators."""
    publications.copy(context, name, body.name)
    return publications.show_publication(context, body.name)


@router.post("/publications/{name}/collect", summary="Collect now", status_code=202, tags=["publications"])
def collect_publication(context: RequestContext, name: Name) -> CollectResponse:
    """Create an item and start its collector, with or without a daemon. For curators."""
    return CollectResponse(urn=publications.collect_now(context, name))


@router.post("/checks/publication", summary="Validate publication fields", tags=["publications"])
def check_publication(context: RequestContext, body: CheckRequest) -> dict[str, str]:
    """Return an error for each invalid field; nothing is stored."""
    return publications.check_fields(context, body.fields, body.stored)


@router.post("/checks/scope", summary="Test URLs against a scope", tags=["publications"])
def try_urls(context: RequestContext, body: ScopeTestRequest) -> list[UrlVerdict]:
    """Return the decision of the scope rules about each URL, and the rule that decides."""
    return publications.judge_urls(context, body.fields, body.urls, body.depth)
