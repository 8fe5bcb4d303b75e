"""The scope of a publication, as the database has it: known types, its profile, and what was decided for servers."""

from __future__ import annotations

from sqlalchemy.orm import Session

from tarantula import catalogue
from tarantula.publications.config import PublicationConfig
from tarantula.scope.scope import Scope
from tarantula.servers import in_force

NOT_STORED = 0
"""What stands for the id of a publication that has none."""


def scope_of(session: Session, config: PublicationConfig, publication_id: int | None = None) -> Scope:
    """Return the rules that decide for a publication, stored or only described."""
    scope = Scope.of(config, catalogue.extensions(session), catalogue.wanted(session, config))
    scope.adapt(config, in_force(session.connection(), publication_id or NOT_STORED))
    return scope
