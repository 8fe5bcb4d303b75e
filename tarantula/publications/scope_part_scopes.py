"""The scope of a publication, as the database has it: known types, its profile, and what was decided for servers."""

from __future__ import annotations

from sqlalchemy.orm import Session

from tarantula.publications import document_types
from tarantula.publications.config import PublicationConfig
from tarantula.publications.servers import in_force
from tarantula.scope.scope import Scope

NOT_STORED = 0
"""What stands for the id of a publication that has none."""


def scope_of(session: Session, config: PublicationConfig, publication_id: int | None = None) -> Scope:
    """Return the rules that decide for a publication, stored or only described."""
    scope = Scope.of(config, document_types.extensions(session), document_types.wanted(session, config))
    scope.adapt(config, in_force(session.connection(), publication_id or NOT_STORED))
    return scope
