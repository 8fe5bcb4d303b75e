"""Document types and profiles."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from tarantula.services import document_types
from tarantula.services.document_types import ProfileRow, TypeRow
from tarantula.web.api.common import Name, RequestContext

router = APIRouter()

WordList = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=1000)]
Description = Annotated[str, Field(max_length=200)]
Mime = Annotated[str, Path(max_length=127, description="The type, as application/pdf.")]


class DocumentTypeChanges(BaseModel, extra="forbid"):
    """What a type is."""

    extensions: WordList
    description: Description = ""


class NewDocumentType(DocumentTypeChanges):
    """A type that is known from now on."""

    mime: str = Field(max_length=127)


class ProfileChanges(BaseModel, extra="forbid"):
    """What a profile holds."""

    types: WordList
    description: Description = ""


class NewProfile(ProfileChanges):
    """A named set of types."""

    name: str = Field(max_length=100)


@router.get("/types", summary="Every type", tags=["types"])
def list_types(desk: RequestContext) -> list[TypeRow]:
    """Return every known type, by name."""
    return document_types.list_types(desk)


@router.post("/types", summary="Make a type known", status_code=201, tags=["types"])
def add_type(desk: RequestContext, body: NewDocumentType) -> list[TypeRow]:
    """Make a type known; return all. For curators."""
    document_types.add_type(desk, body.mime, body.extensions, body.description)
    return document_types.list_types(desk)


@router.put("/types/{mime:path}", summary="Change a type", tags=["types"])
def edit_type(desk: RequestContext, mime: Mime, body: DocumentTypeChanges) -> list[TypeRow]:
    """Give a type other extensions and another description; return all. For curators."""
    document_types.edit_type(desk, mime, body.extensions, body.description)
    return document_types.list_types(desk)


@router.get("/profiles", summary="Every profile", tags=["types"])
def list_profiles(desk: RequestContext) -> list[ProfileRow]:
    """Return every profile, by name."""
    return document_types.list_profiles(desk)


@router.post("/profiles", summary="Make a profile", status_code=201, tags=["types"])
def add_profile(desk: RequestContext, body: NewProfile) -> list[ProfileRow]:
    """Make a profile of some types; return all. For curators."""
    document_types.add_profile(desk, body.name, body.types, body.description)
    return document_types.list_profiles(desk)


@router.put("/profiles/{name}", summary="Change a profile", tags=["types"])
def edit_profile(desk: RequestContext, name: Name, body: ProfileChanges) -> list[ProfileRow]:
    """Give a profile other types; items that were begun go on with the new ones. Return all. For curators."""
    document_types.edit_profile(desk, name, body.types, body.description)
    return document_types.list_profiles(desk)
