"""``tarantula stream alert``."""

from __future__ import annotations

import json

from tarantula.core.database import Database
from tests.support.alerts import BEGIN, SECOND, come, new_source
from tests.support.command_result import Tarantula


def test_an_alert_is_added_changed_tested_and_removed(sqlite: Database, tarantula: Tarantula) -> None:
    source = new_source(sqlite)
    added = tarantula(
        "stream", "alert", "add", "weather.lisboa", "wind>3", "--pause", "1s", "--notify", "json://user:pw@h/"
    )
    assert added.out == "Alert 1 watches weather.lisboa: wind > 3\n"
    for second, value in enumerate([1, 5, 1, 5]):
        come(sqlite, source, second, wind=value)
    assert "wind rose above 3: it was 1, it is 5." in tarantula("stream", "alert", "fired").out
    fired = json.loads(tarantula("stream", "alert", "fired", "1", "--unseen", "--json").out)
    assert [row["why"] for row in fired] == ["wind rose above 3: it was 1, it is 5."] * 2
    begin = str(BEGIN // SECOND - 10)
    stretch = ("--from", "2026-09-01", "--to", "2026-12-31")
    assert int(begin) < 1_798_000_000
    assert "It would have fired 2 times in 4 moments." in tarantula("stream", "alert", "test", "1", *stretch).out
    assert "fired 1 times" in tarantula("stream", "alert", "test", "1", "--margin", "100", *stretch).out
    tried = json.loads(tarantula("stream", "alert", "test", "weather.lisboa", "wind rose", *stretch, "--json").out)
    assert tried["count"] == 2
    assert tarantula("stream", "alert", "edit", "1", "--off", "--name", "Storm").out.startswith("Alert 1 is off for")
    (row,) = json.loads(tarantula("stream", "alert", "list", "weather.lisboa", "--json").out)
    assert (row["name"], row["on"], row["pause"], row["notify"]) == ("Storm", False, 1, ["json://•••"])
    shown = tarantula("stream", "alert", "show", "1").out
    assert "Storm" in shown
    assert "pw" not in shown
    assert tarantula("stream", "alert", "remove", "1", "--yes").out == "Alert 1 is removed.\n"
    assert "Storm" not in tarantula("stream", "alert", "list").out


def test_wrong_arguments_are_refused(sqlite: Database, tarantula: Tarantula) -> None:
    new_source(sqlite)
    for arguments, said in (
        (("add", "weather.lisboa", "wind >"), "At the end of the condition: a value was expected."),
        (("add", "weather.lisbo", "wind > 3"), "There is no source 'weather.lisbo'. Did you mean weather.lisboa?"),
        (("add", "weather.lisboa", "wind > 3", "--hold", "x"), "'x' is not a duration."),
        (("add", "weather.lisboa", "wind > 3", "--margin", "x"), "The field margin cannot be 'x'"),
        (
            ("add", "weather.lisboa", "wind > 3", "--notify", "x"),
            "A notification address begins with a service",
        ),
        (("show", "7"), "There is no alert 7."),
        (("edit", "7"), "There is nothing to change"),
        (("test", "weather.lisboa"), "Name an alert by its number, or a source and a condition."),
        (("test", "weather.lisboa", "wind > 3", "--from", "never"), "'never' is not a date."),
    ):
        outcome = tarantula("stream", "alert", *arguments)
        assert outcome.code == 2
        assert outcome.err.startswith(said), outcome
