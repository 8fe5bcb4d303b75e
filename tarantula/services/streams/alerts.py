"""Alerts: each person keeps their own, on sources that they may see; includes the check of notification addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel
from sqlalchemy.orm import Session

from tarantula.accounts.roles import NotAllowed, Person, Role
from tarantula.core.errors import TarantulaError
from tarantula.fetch.resolver import is_public, look_up
from tarantula.models import Alert, Source
from tarantula.publications.fields import apprise_plugin, check_notification_address, split_words
from tarantula.publications.notifications import NotificationMessage, send_message
from tarantula.services.context import ServiceContext
from tarantula.services.pagination import ResultPage, checked_limit, read_cursor, write_cursor
from tarantula.services.streams.sources import audit_subject
from tarantula.streams.alerts import registry
from tarantula.streams.alerts.condition_text import format_rule
from tarantula.streams.alerts.config import AlertConfig, read_alert
from tarantula.streams.alerts.replay import DryRun, dry_run_config, moment_of
from tarantula.streams.sources import registry as sources

TRIAL_MESSAGE = NotificationMessage("Tarântula", "This is a trial: alerts will be told here.", "info")


def check_reachable(person: Person, notify: object) -> None:
    """Refuse addresses in private networks to readers: this machine reaches what they may not."""
    if person.role.allows(Role.CURATOR):
        return
    for address in addresses_in(notify):
        plugin = apprise_plugin(address)
        host = getattr(plugin, "smtp_host", None) or getattr(plugin, "host", None)
        if isinstance(host, str) and any(not is_public(found) for found in look_up(host)):
            complaint = f"{host[:100]!r} is in a private network, and sending there needs {Role.CURATOR.somebody}."
            raise NotAllowed(complaint, fields={"notify": complaint})


def send_trial(person: Person, notify: object) -> int:
    """Send a message to addresses before anything depends on them; return how many took it, or say which refused."""
    check_reachable(person, notify)
    addresses = list(addresses_in(notify))
    for address in addresses:
        try:
            check_notification_address(address)
        except ValueError as error:
            raise TarantulaError(str(error), fields={"notify": str(error)}) from error
    # Addresses carry passwords: only what comes before them is said.
    deaf = [address.partition("://")[0] for address in addresses if not send_message(TRIAL_MESSAGE, address)]
    if deaf or not addresses:
        complaint = f"Refused, or not reached: {', '.join(deaf)}. Look at its host, its name and its password."
        if not addresses:
            complaint = "There is no address to tell. Write one."
        raise TarantulaError(complaint, fields={"notify": complaint})
    return len(addresses)


def addresses_in(notify: object) -> Iterable[str]:
    """Return the addresses that somebody wrote, as a list or in one line."""
    parts = notify if isinstance(notify, list | tuple) else [notify]
    return [word for part in parts if isinstance(part, str) for word in split_words(part)]


__all__ = ["AlertRow", "CheckedCondition", "DryRun", "FiringRow"]

DEFAULT_DRY_RUN_DAYS = 30
"""Of the past, that a dry run goes through."""
MAX_DRY_RUN_DAYS = 3660


class AlertRow(BaseModel):
    """What somebody wants to be told."""

    id: int
    source: str
    owner: str
    name: str
    condition: str
    """As people write it."""
    tree: dict[str, Any]
    """The same for programs."""
    margin: str
    hold: int | None
    """Seconds."""
    pause: int | None
    """Seconds."""
    at_first: bool
    notify: list[str]
    on: bool


class FiringRow(BaseModel):
    """That an alert fired, and why."""

    id: int
    alert: int
    name: str
    source: str
    row: str
    at: datetime
    why: str
    """Sentences with the values, one a line."""
    untold: str
    """Who could not be told, and whether it is tried again; nothing if nobody refused."""
    dismissed_at: datetime | None


class CheckedCondition(BaseModel):
    """A condition that somebody is writing."""

    condition: str
    """As it is understood."""
    values: dict[str, str]
    """What the values in it mean, by the field and what was written."""


def list_alerts(context: ServiceContext, source: str | None = None) -> list[AlertRow]:
    """Return one's own alerts, perhaps on one source only."""
    with context.reading() as session:
        return [alert_row(*one) for one in registry.list_alerts(session, context.person.name, source)]


def source_names(context: ServiceContext) -> list[str]:
    """Return the names of the sources that one may be told of."""
    with context.reading() as session:
        return [source.name for source in sources.list_under(session, person=context.person.name)]


def get_alert(context: ServiceContext, number: int) -> AlertRow:
    """Return one of one's own alerts."""
    with context.reading() as session:
        return _row(session, registry.get_alert(session, number, context.person.name))


def add_alert(context: ServiceContext, source: str, fields: Mapping[str, Any]) -> AlertRow:
    """Be told of something from now on."""
    check_reachable(context.person, fields.get("notify"))
    owner = context.person.name
    with context.reading() as session:
        watched = sources.get(session, source, owner)
        subject, is_private = audit_subject(watched), watched.is_private
    # Of what only its owner may read, the audit log has neither the name nor what is watched for.
    detail = {} if is_private else {"condition": _told(fields)}
    with context.changing("alert.add", subject, _needed(context), **detail) as session:
        return _row(session, registry.add_alert(session, source, _own(fields), owner, owner))


def edit_alert(context: ServiceContext, number: int, changes: Mapping[str, Any]) -> AlertRow:
    """Change some of one's own alert."""
    check_reachable(context.person, changes.get("notify"))
    with context.changing("alert.edit", str(number), _needed(context), fields=sorted(changes)[:20]) as session:
        return _row(session, registry.edit_alert(session, number, _own(changes), context.person.name))


