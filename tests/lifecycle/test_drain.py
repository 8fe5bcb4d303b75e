"""A machine is emptied: its processes hand over, nothing is started on it, and other machines continue."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from threading import Event

import pytest

from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.termination import EXIT_TERMINATED
from tarantula.lifecycle.daemon import Coordinator
from tarantula.services import machines
from tarantula.store.liveness import host_name
from tests.sites.manners import silence
from tests.sites.server import Web
from tests.support.command_result import Tarantula
from tests.support.contexts import audit_entries, context_of
from tests.support.crawls import ROOT, SCRAPY, TARANTULA, collect, describe, only_item, run, start, states, wait_until
from tests.support.followed_sources import followed
from tests.support.item_lifecycles import NOON, FakeStarter, change, join, new_item
from tests.support.waits import TIMEOUT_SECONDS, eventually


def test_a_machine_is_emptied_and_taken_into_service_again(
    database: Database, database_config: Config, web: Web, gate: Event
) -> None:
    here, starter = host_name(), FakeStarter()
    coordinator = Coordinator(database_config, database, starter)
    describe(database, "slow", base_url=web.url(), robots=False)
    collector = start([SCRAPY, "crawl", "slow"])
    wait_until(lambda: bool(web.visits_to("/slow")), collector)
    code, out, err = run(TARANTULA, "drain")
    urn = only_item(database).urn
    assert (code, out) == (0, f"{here} is empty. `tarantula drain --undo {here}` takes it into service again.\n")
    assert err == f"Waiting for {urn} (process {collector.pid}) on {here}.\n"
    _, log = collector.communicate(timeout=TIMEOUT_SECONDS)
    assert collector.returncode == EXIT_TERMINATED, log
    assert only_item(database).state == "collecting"
    assert states(database) == {web.url(): 200, web.url("/slow"): -6}

    coordinator.round(datetime.now(UTC))
    assert (starter.started, starter.is_ended) == ([], True)
    refused = run(SCRAPY, "crawl", "publication", "-a", f"item={urn}")
    assert refused[0] == 2
    assert f"The machine {here} is being emptied, and nothing is collected on it." in refused[1] + refused[2]

    assert run(TARANTULA, "drain", "--undo") == (0, f"{here} is in service again.\n", "")
    coordinator.round(datetime.now(UTC))
    assert starter.started == [(urn, "collecting")]
    gate.set()
    collect("slow", "-a", f"item={urn}")
    assert set(states(database).values()) == {200}
    assert [(action, subject) for _, action, subject in audit_entries(database)] == [
        ("publication.collect", "slow"),
        ("machine.drain", here),
        ("machine.undrain", here),
    ]


def test_the_stream_reader_leaves_a_machine_that_is_emptied(sqlite: Database) -> None:
    with Web({"/": silence}) as web:
        followed(sqlite, "held.back", {"value": "decimal"}, url=web.url(), robots=False)
        reader = start([TARANTULA, "stream", "read"])
        wait_until(lambda: bool(web.visits_to("/")), reader)
        code, out, err = run(TARANTULA, "drain", "--json")
        reader.communicate(timeout=TIMEOUT_SECONDS)
    assert (code, json.loads(out)) == (0, {"host": host_name(), "processes": []})
    assert err == f"Waiting for streams (process {reader.pid}) on {host_name()}.\n"
    assert reader.returncode == 0


def test_a_machine_that_does_not_become_empty_is_reported(
    sqlite_config: Config, sqlite: Database, tarantula: Tarantula
) -> None:
    urns = [new_item(sqlite_config, sqlite, name) for name in ("held", "starting", "elsewhere")]
    join(sqlite, urns[0], "other/boot/1", 7)
    change(sqlite, urns[1], launched_at=NOON, launched_on="other/boot/1")
    join(sqlite, urns[2], "others/boot/1", 8)
    drained = tarantula("drain", "other", "--timeout", "0")
    assert drained.code == 3
    assert drained.out == f"other is not empty yet: {urns[0]} (process 7), {urns[1]}. Nothing new is started on it.\n"
    [row] = json.loads(tarantula("drain", "--list", "--json").out)
    assert (row["host"], row["processes"]) == (
        "other",
        [
            {"work": urns[0], "pid": 7, "hands_over": True},
            {"work": urns[1], "pid": None, "hands_over": True},
        ],
    )
    assert urns[1] in tarantula("drain", "--list").out
    # This machine is in service.
    starter = FakeStarter()
    change(sqlite, urns[1], launched_at=None, launched_on=None, retry_at=NOON)
    Coordinator(sqlite_config, sqlite, starter).round(NOON)
    assert starter.started == [(urns[1], "waiting")]


def test_wrong_names_and_machines_in_service_are_refused(tarantula: Tarantula) -> None:
    refused = tarantula("drain", "--undo", "other")
    assert (refused.code, refused.err) == (
        2,
        "The machine other is in service. `tarantula drain --list` shows those that are not.\n",
    )
    assert tarantula("drain", "a/b").err == "'a/b' is not the name of a machine: give it as `hostname` prints it.\n"


def test_only_administrators_empty_machines(database: Database) -> None:
    with pytest.raises(TarantulaError, match="administrator"):
        machines.drain(context_of(database), "other")
    context = context_of(database, Role.ADMINISTRATOR)
    machines.drain(context, "other")
    machines.drain(context, "other")
    [row] = machines.list_drained(context)
    assert (row.host, row.by, row.processes) == ("other", "ana", [])


def test_commands_that_were_started_by_hand_are_listed(sqlite: Database) -> None:
    here = host_name()
    export = subprocess.Popen([sys.executable, "-m", "tarantula", "item", "export", "some-item"], cwd=ROOT)
    export.send_signal(signal.SIGSTOP)
    try:
        context = context_of(sqlite)
        eventually(lambda: export.pid in [one.pid for one in machines.hand_started(context, here)])
        code, out, _ = run(TARANTULA, "drain", "--timeout", "0")
        shown = f"item export some-item (process {export.pid})"
        assert code == 3
        assert f"{here} is not empty yet: {shown}" in out
        assert f"Commands that were started by hand do not hand over: {shown}" in out
        assert machines.hand_started(context, "another") == []
    finally:
        export.kill()
        export.wait()
