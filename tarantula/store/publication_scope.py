"""Scope of a publication as stored in the database, and whether it may visit private addresses."""

from __future__ import annotations

from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.registry import component_paths
from tarantula.core.urls import host_of
from tarantula.fetch.resolver import is_public, look_up
from tarantula.publications.config import PublicationConfig
from tarantula.publications.document_types import extensions_by_type, get_profile
from tarantula.scope.scope import Scope
from tarantula.scope.types import TypeSet
from tarantula.store.server_settings import effective_server_settings

UNSTORED_PUBLICATION_ID = 0
"""Id of a publication that is not stored; no server settings belong to it."""


def wanted_types(session: Session, config: PublicationConfig) -> TypeSet:
    """Return the types that a publication wants."""
    return TypeSet(get_profile(session, config.profile).types, config.add_types, config.exclude_types)


def build_scope(session: Session, config: PublicationConfig) -> Scope:
    """Build the scope of a publication with the additional rules of the installation, without per-server settings."""
    installation = Config()
    return Scope.of(
        config,
        extensions_by_type(session),
        wanted_types(session, config),
        component_paths(installation.scope_rules),
        component_paths(installation.header_checks),
    )


def scope_of(session: Session, config: PublicationConfig, publication_id: int | None = None) -> Scope:
    """Return the scope of a publication, stored or not, with its per-server settings."""
    scope = build_scope(session, config)
    scope.adapt(config, effective_server_settings(session.connection(), publication_id or UNSTORED_PUBLICATION_ID))
    return scope


def may_visit_private(config: PublicationConfig) -> bool:
    """Whether the collector may connect to private addresses: if configured, or if the base server is at one."""
    return config.allow_private or any(not is_public(address) for address in look_up(host_of(config.base_server)))


def private_address(server: str) -> str | None:
    """Return the private address of a server without a public one, else ``None``."""
    addresses = look_up(host_of(server))
    if not addresses or any(map(is_public, addresses)):
        return None
    return addresses[0]
