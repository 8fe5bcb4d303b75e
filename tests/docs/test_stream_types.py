"""The examples on the page of stream types are true."""

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
    """Return the rows of the table with this head."""
    lines = PAGE.partition(title)[2].split("\n\n")[0].splitlines()[2:]
    return [line.strip("|").split("|") for line in lines]


def test_every_kind_is_listed_with_a_true_example() -> None:
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


def test_texts_listed_as_unreadable_are_refused() -> None:
    texts = [text for cell, _ in rows("| text | why |") for text in QUOTED.findall(cell)]

    assert len(texts) > 15
    for text in texts:
        with pytest.raises(ValueParseError):
            parse_value(text, ValueKind.DECIMAL, "")


def test_examples_with_a_history_are_true() -> None:
    table = rows("| text | history | is |")

    assert len(table) > 5
    for text, history, meant in table:
        value = parse_value(QUOTED.findall(text)[0], ValueKind.DECIMAL, "", QUOTED.findall(history))
        assert value.text == QUOTED.findall(meant)[0]
