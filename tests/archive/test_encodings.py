"""The encoding of a document is decided once: links lead to copies, whatever the page declares, and where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlalchemy import select, update

from tarantula.archive.mirror.conversion import convert_item
from tarantula.archive.mirror.paths import path_of_copy
from tarantula.archive.replay import content_type_of
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.links.charset import html_encoding, text_encoding
from tarantula.links.extract import read_links
from tarantula.models import Document
from tests.sites.server import Answer, Web
from tests.support.browser import launched
from tests.support.crawls import collect, describe, only_item
from tests.support.mirrors import without_policy

PAD = "<p>" + "x" * 2000 + "</p>"
LINKS = '<a href="/leaf-ç.html">ç</a><img src="/leaf-ç.png">'
CLOSED = LINKS.replace('png">', 'png"/>')
XHTML = (
    '<?xml version="1.0" encoding="iso-8859-1"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head>'
    "<body>{}</body></html>"
)
GUESSED = "windows-1252"
"""Chromium guesses the encoding of a page without a declaration, from its beginning and never UTF-8."""
STYLE = '@charset "iso-8859-1"; p { background: url(/leaf-ç.png) }'


class Declared(NamedTuple):
    """A page and the encoding in which browsers read it."""

    body: bytes
    encoding: str
    type: str = "text/html"
    in_chromium: str | None = None
    """The encoding that Chromium chooses, if that is another."""


PAGES = {
    "early": Declared(f"<meta charset=iso-8859-1>{LINKS}".encode("latin-1"), "windows-1252"),
    "late": Declared(f"<head><title>{'x' * 2000}</title><meta charset=utf-8></head>{LINKS}".encode(), "UTF-8"),
    "late-latin": Declared(
        f"<head><title>{'x' * 2000}</title><meta charset=iso-8859-2></head>{LINKS}".encode("iso-8859-2"), "ISO-8859-2"
    ),
    "wrong-label": Declared(f"<meta charset=no-such>{PAD}{LINKS}".encode(), "UTF-8", in_chromium=GUESSED),
    "bogus-header": Declared(f"{PAD}{LINKS}".encode(), "UTF-8", "text/html; charset=bogus", GUESSED),
    "header": Declared(f"{PAD}{LINKS}".encode("latin-1"), "windows-1252", "text/html; charset=iso-8859-1"),
    "header-before-meta": Declared(f"<meta charset=koi8-r>{LINKS}".encode(), "UTF-8", "text/html; charset=utf-8"),
    "undeclared": Declared(f"{PAD}{LINKS}".encode(), "UTF-8", in_chromium=GUESSED),
    "undeclared-latin": Declared(f"{PAD}{LINKS} caf\xe9".encode("latin-1"), "windows-1252"),
    "mark": Declared(b"\xff\xfe" + f"{PAD}{LINKS}".encode("utf-16-le"), "UTF-16LE"),
    "says-utf-16": Declared(f"<meta charset=utf-16>{LINKS}".encode(), "UTF-8"),
    "xml": Declared(XHTML.format(CLOSED).encode("latin-1"), "windows-1252", "application/xhtml+xml"),
    "malformed-xml": Declared(XHTML.format(LINKS).encode("latin-1"), "windows-1252", "application/xhtml+xml"),
    "style": Declared(STYLE.encode("latin-1"), "windows-1252", "text/css"),
}
LEAVES = {"/leaf-%C3%A7.html": Answer("<title>leaf</title>"), "/leaf-%C3%A7.png": Answer(b"\x89PNG", "image/png")}


@pytest.fixture
def web() -> Iterator[Web]:
    def links(name: str, declared: Declared) -> str:
        return f"<link rel=stylesheet href=/{name}>" if declared.type == "text/css" else f"<a href=/{name}>{name}</a>"

    first = Answer("".join(links(name, declared) for name, declared in PAGES.items()))
    served = {f"/{name}": Answer(declared.body, declared.type) for name, declared in PAGES.items()}
    with Web({"/": first, **served, **LEAVES}) as started:
        yield started


def original(mirror: Path, copy: bytes, declared: Declared, web: Web) -> bytes:
    """Return a copy with its local links replaced by those of the document, and check that they lead to files."""
    codec = {"UTF-16LE": "utf-16-le"}.get(declared.encoding, "latin-1")
    text = without_policy(copy.decode(codec).encode("utf-8")).decode()
    for path, extension in (("/leaf-%C3%A7.html", "html"), ("/leaf-%C3%A7.png", "png")):
        target = path_of_copy(web.url(path), extension)
        assert (mirror / target).is_file()
        written = f"/leaf-ç.{extension}".encode("utf-16-le" if codec != "latin-1" else declared.encoding).decode(codec)
        text = text.replace(Path(target).name, written)
    return text.encode(codec)


@pytest.mark.parametrize("stored", [True, False])
def test_links_lead_to_copies_in_every_encoding(
    database: Database, database_config: Config, web: Web, stored: bool
) -> None:
    describe(database, "encodings", base_url=web.url(), profile="everything", delay=0, convert=False)
    collect("encodings", TARANTULA_HOME=str(database_config.home), TARANTULA_DATABASE_URL=database_config.database_url)
    urn = only_item(database).urn
    with database.session() as session:
        rows = {one.url: (one.encoding, one.type) for one in session.scalars(select(Document))}
        if not stored:
            session.execute(update(Document).values(encoding=None))
    assert {name: rows[web.url(f"/{name}")][0] for name in PAGES} == {name: one.encoding for name, one in PAGES.items()}
    assert rows[web.url("/leaf-%C3%A7.png")] == (None, "image/png")
    assert len(rows) == 1 + len(PAGES) + len(LEAVES), "no link was read in a wrong encoding"
    mirror = convert_item(database_config, database, urn).path
    for name, declared in PAGES.items():
        extension = {"text/css": "css", "application/xhtml+xml": "xhtml"}.get(declared.type, "html")
        copy = (mirror / path_of_copy(web.url(f"/{name}"), extension)).read_bytes()
        assert original(mirror, copy, declared, web) == declared.body, name


@pytest.mark.parametrize("name", PAGES)
def test_the_decision_is_the_same_everywhere(name: str) -> None:
    body, encoding, content_type, _ = PAGES[name]
    media_type, _, parameters = content_type.partition(";")
    label = parameters.partition("=")[2] or None
    found = read_links(body, media_type, "http://a.test/", label)
    assert found.encoding == encoding
    decide = html_encoding if media_type == "text/html" else text_encoding
    assert decide(body, label)[1] == decide(body, encoding)[1] == encoding
    assert read_links(body, media_type, "http://a.test/", encoding) == found


def test_replay_serves_a_page_with_the_stored_encoding() -> None:
    page = Document(type="text/html", charset="bogus", encoding="UTF-8")
    assert content_type_of(page) == "text/html; charset=UTF-8"
    assert content_type_of(Document(type="text/css", encoding="UTF-8")) == "text/css"


def test_chromium_decides_the_same(chromium: str, web: Web) -> None:
    pages = {name: one for name, one in PAGES.items() if one.type != "text/css" and name != "malformed-xml"}
    with launched(chromium) as browser:
        window = browser.new_page()
        seen = {}
        for name in pages:
            window.goto(web.url(f"/{name}"))
            seen[name] = window.evaluate("document.characterSet")
    assert seen == {name: one.in_chromium or one.encoding for name, one in pages.items()}
