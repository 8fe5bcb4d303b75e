"""The overview of an installation."""

from __future__ import annotations

from datetime import UTC, datetime

from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import Reason, stored_reason
from tarantula.services.machines import drain
from tarantula.services.overview import get_overview
from tests.support.contexts import context_of
from tests.support.item_lifecycles import change, new_item
from tests.support.monthly_items import archive


def test_the_lists_of_the_overview(database_config: Config, database: Database) -> None:
    ended = archive(database_config, database, 6, {}, name="ended", every="monthly", start="2026-06-01 00:00+00:00")
    asking = archive(database_config, database, 7, {}, name="asking")
    decided = archive(database_config, database, 8, {}, name="decided")
    running = new_item(database_config, database, "running")
    change(database, running, state="collecting")
    reason = Reason.of("indicator_errors", value="30%", rule="errors > 20%")
    fired = [{"rule": "errors > 20%", "effect": "attention", "value": 30, **stored_reason(reason)}]
    change(database, asking, attention=fired)
    change(database, decided, attention=fired, validation="valid")
    drain(context_of(database, Role.ADMINISTRATOR), "other")
    found = get_overview(context_of(database, Role.READER))
    assert [(one.host, one.by, one.processes) for one in found.drained] == [("other", "ana", [])]
    assert (found.publications, found.items) == (4, 4)
    assert [one.urn for one in found.under_way] == [running]
    assert [(one.urn, one.attention, one.attention_reasons) for one in found.attention] == [
        (asking, ["30% of the requested documents failed (errors > 20%)."], [reason.as_data()])
    ]
    assert [one.urn for one in found.latest] == [decided, asking, ended]
    assert [(row.name, row.next_due) for row in found.due] == [("ended", datetime(2026, 7, 1, tzinfo=UTC))]
