"""Document types and profiles: looked at, added, changed."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from tarantula.publications import document_types
from tarantula.services.context import ServiceContext


class TypeRow(BaseModel):
    """A known type."""

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
    """Return every known type, by name."""
    with context.reading() as session:
        return [TypeRow.model_validate(row) for row in document_types.all_types(session)]


def add_type(context: ServiceContext, mime: str, extensions: Sequence[str], description: str = "") -> None:
    """Make a type known."""
    with context.changing("type.add", mime) as session:
        document_types.add_type(session, mime, extensions, description)


def edit_type(context: ServiceContext, mime: str, extensions: Sequence[str], description: str) -> None:
    """Give a type other extensions, and another description."""
    with context.changing("type.edit", mime, extensions=list(extensions), description=description) as session:
        document_types.edit_type(session, mime, extensions, description)


def list_profiles(context: ServiceContext) -> list[ProfileRow]:
    """Return every profile, by name."""
    with context.reading() as session:
        return [ProfileRow.model_validate(row) for row in document_types.all_profiles(session)]


def add_profile(context: ServiceContext, name: str, mimes: Sequence[str], description: str = "") -> None:
    """Make a profile of some types."""
    with context.changing("profile.add", name, types=list(mimes)) as session:
        document_types.add_profile(session, name, mimes, description)


def edit_profile(context: ServiceContext, name: str, mimes: Sequence[str], description: str) -> None:
    """Give a profile other types, and another description; items that were begun go on with the new ones."""
    with context.changing("profile.edit", name, types=list(mimes), description=description) as session:
        document_types.edit_profile(session, name, types=mimes, description=description)
