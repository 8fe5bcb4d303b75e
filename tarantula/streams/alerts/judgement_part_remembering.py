"""What alerts remember, read and written many at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Table, bindparam, insert, select, update
from sqlalchemy.orm import Session

from tarantula.streams.alerts.memory import WatchMemory
from tarantula.streams.alerts.watch import AlertWatch
from tarantula.tables.publications import AlertMemory

_TABLE = AlertMemory.__table__
assert isinstance(_TABLE, Table)
_KNOWN = select(AlertMemory.alert_id, AlertMemory.row, AlertMemory.memory).where(
    AlertMemory.alert_id.in_(bindparam("alerts", expanding=True)),
    AlertMemory.row.in_(bindparam("rows", expanding=True)),
)
_CHANGE = (
    update(_TABLE)
    .where(_TABLE.c.alert_id == bindparam("of_alert"), _TABLE.c.row == bindparam("of_row"))
    .values(memory=bindparam("memory"), due_at=bindparam("due_at"))
)
_ADD = insert(_TABLE)


class MemoryUpdate(NamedTuple):
    """What is to be remembered of one alert, for one row or for all together."""

    alert_id: int
    row: str
    watch: AlertWatch


def load_memories(session: Session, alerts: Sequence[int], rows: Iterable[str]) -> dict[tuple[int, str], WatchMemory]:
    """Return what some alerts remember of some rows."""
    found = session.execute(_KNOWN, {"alerts": alerts, "rows": list(rows)})
    return {(alert_id, row): WatchMemory.of_json(memory) for alert_id, row, memory in found}


def save_memories(session: Session, kept: Sequence[MemoryUpdate], there: Collection[tuple[int, str]] = ()) -> None:
    """Write down what alerts have to know the next time; of those that are *there* already, in their place."""
    changed, added = list[dict[str, object]](), list[dict[str, object]]()
    for one in kept:
        values = {"memory": one.watch.memory.as_json(), "due_at": one.watch.due}
        if (one.alert_id, one.row) in there:
            changed.append({"of_alert": one.alert_id, "of_row": one.row, **values})
        else:
            added.append({"alert_id": one.alert_id, "row": one.row, **values})
    connection = session.connection()
    if changed:
        connection.execute(_CHANGE, changed)
    if added:
        connection.execute(_ADD, added)
