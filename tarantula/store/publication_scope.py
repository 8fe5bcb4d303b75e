"""Scope of a publication as stored in the database, and the addresses that may be connected to for it."""

from __future__ import annotations

from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.registry import component_paths
from tarantula.fetch.egress import EgressPolicy, NamedAddress
from tarantula.publications.config import PublicationConfig
from tarantula.publications.document_types import extensions_by_type, get_profile
from tarantula.publications.patterns import parse_pattern
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


def egress_policy(installation: Config, config: PublicationConfig) -> EgressPolicy:
    """Return which addresses may be connected to for a publication.

    It names its base server and the addresses among its accepted servers, if it has them written as addresses.
    """
    patterns = (parse_pattern(text) for text in config.accept)
    named = (
        NamedAddress(pattern.name, frozenset({int(pattern.port)}) if pattern.port else frozenset())
        for pattern in patterns
        if pattern.is_address
    )
    return EgressPolicy.of(installation, [config.base_url], named, allow_private=config.allow_private)
