"""Publications."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from tarantula.publications.config import PublicationConfig
from tarantula.services import publications
from tarantula.services.pagination import ResultPage
from tarantula.services.publications import PublicationRow, UrlVerdict
from tarantula.web.api.common import Cursor, Limit, Name, RequestContext, page_of

router = APIRouter()

TOML_TYPE = "application/toml"
MAX_TRIED_URLS = 200

PublicationFields = Annotated[dict[str, Any], Body(description="Fields of a publication, as in `PublicationConfig`.")]


class CopyRequest(BaseModel, extra="forbid"):
    """What something is called."""

    name: str = Field(max_length=100)


class ImportResponse(BaseModel):
    """What was stored."""

    names: list[str]


class CollectResponse(BaseModel):
    """An item that was begun."""

    urn: str


class CheckRequest(BaseModel, extra="forbid"):
    """Fields of a publication that is new, or of the one that is *stored* under a name."""

    fields: dict[str, Any]
    stored: str | None = Field(default=None, max_length=100)


class ScopeTestRequest(BaseModel, extra="forbid"):
    """URLs that are held against the rules of a publication, stored or not."""

    fields: dict[str, Any]
    urls: list[Annotated[str, Field(max_length=4000)]] = Field(max_length=MAX_TRIED_URLS)
    depth: int = Field(default=1, ge=0, le=10_000)


@router.get("/publications", summary="Every publication", tags=["publications"])
def list_publications(desk: RequestContext, limit: Limit = 50, after: Cursor = None) -> ResultPage[PublicationRow]:
    """Return publications by name, with their last items and their next due times."""
    return page_of(publications.list_publications(desk), limit, after)


@router.post("/publications", summary="Describe a publication", status_code=201, tags=["publications"])
def add_publication(desk: RequestContext, body: PublicationConfig) -> dict[str, Any]:
    """Describe a new publication. For curators."""
    publications.add(desk, body.name, body.model_dump())
    return publications.get_publication(desk, body.name)


@router.get("/publications.toml", summary="Publications as TOML", response_class=Response, tags=["publications"],
            responses={200: {"content": {TOML_TYPE: {"schema": {"type": "string"}}}}})  # fmt: skip
def export_publications(
    desk: RequestContext,
    name: Annotated[list[str] | None, Query(max_length=1000, description="Which; all unless told.")] = None,
) -> Response:
    """Return publications in a file that can be imported. For curators: addresses of notifications hold passwords."""
    return Response(publications.export_toml(desk, name), media_type=TOML_TYPE)


@router.post("/publications.toml", summary="Import publications", status_code=201, tags=["publications"])
def import_publications(
    desk: RequestContext,
    body: Annotated[str, Body(media_type=TOML_TYPE)],
    replace: Annotated[bool, Query(description="Also change publications that are there.")] = False,
) -> ImportResponse:
    """Store the publications of a file, all of them or none. For curators."""
    return ImportResponse(names=publications.import_toml(desk, body, replace))


@router.get("/publications/{name}", summary="One publication", tags=["publications"])
def show_publication(desk: RequestContext, name: Name) -> dict[str, Any]:
    """Return every field of a publication."""
    return publications.get_publication(desk, name)


@router.patch("/publications/{name}", summary="Change a publication", tags=["publications"])
def edit_publication(desk: RequestContext, name: Name, body: PublicationFields) -> dict[str, Any]:
    """Change some fields; items that were begun keep what they began with. For curators."""
    publications.edit(desk, name, body)
    return publications.get_publication(desk, name)


@router.delete("/publications/{name}", summary="Forget a publication", status_code=204, tags=["publications"])
def remove_publication(desk: RequestContext, name: Name) -> None:
    """Forget a publication that has no items. For curators."""
    publications.remove(desk, name)


@router.post("/publications/{name}/copy", summary="Copy a publication", status_code=201, tags=["publications"])
def copy_publication(desk: RequestContext, name: Name, body: CopyRequest) -> dict[str, Any]:
    """Describe a publication as another is. For curators."""
    publications.copy(desk, name, body.name)
    return publications.get_publication(desk, body.name)


@router.post("/publications/{name}/collect", summary="Collect now", status_code=202, tags=["publications"])
def collect_publication(desk: RequestContext, name: Name) -> CollectResponse:
    """Begin an item and start its collector, whether a daemon runs or not. For curators."""
    return CollectResponse(urn=publications.collect_now(desk, name))


@router.post("/checks/publication", summary="What is wrong with some fields", tags=["publications"])
def check_publication(desk: RequestContext, body: CheckRequest) -> dict[str, str]:
    """Return a complaint for each field that cannot be stored as it is; nothing is stored."""
    return publications.check_fields(desk, body.fields, body.stored)


@router.post("/checks/scope", summary="Which URLs would be accepted", tags=["publications"])
def try_urls(desk: RequestContext, body: ScopeTestRequest) -> list[UrlVerdict]:
    """Ask the rules of scope what would become of some URLs, and which rule decides."""
    return publications.judge_urls(desk, body.fields, body.urls, body.depth)
