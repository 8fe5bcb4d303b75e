"""What the page of types says of texts is what is read."""

from __future__ import annotations

import re

import pytest

from tarantula.streams.kinds import ValueKind
from tarantula.streams.values import parse_value
from tarantula.streams.values.value import ValueParseError
from tests.support.documentation import ROOT

PAGE = (ROOT / "docs" / "stream-types.md").read_text(encoding="utf-8")
QUOTED = re.compile(r"`([^`]+)`")


def rows(title: str) -> list[list[str]]:
    """Return the cells of the table whose first line is this."""
    lines = PAGE.partition(title)[2].split("\n\n")[0].splitlines()[2:]
    return [line.strip("|").split("|") for line in lines]


def test_every_kind_is_there_with_an_instance_that_is_true() -> None:
    seen = set()
    for kind, _, instance in rows("| kind | is kept as | for instance |"):
        name = ValueKind(QUOTED.findall(kind)[0])
        seen.add(name)
        if name is ValueKind.URL:
            text, base, meant = QUOTED.findall(instance)
            assert parse_value(text, name, "", base_url=base).text == meant
        elif name is not ValueKind.TEXT:
            text, *unit, meant = QUOTED.findall(instance)
            assert parse_value(text, name, "".join(unit)).text == meant
    assert seen == set(ValueKind)


def test_what_is_said_not_to_be_read_is_not() -> None:
    texts = [text for cell, _ in rows("| text | why |") for text in QUOTED.findall(cell)]

    assert len(texts) > 15
    for text in texts:
        with pytest.raises(ValueParseError):
            parse_value(text, ValueKind.DECIMAL, "")


def test_what_histories_are_said_to_tell_they_tell() -> None:
    table = rows("| text | history | is |")

    assert len(table) > 5
    for text, history, meant in table:
        value = parse_value(QUOTED.findall(text)[0], ValueKind.DECIMAL, "", QUOTED.findall(history))
        assert value.text == QUOTED.findall(meant)[0]