def remove_alert(context: ServiceContext, number: int) -> None:
    """Forget one's own alert, with what it fired."""
    with context.changing("alert.remove", str(number), _needed(context)) as session:
        registry.remove_alert(session, number, context.person.name)


def check_condition(context: ServiceContext, source: str, fields: Mapping[str, Any]) -> CheckedCondition:
    """Say how a condition is understood, before it is stored; or what is wrong with it."""
    with context.reading() as session:
        config = _settled(session, context, source, fields)
    meant = {key: f"{one.text} {one.unit}".rstrip() for key, one in config.understood.items()}
    return CheckedCondition(condition=format_rule(config.condition), values=meant)


def send_trial_message(context: ServiceContext, notify: object) -> int:
    """Send a trial message to addresses; return how many took it, or say which refused."""
    _check_may_write(context)
    return send_trial(context.person, notify)


def dry_run(
    context: ServiceContext,
    source: str,
    fields: Mapping[str, Any],
    begin: datetime | None = None,
    end: datetime | None = None,
) -> DryRun:
    """Say when an alert would have fired, before it is stored."""
    began, ended = _stretch(begin, end)
    with context.reading() as session:
        config = _settled(session, context, source, fields)
        return dry_run_config(session, sources.get(session, source, context.person.name), config, began, ended)


def dry_run_alert(
    context: ServiceContext, number: int, begin: datetime | None = None, end: datetime | None = None
) -> DryRun:
    """Say when one's own alert would have fired."""
    began, ended = _stretch(begin, end)
    with context.reading() as session:
        alert = registry.get_alert(session, number, context.person.name)
        source = session.get_one(Source, alert.source_id)
        return dry_run_config(session, source, registry.alert_config(alert), began, ended)


def list_firings(
    context: ServiceContext,
    limit: int = 50,
    before: str | None = None,
    *,
    alert: int | None = None,
    unseen: bool | None = None,
) -> ResultPage[FiringRow]:
    """Return what one's own alerts fired, the latest first."""
    with context.reading() as session:
        found = registry.list_firings(
            session,
            context.person.name,
            alert=alert,
            unseen=unseen,
            before=read_cursor(before),
            limit=checked_limit(limit) + 1,
        )
        rows = [firing_row(one) for one in found]
    more = len(rows) > limit
    return ResultPage(rows=rows[:limit], next=write_cursor(rows[limit - 1].id) if more else None)


def latest_firings(context: ServiceContext, most: int = 50) -> list[FiringRow]:
    """Return the latest firings of one's own alerts, those first that were not dismissed."""
    unseen = list_firings(context, most, unseen=True).rows
    left = most - len(unseen)
    return unseen + (list_firings(context, left, unseen=False).rows if left else [])


def dismiss_firings(context: ServiceContext, numbers: Sequence[int] | None = None) -> int:
    """Dismiss some firings of one's own alerts, or all of them; return how many there were."""
    _check_may_write(context)
    context.person.check(Role.READER)
    with context.database.session() as session:
        return registry.dismiss_firings(session, numbers, datetime.now(UTC), context.person.name)


def alert_row(alert: Alert, source: Source) -> AlertRow:
    """Return an alert as it is shown."""
    config = registry.alert_config(alert)
    return AlertRow(
        id=alert.id,
        source=source.name,
        owner=alert.owner,
        name=alert.name,
        condition=format_rule(config.condition),
        tree=config.condition.model_dump(mode="json"),
        margin=f"{config.margin.normalize():f}",
        hold=config.hold,
        pause=config.pause,
        at_first=config.at_first,
        notify=config.notify,
        on=config.on,
    )


def firing_row(one: registry.FiringRecord) -> FiringRow:
    """Return a firing as it is shown."""
    return FiringRow(
        id=one.firing.id,
        alert=one.alert.id,
        name=one.alert.name,
        source=one.source.name,
        row=one.firing.row,
        at=moment_of(one.firing.at),
        why=one.firing.why,
        untold=registry.delivery_problem(one.firing),
        dismissed_at=one.firing.dismissed_at,
    )


def _row(session: Session, alert: Alert) -> AlertRow:
    return alert_row(alert, session.get_one(Source, alert.source_id))


def _settled(session: Session, context: ServiceContext, source: str, fields: Mapping[str, Any]) -> AlertConfig:
    return registry.with_typed_literals(
        session, sources.get(session, source, context.person.name), read_alert(_own(fields))
    )


def _own(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what nobody writes: how the values are understood is found out here."""
    return {name: value for name, value in fields.items() if name != "understood"}


def _needed(context: ServiceContext) -> Role:
    # Readers may; but a token of that role is there to look, and writes nothing.
    return Role.READER if context.person.token is None else Role.CURATOR


def _check_may_write(context: ServiceContext) -> None:
    context.person.check(_needed(context))


def _told(fields: Mapping[str, Any]) -> str:
    condition = fields.get("condition")
    return condition[:200] if isinstance(condition, str) else ""


def _stretch(begin: datetime | None, end: datetime | None) -> tuple[int, int]:
    ended = end or datetime.now(UTC)
    began = begin or ended - timedelta(days=DEFAULT_DRY_RUN_DAYS)
    if began.tzinfo is None or ended.tzinfo is None:
        raise TarantulaError("Write both moments with their offset from UTC, as 2026-06-12T22:00:00Z.")
    if not timedelta(0) < ended - began <= timedelta(days=MAX_DRY_RUN_DAYS):
        raise TarantulaError(f"A dry run goes from one moment to a later one, over {MAX_DRY_RUN_DAYS} days at most.")
    return int(began.timestamp() * 1_000_000), int(ended.timestamp() * 1_000_000)
