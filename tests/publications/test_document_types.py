"""Document types and profiles."""

from __future__ import annotations

import pytest

from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.publications import document_types
from tarantula.publications.config import read_config
from tarantula.publications.fields import check_type
from tarantula.store.server_settings import wanted_types


def test_some_sixty_types_arrive_with_their_extensions(database: Database) -> None:
    with database.reading() as session:
        rows = document_types.all_types(session)
        extensions = document_types.extensions_by_type(session)
    assert 60 <= len(rows) < 70
    assert [row.mime for row in rows] == sorted(row.mime for row in rows)
    assert all(row.description and row.extensions and check_type(row.mime) == row.mime for row in rows)
    assert extensions["text/html"] == ["html", "htm"]
    assert extensions["image/jpeg"][0] == "jpg"


def test_the_profiles_that_arrive(database: Database) -> None:
    with database.reading() as session:
        profiles = {row.name: row.types for row in document_types.all_profiles(session)}
        known = set(document_types.extensions_by_type(session))
    assert list(profiles) == sorted(["HTML", "HTML_com_IMAGENS", "everything", "office", "text"])
    assert {mime for types in profiles.values() for mime in types} - known == {"*/*"}
    assert {"text/html", "image/gif", "image/bmp"} <= set(profiles["HTML_com_IMAGENS"])


def test_what_the_example_of_2001_wants(database: Database) -> None:
    config = read_config(
        {
            "name": "fcul",
            "base_url": "www.fc.ul.pt",
            "profile": "HTML_com_IMAGENS",
            "add_types": "application/pdf;application/postscript",
            "exclude_types": "image/bmp",
        }
    )
    with database.reading() as session:
        wanted = wanted_types(session, config)
    assert {"text/html", "image/gif", "application/pdf"} <= {mime for mime in _KINDS if mime in wanted}
    assert "image/bmp" not in wanted
    assert "application/zip" not in wanted


_KINDS = ("text/html", "image/gif", "image/bmp", "application/pdf", "application/zip")


def test_types_can_be_added(database: Database) -> None:
    with database.session() as session:
        document_types.add_type(session, "Application/X-FictionBook", [".FB2", "fb2z"], " FictionBook ")
    with database.reading() as session:
        assert document_types.extensions_by_type(session)["application/x-fictionbook"] == ["fb2", "fb2z"]


@pytest.mark.parametrize(
    ("mime", "extensions", "description", "sentence"),
    [
        ("pdf", [], "", "'pdf' is not a type"),
        ("image/*", [], "", "image/* matches many types"),
        ("text/html", [], "", "The type text/html already exists"),
        ("a/b", ["a/b"], "", "'a/b' is not an extension"),
        ("a/b", [""], "", "'' is not an extension"),
        ("a/b", ["b"], "x" * 300, "The description has 300 letters"),
    ],
)
def test_types_that_cannot_be_added(
    database: Database, mime: str, extensions: list[str], description: str, sentence: str
) -> None:
    with pytest.raises(TarantulaError) as refused, database.session() as session:
        document_types.add_type(session, mime, extensions, description)
    assert sentence in str(refused.value)


def test_profiles_can_be_added_and_edited(database: Database) -> None:
    with database.session() as session:
        document_types.add_profile(session, "books", ["application/pdf", "application/PDF", "image/*"], "Books")
    with database.session() as session:
        document_types.edit_profile(session, "books", add=["application/epub+zip"], remove=["image/*"])
        assert document_types.get_profile(session, "books").types == ["application/pdf", "application/epub+zip"]
    with database.session() as session:
        document_types.edit_profile(session, "books", types=["text/plain"], description="Texts")
    with database.reading() as session:
        profile = document_types.get_profile(session, "books")
        assert (profile.types, profile.description) == (["text/plain"], "Texts")


def test_profiles_that_cannot_be(database: Database) -> None:
    for name, types, sentence in (
        ("HTML", ["a/b"], "There is a profile HTML already"),
        ("a b", ["a/b"], "The name 'a b' cannot be used"),
        ("empty", [], "A profile has at least one type"),
        ("x", ["pdf"], "'pdf' is not a type"),
    ):
        with pytest.raises(TarantulaError, match=sentence), database.session() as session:
            document_types.add_profile(session, name, types)
    with pytest.raises(TarantulaError, match="at least one type"), database.session() as session:
        document_types.edit_profile(session, "everything", remove=["*/*"])
    with pytest.raises(TarantulaError, match=r"'HTLM'\. Did you mean HTML"), database.session() as session:
        document_types.edit_profile(session, "HTLM", add=["a/b"])
