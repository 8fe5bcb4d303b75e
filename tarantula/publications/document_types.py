"""Stored document types (MIME types with their extensions) and profiles (named sets of them)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.core.errors import ConflictError, NotFoundError, TarantulaError
from tarantula.core.messages import did_you_mean
from tarantula.fetch.media_types import ExtensionsByType
from tarantula.models import DocumentType, Profile
from tarantula.publications.fields import check_name, check_type

LONGEST_DESCRIPTION = 200
_EXTENSION = re.compile(r"[a-z0-9][a-z0-9_+-]{0,19}")


def all_types(session: Session) -> list[DocumentType]:
    """Return all types, ordered by name."""
    return sorted(session.scalars(select(DocumentType)), key=lambda row: row.mime)


def all_profiles(session: Session) -> list[Profile]:
    """Return all profiles, ordered by name."""
    return sorted(session.scalars(select(Profile)), key=lambda row: row.name)


def extensions_by_type(session: Session) -> ExtensionsByType:
    """Return the extensions of each type."""
    return {row.mime: row.extensions for row in session.execute(select(DocumentType.mime, DocumentType.extensions))}


def add_type(session: Session, mime: str, suffixes: Sequence[str], description: str = "") -> DocumentType:
    """Add a type; *suffixes* are its extensions."""
    mime = _checked(check_type, mime)
    if "*" in mime:
        raise TarantulaError("{mime} matches many types; add them one by one.", mime=mime)
    if session.get(DocumentType, mime):
        raise ConflictError("The type {mime} already exists.", mime=mime)
    row = DocumentType(
        mime=mime, extensions=[_extension(suffix) for suffix in suffixes], description=_description(description)
    )
    session.add(row)
    session.flush()
    return row


def get_type(session: Session, mime: str) -> DocumentType:
    """Return a type by name; raise `TarantulaError` if it does not exist."""
    row = session.get(DocumentType, mime.lower()) if mime.isascii() else None
    if row is None:
        near = did_you_mean(mime, session.scalars(select(DocumentType.mime)))
        raise TarantulaError(
            "There is no type {mime!r}.{hint} `tarantula type list` shows them.", mime=mime[:80], hint=near
        )
    return row


def edit_type(session: Session, mime: str, suffixes: Sequence[str], description: str) -> DocumentType:
    """Replace the extensions and the description of a type."""
    row = get_type(session, mime)
    row.extensions, row.description = [_extension(suffix) for suffix in suffixes], _description(description)
    session.flush()
    return row


def get_profile(session: Session, name: str) -> Profile:
    """Return a profile by name; raise `NotFoundError` if it does not exist."""
    profile = session.get(Profile, name) if name.isascii() else None
    if profile is None:
        near = did_you_mean(name, session.scalars(select(Profile.name)))
        raise NotFoundError(
            "There is no profile {name!r}.{hint} `tarantula profile list` shows them.", name=name, hint=near
        )
    return profile


def add_profile(session: Session, name: str, mimes: Sequence[str], description: str = "") -> Profile:
    """Add a profile with some types."""
    name = _checked(check_name, name)
    if session.get(Profile, name):
        raise ConflictError("There is a profile {name} already. `tarantula profile edit` changes it.", name=name)
    profile = Profile(name=name, types=_types(mimes), description=_description(description))
    session.add(profile)
    session.flush()
    return profile


def edit_profile(
    session: Session,
    name: str,
    *,
    types: Sequence[str] | None = None,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    description: str | None = None,
) -> Profile:
    """Replace the types of a profile, or add and remove some; replace its description if given."""
    profile = get_profile(session, name)
    leaving = set(_types(remove)) if remove else set()
    mimes = [*(profile.types if types is None else types), *add]
    profile.types = _types([mime for mime in mimes if mime.lower() not in leaving])
    if description is not None:
        profile.description = _description(description)
    session.flush()
    return profile


def _types(mimes: Sequence[str]) -> list[str]:
    if not mimes:
        raise TarantulaError("A profile has at least one type.")
    return list(dict.fromkeys(_checked(check_type, mime) for mime in mimes))


def _extension(suffix: str) -> str:
    extension = suffix.strip().removeprefix(".").lower()
    if not _EXTENSION.fullmatch(extension):
        raise TarantulaError("{suffix!r} is not an extension. Write it as pdf or .pdf.", suffix=suffix[:40])
    return extension


def _description(text: str) -> str:
    if len(text) > LONGEST_DESCRIPTION:
        raise TarantulaError(
            "The description has {length} letters, and {limit} is the limit.",
            length=len(text),
            limit=LONGEST_DESCRIPTION,
        )
    return text.strip()


def _checked(check: Callable[[str], str], text: str) -> str:
    try:
        return check(text)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
