"""Document types and profiles: list, add and change them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from tarantula.publications import document_types
from tarantula.services.context import ServiceContext


class TypeRow(BaseModel):
    """A document type."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    mime: str
    extensions: list[str]
    description: str


class ProfileRow(BaseModel):
    """A named set of types."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    name: str
    types: list[str]
    description: str


def list_types(context: ServiceContext) -> list[TypeRow]:
    """Return all types, sorted by name."""
    with context.reading() as session:
        return [TypeRow.model_validate(row) for row in document_types.all_types(session)]


def add_type(context: ServiceContext, mime: str, extensions: Sequence[str], description: str = "") -> str:
    """Register a type; return its normalized name."""
    with context.changing("type.add", mime, extensions=list(extensions), description=description) as session:
        return document_types.add_type(session, mime, extensions, description).mime


def edit_type(context: ServiceContext, mime: str, extensions: Sequence[str], description: str) -> None:
    """Replace the extensions and the description of a type."""
    with context.changing("type.edit", mime, extensions=list(extensions), description=description) as session:
        document_types.edit_type(session, mime, extensions, description)


def list_profiles(context: ServiceContext) -> list[ProfileRow]:
    """Return all profiles, sorted by name."""
    with context.reading() as session:
        return [ProfileRow.model_validate(row) for row in document_types.all_profiles(session)]


def add_profile(context: ServiceContext, name: str, mimes: Sequence[str], description: str = "") -> None:
    """Create a profile from a list of types."""
    with context.changing("profile.add", name, types=list(mimes), description=description) as session:
        document_types.add_profile(session, name, mimes, description)


def edit_profile(
    context: ServiceContext,
    name: str,
    mimes: Sequence[str] | None = None,
    description: str | None = None,
    *,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
) -> None:
    """Replace the types of a profile, or add and remove some; started items continue with the new types."""
    types = None if mimes is None else list(mimes)
    changes: dict[str, Any] = {"types": types, "description": description, "add": list(add), "remove": list(remove)}
    detail = {key: value for key, value in changes.items() if value not in (None, [])}
    with context.changing("profile.edit", name, **detail) as session:
        document_types.edit_profile(session, name, types=types, add=add, remove=remove, description=description)
