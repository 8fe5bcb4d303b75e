"""Scope of a publication as stored: settings and counts per server, and the addresses that may be connected to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, case, func, or_, select, update
from sqlalchemy.orm import Session

from tarantula.core import validation
from tarantula.core.config import Config
from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.messages import join_messages
from tarantula.core.registry import component_paths
from tarantula.core.states import DocumentState, ItemState
from tarantula.fetch.egress import EgressPolicy, NamedAddress
from tarantula.models import Document, Item, Publication, Server, ServerSetting
from tarantula.publications.config import PublicationConfig, read_config
from tarantula.publications.document_types import extensions_by_type, get_profile
from tarantula.publications.patterns import parse_pattern
from tarantula.scope.scope import Scope
from tarantula.scope.servers import ServerNotAccepted, ServerSettings
from tarantula.scope.types import TypeSet
from tarantula.store.document_query import document_id_range
from tarantula.store.listings import IS_COLLECTED

UNSTORED_PUBLICATION_ID = 0
"""Id of a publication that is not stored; no server settings belong to it."""


SETTING_FIELDS = tuple(ServerSettings.model_fields)
UNREQUESTED_STATES = (DocumentState.OVER_LIMIT, DocumentState.SERVER_NOT_ACCEPTED, DocumentState.EXCLUDED_BY_ROBOTS)
"""States of documents that were refused just before their request."""
_COLUMNS = tuple(getattr(ServerSetting, field) for field in SETTING_FIELDS)


class ItemServer(NamedTuple):
    """A server of an item, with counts of its documents."""

    server: str
    documents: int
    collected: int
    waiting: int
    refused: int
    """Documents refused because the server is excluded or not accepted."""
    settings: ServerSettings

    def as_dict(self) -> dict[str, Any]:
        """Return the row for JSON; the keys are part of the interface."""
        return {**self._asdict(), "settings": self.settings.model_dump()}


def server_name(text: str) -> str:
    """Return the canonical name of one server; raise `TarantulaError` if it is invalid or a pattern."""
    try:
        pattern = parse_pattern(text)
    except ValueError as error:
        raise TarantulaError(str(error)) from error
    if "*" in pattern.name or pattern.name.startswith("."):
        raise TarantulaError("{text!r} matches many servers; settings are for one server.", text=text[:80])
    return str(pattern)


def put_server_settings(
    session: Session, server: str, publication: Publication | None, changes: Mapping[str, Any]
) -> ServerSettings:
    """Change some settings of a server, for one publication or for all; return the resulting settings."""
    row = session.scalar(_rows(server, publication))
    before = {} if row is None else {field: getattr(row, field) for field in SETTING_FIELDS}
    try:
        settings = ServerSettings.model_validate({**before, **changes})
    except ValidationError as error:
        raise TarantulaError(join_messages(validation.validation_messages(error, SETTING_FIELDS))) from error
    if row is None:
        row = ServerSetting(server=server, publication_id=publication.id if publication else None)
        session.add(row)
    for field in SETTING_FIELDS:
        setattr(row, field, getattr(settings, field))
    session.flush()
    return settings


def clear_server_settings(session: Session, server: str, publication: Publication | None) -> bool:
    """Remove the settings of a server, for one publication or for all; return whether there were any."""
    row = session.scalar(_rows(server, publication))
    if row is not None:
        session.delete(row)
        session.flush()
    return row is not None


def stored_server_settings(session: Session, server: str) -> list[tuple[str | None, ServerSettings]]:
    """Return the settings of a server with the publication that they belong to; ``None`` means all."""
    rows = session.execute(
        select(Publication.name, *_COLUMNS)
        .select_from(ServerSetting)
        .outerjoin(Publication, Publication.id == ServerSetting.publication_id)
        .where(ServerSetting.server == server)
    )
    found = [(name, ServerSettings(**dict(zip(SETTING_FIELDS, values, strict=True)))) for name, *values in rows]
    return sorted(found, key=lambda one: one[0] or "")


def effective_server_settings(connection: Connection, publication_id: int) -> dict[str, ServerSettings]:
    """Return the effective settings of each server in a publication: its own first, then those for all."""
    rows = connection.execute(
        select(ServerSetting.server, *_COLUMNS)
        .where(or_(ServerSetting.publication_id.is_(None), ServerSetting.publication_id == publication_id))
        .order_by(ServerSetting.publication_id.is_not(None))
    )
    settings: dict[str, ServerSettings] = {}
    for server, *values in rows:
        own = ServerSettings(**dict(zip(SETTING_FIELDS, values, strict=True)))
        settings[server] = own.over(settings[server]) if server in settings else own
    return settings


def servers_of_item(session: Session, item: Item) -> list[ItemServer]:
    """Return all servers of an item, accepted or not, ordered by their number of documents."""
    settings = effective_server_settings(session.connection(), item.publication_id)
    first, last = document_id_range(session, item)
    # Count by server id first, so that names are joined once per server and not per document.
    counts = (
        select(
            Document.server_id,
            func.count().label("documents"),
            func.count(case((IS_COLLECTED, 1))).label("collected"),
            func.count(case((Document.state == DocumentState.WAITING, 1))).label("waiting"),
            func.count(case((Document.state == DocumentState.SERVER_NOT_ACCEPTED, 1))).label("refused"),
        )
        .where(Document.item_id + 0 == item.id, Document.id.between(first, last))
        .group_by(Document.server_id)
        .subquery()
    )
    rows = session.execute(
        select(Server.name, counts.c.documents, counts.c.collected, counts.c.waiting, counts.c.refused)
        .join(Server, Server.id == counts.c.server_id)
        .order_by(counts.c.documents.desc(), Server.name)
    )
    return [
        ItemServer(name, documents, collected, waiting, refused, settings.get(name, ServerSettings()))
        for name, documents, collected, waiting, refused in rows
    ]


def requested_counts(connection: Connection, item_id: int, servers: list[str]) -> dict[str, int]:
    """Return how many documents of some servers were requested in an item."""
    rows = connection.execute(
        select(Server.name, func.count())
        .select_from(Document)
        .join(Server, Server.id == Document.server_id)
        .where(
            Document.item_id == item_id,
            Server.name.in_(servers),
            Document.tries > 0,
            Document.state.not_in(UNREQUESTED_STATES),
        )
        .group_by(Server.name)
    )
    return dict(rows.all())


def accept_server(session: Session, item: Item, server: str) -> int:
    """Accept a server in an item that is not archived; return how many refused documents now wait."""
    session.refresh(item, with_for_update=True)
    if item.state == ItemState.ARCHIVED:
        raise ConflictError("The item {urn} is archived: nothing can be added to it.", urn=item.urn)
    config = PublicationConfig.model_validate(item.configuration)
    if server not in config.accept:
        item.configuration = read_config(config.model_dump() | {"accept": [*config.accept, server]}).model_dump(
            mode="json"
        )
    changed = session.execute(
        update(Document)
        .where(
            Document.item_id == item.id,
            Document.server_id.in_(select(Server.id).where(_matching(server))),
            Document.state == DocumentState.SERVER_NOT_ACCEPTED,
            Document.rule == ServerNotAccepted.__name__,
        )
        .values(state=DocumentState.WAITING, rule=None, reason_code=None, reason_parameters=None),
        execution_options={"synchronize_session": False},
    )
    return int(getattr(changed, "rowcount", 0))


def _matching(server: str) -> ColumnElement[bool]:
    if parse_pattern(server).port:
        return Server.name == server
    # A pattern without a port matches any port.
    return or_(Server.name == server, Server.name.startswith(f"{server}:", autoescape=True))


def _rows(server: str, publication: Publication | None) -> Any:
    of = ServerSetting.publication_id == publication.id if publication else ServerSetting.publication_id.is_(None)
    return select(ServerSetting).where(ServerSetting.server == server, of)


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
