"""Translations, in English and Portuguese."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.publications.toml import from_toml
from tarantula.scope.limits import TooDeep
from tarantula.services import publications
from tarantula.web.format import format_moment, format_number, format_share, format_size
from tarantula.web.i18n import LANGUAGES, _, language_set_to, negotiate_language, translate_sentence, translations
from tests.support import interface_texts
from tests.support.contexts import context_of

PLACE = re.compile(r"\{[a-z_]*\}")


@pytest.fixture
def _portuguese() -> Iterator[None]:
    with language_set_to("pt"):
        yield


@pytest.mark.parametrize("name", LANGUAGES.keys() - {"en"})
def test_every_text_has_a_translation(name: str) -> None:
    wanted = interface_texts.marked() | interface_texts.words() | interface_texts.errors()
    known = translations(name)
    # A text that begins with a small letter may be translated together with the value before it.
    missing = sorted(text for text in wanted if text not in known and f"{{}} {text}" not in known)
    assert missing == [], f"add these to locale/{name}.po"


@pytest.mark.parametrize("name", LANGUAGES.keys() - {"en"})
def test_every_translation_has_a_text(name: str) -> None:
    known = interface_texts.marked() | interface_texts.words() | interface_texts.literals()
    assert sorted(translations(name).keys() - known) == [], f"remove these from locale/{name}.po, or rename them"


def test_texts_are_found_in_code_templates_and_models() -> None:
    assert {"Publications", "Menu", "Base document", "{name} is saved."} <= interface_texts.marked()
    assert {"monthly", "archived", "reader"} <= interface_texts.words()
    assert "{} must be {} or more, and {} is not." in interface_texts.literals()


def test_translations_have_the_placeholders_of_the_english_text() -> None:
    for language in LANGUAGES.keys() - {"en"}:
        for text, words in translations(language).items():
            if "{0}" not in words:
                assert sorted(PLACE.findall(text)) == sorted(PLACE.findall(words)), text


@pytest.mark.usefixtures("_portuguese")
def test_model_errors_are_translated_with_their_values(sqlite: Database) -> None:
    fields = {
        "name": "fc ul",
        "base_url": "http://a.example/",
        "depth": -1,
        "delay": "fast",
        "profile": "HTML_sem_IMAGENS",
    }
    complaints = publications.check_fields(context_of(sqlite), fields)
    assert {field: translate_sentence(said).partition(":")[0] for field, said in complaints.items()} == {
        "name": "O nome 'fc ul' não pode ser usado",
        "depth": "A profundidade tem de ser 0 ou mais, e -1 não é.",
        "delay": "O campo delay não pode ser 'fast'",
        "profile": "Não existe o perfil 'HTML_sem_IMAGENS'. Queria dizer HTML_com_IMAGENS? "
        "`tarantula profile list` mostra-os.",
    }
    assert translate_sentence(complaints["delay"]).endswith(": deve ser um número.")


@pytest.mark.usefixtures("_portuguese")
def test_rule_reasons_are_translated_with_their_values(sqlite: Database) -> None:
    (tried,) = publications.judge_urls(
        context_of(sqlite),
        {"name": "fcul", "base_url": "http://a.example/", "depth": 2},
        ["http://a.example/x"],
        depth=3,
    )
    assert tried.rule == TooDeep.__name__
    assert translate_sentence(tried.reason) == "Está a 3 ligações do documento base, e fcul vai até à profundidade 2."


@pytest.mark.usefixtures("_portuguese")
@pytest.mark.parametrize(
    ("said", "retold_as"),
    [
        ("The server answered 404 Not Found.", "O servidor respondeu 404 Not Found."),
        (
            "The server answered 301 Moved Permanently: it redirects to http://a.example/.",
            "O servidor respondeu 301 Moved Permanently: redireciona para http://a.example/.",
        ),
        ("http://a.example/robots.txt excludes it.", "http://a.example/robots.txt exclui-o."),
        (
            "http://a.example/robots.txt could not be fetched: The server a.example refused the connection.",
            "Não se conseguiu obter http://a.example/robots.txt: O servidor a.example recusou a ligação.",
        ),
        (
            "There is no source 'user.ana.x'. Did you mean user.ana.y? `tarantula stream list` shows them.",
            "Não existe a fonte 'user.ana.x'. Queria dizer user.ana.y? `tarantula stream list` mostra-as.",
        ),
        (
            "Address of the feed cannot be 'nasa'. Example: https://www.nasa.gov/feed/.",
            "Endereço do feed não pode ser 'nasa'. Escreva como em https://www.nasa.gov/feed/.",
        ),
        (
            "t: The selector matches 1,000 elements, not one. Write a narrower one, or set nth.\nAnd 3 more.",
            "t: O seletor corresponde a 1,000 elementos, e não a um. Escreva um mais estreito, ou diga qual com nth.\n"
            "E mais 3.",
        ),
        ("wind: 'n/a' is not a number.", "wind: 'n/a' não é um número."),
        (
            "30.5% of the requested documents failed (errors > 20%).",
            "30.5% dos documentos pedidos não puderam ser obtidos (errors > 20%).",
        ),
    ],
)
def test_sentences_about_documents_are_translated(said: str, retold_as: str) -> None:
    assert translate_sentence(said) == retold_as


def test_english_and_unknown_sentences_stay_unchanged() -> None:
    said = "The depth must be 0 or more, and -1 is not."
    assert translate_sentence(said) == said
    with language_set_to("pt"):
        assert translate_sentence("Nobody has said this before.") == "Nobody has said this before."
        assert translate_sentence(f"{said}\nNobody.") == "A profundidade tem de ser 0 ou mais, e -1 não é.\nNobody."


@pytest.mark.usefixtures("_portuguese")
def test_a_long_foreign_text_is_handled_quickly() -> None:
    hostile = "is not a {} and {} is the limit " * 3000
    assert translate_sentence(hostile) == hostile
    with pytest.raises(TarantulaError) as refused:
        from_toml("= " * 50)
    assert translate_sentence(str(refused.value)).startswith("Isto não é TOML: ")


@pytest.mark.parametrize(
    ("cookie", "accepted", "language"),
    [
        (None, "pt-PT,pt;q=0.9,en;q=0.8", "pt"),
        (None, "pt-BR", "pt"),
        (None, "de,en;q=0.5", "en"),
        (None, "fr", "en"),
        (None, "", "en"),
        ("en", "pt-PT", "en"),
        ("xx", "pt-PT", "pt"),
    ],
)
def test_the_cookie_decides_the_language_or_else_the_browser(cookie: str | None, accepted: str, language: str) -> None:
    assert negotiate_language(cookie, accepted) == language


def test_numbers_and_times_are_formatted_in_the_language() -> None:
    assert (format_number(1234567), format_share(72.5), format_size(1_234_567), format_moment(None)) == (
        "1,234,567",
        "72.5 %",
        "1.2 MB",
        "–",
    )
    with language_set_to("pt"):
        assert _("Items") == "Itens"
        assert (format_number(1234567), format_share(72.5), format_size(999)) == ("1\xa0234\xa0567", "72,5 %", "999 B")
