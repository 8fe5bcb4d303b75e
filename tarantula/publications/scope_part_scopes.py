"""The scope of a publication, as the database has it: known types, its profile, and what was decided for servers."""

from __future__ import annotations

from sqlalchemy.orm import Session

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
