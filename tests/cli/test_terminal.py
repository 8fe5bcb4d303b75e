"""Long tables and JSON lists look like short ones, at the cost of one line each."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import event

from tarantula.cli.terminal import console, table, write_json, write_json_rows, write_long_table
from tarantula.core.database import Database
from tarantula.streams.sources import registry
from tests.support.sources import follow

COLUMNS = ("name", "status", "what is wrong")
ROWS = [
    ("weather.lisboa", "read", ""),
    ("tempo.évora", "unreached", "Its server answered with 503."),
    ("天気", "new", ""),
]


def test_a_long_table_looks_like_a_short_one(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = table(*COLUMNS)
    for row in ROWS:
        drawn.add_row(*row)
    console().print(drawn)
    expected = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    write_long_table(COLUMNS, iter(ROWS))
    assert capsys.readouterr().out.splitlines() == expected
    write_long_table(COLUMNS, ())
    assert capsys.readouterr().out == "name  status  what is wrong\n"


def test_long_cells_are_wrapped(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    write_long_table(COLUMNS, ROWS[1:2])
    first, second, *others = capsys.readouterr().out.splitlines()[1:]
    assert first == "tempo.évora  unreached  Its server answered with"
    assert (second, others) == (" " * 24 + "503.", [])


def test_json_rows_are_written_like_a_whole_list(capsys: pytest.CaptureFixture[str]) -> None:
    for rows in ([], [{"a": [1, {"é": None}]}], [{"a": 1}, {}, {"b": "x\ny"}]):
        write_json(rows)
        expected = capsys.readouterr().out
        write_json_rows(iter(rows))
        written = capsys.readouterr().out
        assert written == expected
        assert json.loads(written) == rows


def test_sources_and_their_status_are_one_query(database: Database) -> None:
    for name in ("weather.lisboa", "weather.porto", "weatherman", "stock.edp"):
        follow(database, name)
    asked: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *said: asked.append(said[2]))
    with database.reading() as session:
        found = [(source.name, state.status) for source, state in registry.with_states(session, "WEATHER", "weather")]
    assert found == [("weather.lisboa", "new"), ("weather.porto", "new")]
    (statement,) = [one for one in asked if one.startswith("SELECT source")]
    assert "memory" not in statement
