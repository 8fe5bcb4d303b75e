"""Scope of a publication as stored in the database, and whether it may visit private addresses."""

from __future__ import annotations

from sqlalchemy.orm import Session

from tarantula.core.urls import host_of
from tarantula.fetch.resolver import is_public, look_up
from tarantula.publications import document_types
from tarantula.publications.config import PublicationConfig
from tarantula.publications.servers import effective_server_settings
from tarantula.scope.scope import Scope

UNSTORED_PUBLICATION_ID = 0
"""What stands for the id of a publication that has none."""


def scope_of(session: Session, config: PublicationConfig, publication_id: int | None = None) -> Scope:
    """Return the rules that decide for a publication, stored or only described."""
    scope = Scope.of(config, document_types.extensions_by_type(session), document_types.wanted_types(session, config))
    scope.adapt(config, effective_server_settings(session.connection(), publication_id or UNSTORED_PUBLICATION_ID))
    return scope


def may_visit_private(config: PublicationConfig) -> bool:
    """Whether private addresses may be visited: not from a public base document, unless it says so."""
    return config.allow_private or any(not is_public(address) for address in look_up(host_of(config.base_server)))


def private_address(server: str) -> str | None:
    """Return the private address of a server that has no public one."""
    addresses = look_up(host_of(server))
    if not addresses or any(map(is_public, addresses)):
        return None
    return addresses[0]
