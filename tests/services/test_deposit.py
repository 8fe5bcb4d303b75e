"""The Python interface to collected items."""

from __future__ import annotations

import gzip

import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.services.deposit import Deposit, text_of
from tests.support.exchanges import chunked
from tests.support.monthly_items import BASE, Page, archive


def test_items_documents_and_bodies(database: Database, database_config: Config) -> None:
    body = "<p>Olá".encode()
    packed = gzip.compress(body)
    coding = ("Content-Encoding: gzip", "Transfer-Encoding: chunked")
    urn = archive(
        database_config,
        database,
        1,
        {f"{BASE}a": Page(body, headers=coding, raw=chunked(packed, 5)), f"{BASE}refused": Page(state=-5)},
    )
    archive(database_config, database, 2, {}, name="bn")
    with Deposit(database_config) as deposit:
        assert [item.urn for item in deposit.items("fcul")] == [urn]
        assert len(deposit.items()) == 2
        assert [document.url for document in deposit.documents(urn)] == [BASE, f"{BASE}a", f"{BASE}refused"]
        assert deposit.body_of(urn, f"{BASE}a#fragment") == body
        assert deposit.body_of(urn, f"{BASE}refused") is None
        assert deposit.body_of(urn, "not a url") is None
        assert deposit.indicators(urn).collected == 2
        assert (deposit.directory(urn) / "archive").is_dir()
        assert deposit.mirror(urn) is None
        assert deposit.items(validation="valid") == []
        assert deposit.validate(urn, "Ana").validation == "valid"
        assert deposit.reject(urn, "Rui", "No.").why == "No."
        assert [one.by for one in deposit.decisions(urn)] == ["Ana", "Rui"]
        assert [item.urn for item in deposit.items(validation="rejected")] == [urn]


def test_unknown_items_and_urls(sqlite: Database, config: Config) -> None:
    with Deposit(config) as deposit:
        with pytest.raises(TarantulaError, match="There is no item 'fcul-1'"):
            deposit.directory("fcul-1")
        with pytest.raises(TarantulaError, match="There is no publication 'fcul'"):
            deposit.items("fcul")
        with pytest.raises(TarantulaError, match="There is no item 'fcul-1'"):
            list(deposit.documents("fcul-1"))


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"<p>a<p>b", "text/html", "a\nb"),
        ("<p>é".encode("latin-1"), 'text/html; charset="ISO-8859-1"', "é"),
        (b"a", "image/png", None),
        (b"a", None, None),
    ],
)
def test_text_of_a_body(body: bytes, content_type: str | None, text: str | None) -> None:
    assert text_of(body, content_type) == text
