"""API routes of document types and profiles."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from tarantula.services import document_types
from tarantula.services.document_types import ProfileRow, TypeRow
from tarantula.web.api.common import Name, RequestContext
from tarantula.web.limits import PooledRoute

router = APIRouter(route_class=PooledRoute)

WordList = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=1000)]
Description = Annotated[str, Field(max_length=200)]
Mime = Annotated[str, Path(max_length=127, description="The type, such as application/pdf.")]


class DocumentTypeChanges(BaseModel, extra="forbid"):
    """Fields of a document type."""

    extensions: WordList
    description: Description = ""


class NewDocumentType(DocumentTypeChanges):
    """A new document type."""

    mime: str = Field(max_length=127)


class ProfileChanges(BaseModel, extra="forbid"):
    """Fields of a profile."""

    types: WordList
    description: Description = ""


class NewProfile(ProfileChanges):
    """A new profile: a named set of types."""

    name: str = Field(max_length=100)


@router.get("/types", summary="Document types", tags=["types"])
def list_types(context: RequestContext) -> list[TypeRow]:
    """Return all document types by name."""
    return document_types.list_types(context)


@router.post("/types", summary="Create a document type", status_code=201, tags=["types"])
def add_type(context: RequestContext, body: NewDocumentType) -> list[TypeRow]:
    """Create a document type; return all types. For curators."""
    document_types.add_type(context, body.mime, body.extensions, body.description)
    return document_types.list_types(context)


@router.put("/types/{mime:path}", summary="Change a document type", tags=["types"])
def edit_type(context: RequestContext, mime: Mime, body: DocumentTypeChanges) -> list[TypeRow]:
    """Change the extensions and description of a type; return all types. For curators."""
    document_types.edit_type(context, mime, body.extensions, body.description)
    return document_types.list_types(context)


@router.get("/profiles", summary="Profiles", tags=["types"])
def list_profiles(context: RequestContext) -> list[ProfileRow]:
    """Return all profiles by name."""
    return document_types.list_profiles(context)


@router.post("/profiles", summary="Create a profile", status_code=201, tags=["types"])
def add_profile(context: RequestContext, body: NewProfile) -> list[ProfileRow]:
    """Create a profile; return all profiles. For curators."""
    document_types.add_profile(context, body.name, body.types, body.description)
    return document_types.list_profiles(context)


@router.put("/profiles/{name}", summary="Change a profile", tags=["types"])
def edit_profile(context: RequestContext, name: Name, body: ProfileChanges) -> list[ProfileRow]:
    """Change the types of a profile, also for items that have started; return all profiles. For curators."""
    document_types.edit_profile(context, name, body.types, body.description)
    return document_types.list_profiles(context)
