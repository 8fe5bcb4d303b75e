"""Publications: list, describe, check, change, import, export, and collect them now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core import validation
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
from tarantula.core.reasons import reason_fields
from tarantula.core.secrets import change_secrets, check_readable, masked, restore_masked, secrets_in
from tarantula.core.states import ItemState
from tarantula.frontier.strategies import STRATEGIES
from tarantula.lifecycle.coordinator import check_can_begin
from tarantula.lifecycle.schedule import create_item_now
from tarantula.models import Item, Publication
from tarantula.publications import config as toml
from tarantula.publications import registry
from tarantula.publications.config import PublicationConfig, read_config
from tarantula.publications.document_types import get_profile
from tarantula.publications.fields import check_name
from tarantula.publications.registry import next_due_of
from tarantula.publications.scrapy_settings import (
    WEB_SETTINGS,
    check_new_name,
    check_web_settings,
    ineffective_setting,
    is_ignored,
    privileged_change,
    setting_problem,
)
from tarantula.scope.scope import Scope
from tarantula.services import machines
from tarantula.services.context import ServiceContext, audited_changes
from tarantula.services.notifications import check_notify
from tarantula.store.server_settings import scope_of

SECRET_FIELDS = frozenset({"notify", "settings"})
"""Fields that contain passwords."""
PLACEHOLDER_NAME = "new"
"""Name of a publication that is tried before it has one."""

MAX_IMPORTED = 1_000
"""Maximum number of publications that pages and API import at once: meanwhile nothing else can be written on SQLite."""


class PublicationRow(BaseModel):
    """A publication with its last item and its next due time."""

    model_config = ConfigDict(frozen=True)

    name: str
    base_url: str
    description: str
    every: str
    next_due: datetime | None
    last_urn: str | None
    last_state: str | None
    last_at: datetime | None
    items: int
    complaint: str | None
    """Why it cannot be collected with its stored configuration."""


class UrlVerdict(BaseModel):
    """The decision of the scope rules about a URL."""

    model_config = ConfigDict(frozen=True)

    url: str
    accepted: bool
    rule: str
    reason: str
    """English sentence of the reason."""
    reason_code: str
    reason_parameters: dict[str, Any]


def list_publications(context: ServiceContext) -> list[PublicationRow]:
    """Return all publications with their last items and next due times."""
    with context.reading() as session:
        return publication_rows(context.installation, session)


def get_publication(context: ServiceContext, name: str) -> dict[str, Any]:
    """Return all fields of a publication as JSON values; passwords only for those who may change it."""
    with context.reading() as session:
        fields = registry.config_of(registry.get_publication(session, name)).model_dump(mode="json")
    if not context.person.role.allows(Role.CURATOR):
        fields = masked(fields)
    return fields


def show_publication(context: ServiceContext, name: str) -> dict[str, Any]:
    """Return all fields of a publication as JSON values, with secrets masked; `edit` takes masked ones back."""
    return masked(get_publication(context, name))


def list_described(context: ServiceContext, name: str | None = None) -> list[dict[str, Any]]:
    """Return publications, or the one named *name*, with all fields and times as JSON values; the keys are stable."""
    with context.reading(Role.CURATOR) as session:
        rows = registry.all_publications(session) if name is None else [registry.get_publication(session, name)]
        return [_described(context.installation, row) for row in rows]


def check_fields(context: ServiceContext, fields: Mapping[str, Any], name: str | None = None) -> dict[str, str]:
    """Return an error message for each wrong field of a publication, new or *name*; key ``""`` is for all together."""
    fields = {**fields, "name": name} if name is not None else fields
    errors = dict[str, str]()
    with context.reading() as session:
        stored = _stored_fields(session, name)
        fields = restore_masked(fields, stored)
        try:
            PublicationConfig.model_validate(dict(fields))
        except ValidationError as error:
            errors = validation.messages_by_field(error, PublicationConfig.model_fields)
        for check in (_check_strategy, _check_settings, _check_notify):
            try:
                check(context, fields, stored)
            except TarantulaError as error:
                errors = {**error.fields, **errors}
        try:
            get_profile(session, str(fields.get("profile", "everything")))
        except TarantulaError as error:
            errors.setdefault("profile", str(error))
        new = str(fields.get("name", ""))
        if name is None and "name" not in errors and session.scalar(select(exists().where(_has_name(new)))):
            complaint = Message("There is already a publication {new}.", new=new)
            errors["name"] = complaint
    if name is None and "name" not in errors:
        try:
            check_new_name(new)
        except ValueError as error:
            errors["name"] = str(error)
    return errors


def add(context: ServiceContext, name: str, fields: Mapping[str, Any]) -> str:
    """Store a new publication; return its name."""
    config = read_config({**fields, "name": name})
    _check_privileged_fields(context, config.model_dump())
    _check_new_name(config.name)
    changes = audited_changes({}, _audited(config), SECRET_FIELDS)
    with context.changing("publication.add", config.name, changes=changes) as session:
        registry.add_publication(session, config)
    return config.name


def edit(context: ServiceContext, name: str, fields: Mapping[str, Any]) -> None:
    """Change some fields of a publication; the audit log stores the old and new values."""
    changes = dict[str, Any]()
    with context.changing("publication.edit", name, changes=changes) as session:
        before = registry.config_of(registry.get_publication(session, name)).model_dump(mode="json")
        fields = restore_masked(fields, before)
        after = registry.config_of(registry.edit_publication(session, name, fields)).model_dump(mode="json")
        _check_privileged_fields(context, after, before)
        changes |= audited_changes(before, after, SECRET_FIELDS)


def _check_privileged_fields(
    context: ServiceContext, fields: Mapping[str, Any], stored: Mapping[str, Any] | None = None
) -> None:
    """Raise an error for fields that this person may not write; *stored* values may stay as they are."""
    _check_strategy(context, fields, stored or {})
    _check_settings(context, fields, stored or {})
    _check_notify(context, fields, stored or {})


def _check_strategy(context: ServiceContext, fields: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
    """Reject the import path of a strategy from the pages and the API."""
    name = fields.get("strategy")
    if context.may_run_code or not isinstance(name, str) or name in STRATEGIES or name == stored.get("strategy"):
        return
    message = Message(
        "The crawl order {name!r} is an import path, which can be set only on the command line, "
        "with `tarantula publication edit --strategy`. Choose {strategies}.",
        name=name[:80],
        strategies=", ".join(STRATEGIES),
    )
    raise NotAllowed(message, fields={"strategy": message})


def _check_settings(context: ServiceContext, fields: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
    """Reject Scrapy settings that a collection ignores or cannot have, that run code, or with invalid values."""
    settings, before = fields.get("settings"), stored.get("settings") or {}
    if not isinstance(settings, dict):
        return
    for name, value in settings.items():
        if name not in before or (context.may_run_code and value != before[name]):
            # What only the command line may set is refused below.
            complaint = setting_problem(name, value) if context.may_run_code else ineffective_setting(name)
            if complaint is not None:
                raise TarantulaError(complaint, fields={"settings": complaint})
    if context.may_run_code:
        return
    if (changed := privileged_change(settings, before)) is not None:
        message = _privileged_setting_message(changed, is_stored=changed in before)
        raise NotAllowed(message, fields={"settings": message})
    try:
        check_web_settings(settings, before)
    except ValueError as error:
        raise TarantulaError(str(error), fields={"settings": str(error)}) from error


def _check_notify(context: ServiceContext, fields: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
    """Reject notification addresses that this person may not write."""
    check_notify(context, fields.get("notify"), stored.get("notify") or ())


def _privileged_setting_message(name: str, *, is_stored: bool) -> Message:
    if is_stored:
        return Message(
            "The setting {name} can be changed or removed only on the command line, with "
            "`tarantula publication edit --set` or `--unset`. Leave it as it is.",
            name=name[:80],
        )
    return Message(
        "The setting {name} can be set only on the command line, with `tarantula publication edit --set`. "
        "Here these can be set: {allowed}.",
        name=name[:80],
        allowed=", ".join(WEB_SETTINGS),
    )


def _stored_fields(session: Session, name: str | None) -> dict[str, Any]:
    """Return the fields of a stored publication; empty if there is none, or if its configuration cannot be read."""
    row = session.scalar(select(Publication).where(_has_name(name))) if name and name.isascii() else None
    return {key: row.configuration.get(key) for key in ("strategy", "settings", "notify")} if row else {}


def _check_new_name(name: str) -> None:
    try:
        check_new_name(name)
    except ValueError as error:
        raise TarantulaError(str(error)) from error


def copy(context: ServiceContext, name: str, new_name: str) -> None:
    """Store a copy of a publication under a new name."""
    _check_new_name(new_name)
    with context.changing("publication.copy", new_name, source=name) as session:
        config = registry.config_of(registry.get_publication(session, name))
        ignored = {key: value for key, value in config.settings.items() if is_ignored(key, value)}
        _check_privileged_fields(context, config.model_dump(), {"settings": ignored, "notify": config.notify})
        registry.add_publication(session, read_config({**config.model_dump(), "name": new_name}))


def remove(context: ServiceContext, name: str) -> None:
    """Delete a publication that has no items."""
    with context.changing("publication.remove", name) as session:
        registry.remove_publication(session, name)


def import_toml(context: ServiceContext, text: str, replace: bool = False) -> list[str]:
    """Store the publications of a TOML text in one transaction; return their names."""
    context.person.check(Role.CURATOR)
    configs = toml.from_toml(text)
    if len(configs) > MAX_IMPORTED:
        raise TarantulaError(
            "The file has {count:,} publications, and {limit:,} is the limit. "
            "Divide it, or use `tarantula publication import`.",
            count=len(configs),
            limit=MAX_IMPORTED,
        )
    return import_configs(context, configs, replace)


def import_configs(context: ServiceContext, configs: Sequence[PublicationConfig], replace: bool = False) -> list[str]:
    """Store publications in one transaction; *replace* overwrites existing ones. Return their names."""
    configs = [_unsealed(context, config) for config in configs]
    names = [config.name for config in configs]
    store = registry.put_publication if replace else registry.add_publication
    changes = dict[str, Any]()
    with context.changing("publication.import", ", ".join(names), replace=replace, changes=changes) as session:
        for config in configs:
            row = session.scalar(select(Publication).where(_has_name(config.name)))
            if row is None:
                _check_new_name(config.name)
            _check_privileged_fields(context, config.model_dump(), _stored_fields(session, config.name))
            before = {"base_url": row.base_url, **row.configuration} if row is not None else {}
            changes[config.name] = audited_changes(before, _audited(config), SECRET_FIELDS)
            store(session, config)
    return names


def export_toml(context: ServiceContext, names: list[str] | None = None, *, with_secrets: bool = False) -> str:
    """Return publications, by default all, as TOML.

    Secrets are encrypted, so that another installation needs the same key; *with_secrets* writes them in clear.
    """
    with context.reading(Role.CURATOR) as session:
        rows = (
            [registry.get_publication(session, name) for name in names] if names else registry.all_publications(session)
        )
        configs = [registry.config_of(row) for row in rows]
    return toml.to_toml(config if with_secrets else _sealed(context, config) for config in configs)


def _sealed(context: ServiceContext, config: PublicationConfig) -> PublicationConfig:
    """Return a configuration with its secrets sealed; it is written to a file."""
    return config.model_copy(update=change_secrets(_secret_fields(config), context.database.keyring.seal))


def _unsealed(context: ServiceContext, config: PublicationConfig) -> PublicationConfig:
    """Return an imported configuration with its secrets unsealed; raise `MissingKey` if one cannot be."""
    unsealed = change_secrets(_secret_fields(config), context.database.keyring.unseal)
    check_readable(*secrets_in(unsealed))
    return read_config({**config.model_dump(), **unsealed})


def _secret_fields(config: PublicationConfig) -> dict[str, Any]:
    return {"notify": config.notify, "settings": config.settings}


def publication_scope(context: ServiceContext, name: str) -> Scope:
    """Return the scope rules of a stored publication."""
    with context.reading() as session:
        publication = registry.get_publication(session, name)
        return scope_of(session, registry.config_of(publication), publication.id)


def judge_urls(context: ServiceContext, fields: Mapping[str, Any], urls: list[str], depth: int = 1) -> list[UrlVerdict]:
    """Return the decision of the scope rules about URLs, for a publication that need not be stored."""
    name = str(fields.get("name") or PLACEHOLDER_NAME)
    name = name if _is_valid_name(name) else PLACEHOLDER_NAME
    with context.reading() as session:
        stored = _stored_fields(session, name)
        config = read_config({**restore_masked(fields, stored), "name": name})
        # A setting may name rules to import.
        _check_privileged_fields(context, config.model_dump(), stored)
        scope = scope_of(session, config, session.scalar(select(Publication.id).where(_has_name(config.name))))
    verdicts = [(url, scope.explain(url, depth=depth)) for url in urls]
    return [
        UrlVerdict(url=url, accepted=one.accepted, rule=one.rule, **reason_fields(one.reason)) for url, one in verdicts
    ]


def collect_now(context: ServiceContext, name: str) -> str:
    """Create an item of a publication and start its collector; return its urn."""
    context.person.check(Role.CURATOR)
    check_can_begin(context.installation, name)
    begun = dict[str, str]()
    with context.changing("publication.collect", name, begun=begun) as session:
        urn = begun["urn"] = create_item_now(session, registry.get_publication(session, name), datetime.now(UTC)).urn
    machines.start(context, urn, ItemState.WAITING)
    return urn


def publication_rows(installation: Config, session: Session) -> list[PublicationRow]:
    """Return all publications with their last items, sorted by name."""
    last = _last_items(session)
    return [
        _row(installation, publication, last.get(publication.id)) for publication in registry.all_publications(session)
    ]


def _row(installation: Config, publication: Publication, last: Any) -> PublicationRow:
    due, complaint = None, None
    try:
        due = next_due_of(installation, publication)
    except TarantulaError as error:
        complaint = str(error)
    return PublicationRow(
        name=publication.name,
        base_url=publication.base_url,
        description=publication.configuration.get("description", ""),
        every=publication.configuration.get("every", "once"),
        next_due=due,
        last_urn=last.urn if last else None,
        last_state=last.state if last else None,
        last_at=last.planned_at if last else None,
        items=last.items if last else 0,
        complaint=complaint,
    )


def _described(installation: Config, row: Publication) -> dict[str, Any]:
    last, due = row.last_scheduled_at, next_due_of(installation, row)
    return {
        **masked(registry.config_of(row).model_dump(mode="json")),
        "created_at": row.created_at.isoformat(),
        "last_scheduled_at": last.isoformat() if last else None,
        "next_due": due.isoformat() if due else None,
    }


def _last_items(session: Session) -> dict[int, Any]:
    latest_first = func.row_number().over(
        partition_by=Item.publication_id, order_by=(Item.planned_at.desc(), Item.id.desc())
    )
    items = func.count().over(partition_by=Item.publication_id)
    numbered = select(
        Item.publication_id,
        Item.urn,
        Item.state,
        Item.planned_at,
        latest_first.label("place"),
        items.label("items"),
    ).subquery()
    return {row.publication_id: row for row in session.execute(select(numbered).where(numbered.c.place == 1))}


def _has_name(name: str) -> Any:
    return Publication.name == name


def _audited(config: PublicationConfig) -> dict[str, Any]:
    return config.model_dump(mode="json", exclude={"name"})


def _is_valid_name(name: str) -> bool:
    try:
        return bool(check_name(name))
    except ValueError:
        return False
