"""Text extraction from documents of all types, valid or not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.core.urls import key_of
from tarantula.search.texts.content import ExtractedText, extract_text, language_of, unpack_text
from tests.sites.drawing import pdf

URL = "http://www.fc.ul.pt/cursos/"
PAGE = """
<html lang=pt><head><title> Faculdade de
Ci&ecirc;ncias </title><meta name=description content="Os cursos da faculdade"></head>
<body><script>var segredo</script><noscript>Ligue os scripts</noscript>
<nav><a href=/>Início</a><a href="fisica?ano=1#topo">Física</a><a href="mailto:x@y.pt">Correio</a></nav>
<main><h1>Cursos de 2001</h1><p>A faculdade oferece muitos cursos de licenciatura, de mestrado e de doutoramento.</p>
<h2>Horários</h2><p>Todos os anos, em Setembro, são afixados os horários de todas as disciplinas.</p></main>
<footer><a href="http://di.fc.ul.pt/"><img src=x alt="Departamento de Informática"></a></footer>
"""


def read(body: str | bytes, media_type: str = "text/html", charset: str | None = "utf-8") -> ExtractedText:
    content = extract_text(body.encode() if isinstance(body, str) else body, media_type, URL, charset)
    assert content is not None
    return content


def test_a_page_is_split_into_its_fields() -> None:
    content = read(PAGE)
    assert content.title == "Faculdade de Ciências"
    assert content.headings.split("\n") == ["Cursos de 2001", "Horários"]
    assert content.description == "Os cursos da faculdade"
    assert "licenciatura" in content.main
    assert "Início Física" in content.rest
    assert content.language == "pt"
    for unseen in ("segredo", "Ligue os scripts"):
        assert unseen not in content.main + content.rest


@pytest.mark.parametrize(
    "boilerplate", ["<nav>{}</nav>", "<aside>{}</aside>", "<footer>{}</footer>", "<div role=navigation>{}</div>"]
)
def test_marked_boilerplate_is_not_main_text(boilerplate: str) -> None:
    menu = boilerplate.format("<a href=/>Departamentos</a>")
    content = read(f"<body>{menu}<h1>Sala</h1><p>Abre às nove.<p>Fecha à meia-noite.")
    assert (content.main, content.rest) == ("Sala\nAbre às nove.\nFecha à meia-noite.", "Departamentos")
    assert len(content.anchors) == 1
    assert read(f"<body>{menu}").main == "Departamentos"


def test_anchor_texts_are_extracted() -> None:
    anchors = dict(read(PAGE).anchors)
    assert anchors == {
        key_of("http://www.fc.ul.pt/").hex(): "Início",
        key_of("http://www.fc.ul.pt/cursos/fisica?ano=1").hex(): "Física",
        key_of("http://di.fc.ul.pt/").hex(): "Departamento de Informática",
    }


def test_the_declared_charset_is_used() -> None:
    assert read("<title>Ciências</title>".encode("latin-1"), charset="iso-8859-1").title == "Ciências"


def test_plain_text_and_pdf_are_extracted() -> None:
    assert read("Olá, mundo.\nAdeus.", "text/plain").main == "Olá, mundo.\nAdeus."
    assert read(pdf("Regulamento da Faculdade"), "application/pdf").title == "Regulamento da Faculdade"


@pytest.mark.parametrize("media_type", ["image/png", "application/zip", None])
def test_types_without_text_are_not_read(media_type: str | None) -> None:
    assert extract_text(b"words", media_type, URL, None) is None


def test_unreadable_documents_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    assert extract_text(b"%PDF-1.4 and then nothing", "application/pdf", URL, None) is None
    assert URL in caplog.text


def test_the_language_is_detected_from_the_text() -> None:
    assert language_of("The departments of the faculty offer many courses every year.", "pt") == "en"
    assert language_of("Olá", "pt-PT") == "pt"
    assert language_of("Olá", "nonsense!") == ""


@given(
    st.builds(ExtractedText, st.text(), st.text(), main=st.text(), anchors=st.lists(st.tuples(st.text(), st.text())))
)
def test_packing_is_reversible(content: ExtractedText) -> None:
    assert unpack_text(content.packed()) == content


@given(st.binary())
def test_any_bytes_can_be_extracted(body: bytes) -> None:
    assert extract_text(body, "text/html", URL, None) is not None
