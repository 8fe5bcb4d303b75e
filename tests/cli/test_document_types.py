"""``tarantula type`` and ``tarantula profile``."""

from __future__ import annotations

import json

import pytest

from tarantula.core.config import Config
from tests.support.command_result import Tarantula


def test_types(tarantula: Tarantula, database_config: Config) -> None:
    added = tarantula(
        "type", "add", "application/x-fictionbook", "--extensions", "fb2;.fb2z", "--description", "A book"
    )
    assert added == (0, "The type application/x-fictionbook is stored.\n", "")
    rows = {row["mime"]: row for row in json.loads(tarantula("type", "list", "--json").out)}
    assert rows["application/x-fictionbook"] == {
        "mime": "application/x-fictionbook",
        "extensions": ["fb2", "fb2z"],
        "description": "A book",
    }
    lines = [line.split() for line in tarantula("type", "list").out.splitlines()]
    assert ["application/pdf", "pdf", "PDF", "document"] in lines


@pytest.mark.parametrize("mime", ["pdf", "text/html", "image/*"])
def test_types_that_cannot_be_added(tarantula: Tarantula, mime: str) -> None:
    outcome = tarantula("type", "add", mime)
    assert (outcome.code, outcome.out) == (2, "")
    assert mime in outcome.err


def test_profiles(tarantula: Tarantula, database_config: Config) -> None:
    assert tarantula("profile", "add", "books", "application/pdf;image/*", "--description", "Books").code == 0
    assert tarantula("profile", "edit", "books", "--add", "text/plain", "--remove", "image/*").code == 0
    rows = {row["name"]: row for row in json.loads(tarantula("profile", "list", "--json").out)}
    assert rows["books"] == {"name": "books", "types": ["application/pdf", "text/plain"], "description": "Books"}
    assert {"HTML", "HTML_com_IMAGENS", "text", "office", "everything"} < rows.keys()
    assert "application/pdf; text/plain" in tarantula("profile", "list").out


@pytest.mark.parametrize(
    "arguments",
    [("add", "HTML", "a/b"), ("add", "x", "pdf"), ("add", "x", ";"), ("edit", "HTLM"), ("add", "a b", "a/b")],
)
def test_profiles_that_are_refused(tarantula: Tarantula, arguments: tuple[str, ...]) -> None:
    outcome = tarantula("profile", *arguments)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
