"""Translations, in English and Portuguese."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tarantula.core.database import Database
from tarantula.core.errors import NotFoundError, TarantulaError
from tarantula.core.messages import Message, join_messages
from tarantula.core.reasons import Reason, as_reason
from tarantula.models import Firing, SourceState
from tarantula.publications.config import from_toml
from tarantula.scope.limits import TooDeep
from tarantula.services import publications
from tarantula.services.streams import sources
from tarantula.streams.categories import category_named, source_from_answers
from tarantula.web.i18n import (
    LANGUAGES,
    _,
    format_moment,
    format_number,
    format_share,
    format_size,
    language_set_to,
    negotiate_language,
    translate_reason,
    translations,
)
from tests.support import interface_texts
from tests.support.contexts import context_of


@pytest.fixture
def _portuguese() -> Iterator[None]:
    with language_set_to("pt"):
        yield


OTHER_LANGUAGES = sorted(LANGUAGES.keys() - {"en"})


@pytest.mark.parametrize("name", OTHER_LANGUAGES)
def test_every_text_has_a_translation(name: str) -> None:
    wanted = interface_texts.marked() | interface_texts.words() | interface_texts.messages()
    assert sorted(wanted - translations(name).keys()) == [], f"add these to locale/{name}.po"


@pytest.mark.parametrize("name", OTHER_LANGUAGES)
def test_every_translation_has_a_text(name: str) -> None:
    templates = {call.template for call in interface_texts.message_calls()}
    known = interface_texts.marked() | interface_texts.words() | templates
    assert sorted(translations(name).keys() - known) == [], f"remove these from locale/{name}.po, or rename them"


@pytest.mark.parametrize("name", OTHER_LANGUAGES)
def test_translations_have_the_parameters_of_the_english_text(name: str) -> None:
    wrong = [
        text
        for text, translation in translations(name).items()
        if interface_texts.parameters(text) != interface_texts.parameters(translation)
    ]
    assert wrong == []


def test_messages_have_the_parameters_that_their_templates_name() -> None:
    calls = interface_texts.message_calls()
    assert [call.where for call in calls if call.is_formatted] == [], "pass the values as parameters"
    wrong = [call.where for call in calls if call.names and call.names != named_in(call.template)]
    assert wrong == []


def named_in(template: str) -> set[str]:
    return {name for name, *_ in interface_texts.parameters(template)}


def test_texts_are_found_in_code_templates_and_models() -> None:
    assert {"Publications", "Menu", "Base document", "{name} is saved."} <= interface_texts.marked()
    assert {"monthly", "archived", "reader"} <= interface_texts.words()
    assert "There is no source {name!r}.{hint} `tarantula stream list` shows them." in interface_texts.messages()


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
    assert {field: _(said).partition(":")[0] for field, said in complaints.items()} == {
        "name": "O nome 'fc ul' não pode ser usado",
        "depth": "A profundidade tem de ser 0 ou mais, e -1 não é.",
        "delay": "O campo delay não pode ser 'fast'",
        "profile": "Não existe o perfil 'HTML_sem_IMAGENS'. Queria dizer HTML_com_IMAGENS? "
        "`tarantula profile list` mostra-os.",
    }
    assert _(complaints["delay"]).endswith(": deve ser um número.")


@pytest.mark.usefixtures("_portuguese")
def test_rule_reasons_are_translated_with_their_values(sqlite: Database) -> None:
    (tried,) = publications.judge_urls(
        context_of(sqlite),
        {"name": "fcul", "base_url": "http://a.example/", "depth": 2},
        ["http://a.example/x"],
        depth=3,
    )
    assert tried.rule == TooDeep.__name__
    assert translate_reason(tried.reason_code, tried.reason_parameters) == (
        "Está à profundidade 3, e a publicação fcul vai até à profundidade 2."
    )


@pytest.mark.usefixtures("_portuguese")
def test_errors_are_translated_with_their_parameters(sqlite: Database) -> None:
    with pytest.raises(NotFoundError) as missing:
        sources.get_source(context_of(sqlite), "user.ana.x")
    assert _(str(missing.value)) == "Não existe a fonte 'user.ana.x'. `tarantula stream list` mostra-as."
    with pytest.raises(TarantulaError) as refused:
        source_from_answers(category_named("feed"), {"address": "nasa"})
    expected = "Endereço do feed não pode ser 'nasa'. Escreva como em https://www.nasa.gov/feed/."
    assert [_(str(refused.value)), *map(_, refused.value.fields.values())] == [expected, expected]


@pytest.mark.usefixtures("_portuguese")
def test_each_line_of_an_error_is_translated() -> None:
    with pytest.raises(TarantulaError) as refused:
        from_toml('[publication.a]\nbase_url = "http://a.example/"\ndepth = -1\n[publication.b]\ndelai = 1\n')
    assert str(refused.value).splitlines() == [
        "a: The depth must be 0 or more, and -1 is not.",
        "b: The field base_url is missing.",
        "b: There is no field delai. Did you mean delay?",
    ]
    assert _(str(refused.value)).splitlines() == [
        "a: A profundidade tem de ser 0 ou mais, e -1 não é.",
        "b: Falta o campo base_url.",
        "b: Não existe o campo delai. Queria dizer delay?",
    ]


@pytest.mark.usefixtures("_portuguese")
@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (Reason.of("answered", answer="404 Not Found"), "O servidor respondeu 404 Not Found."),
        (
            Reason.of(
                "robots_unreached",
                robots="http://a.example/robots.txt",
                reason=Reason.of("connection_refused", server="a.example"),
            ),
            "Não se conseguiu obter http://a.example/robots.txt: O servidor a.example recusou a ligação.",
        ),
        (
            Reason.of("timeout", seconds=30.0, stage=Reason.of("stage_body", size=1234)),
            "Demorou mais de 30 s; estava a ler o corpo, com 1,234 bytes até então.",
        ),
        (
            Reason.of("answered", answer="200 OK")
            .with_note(Reason.of("made_by_component"))
            .with_note(as_reason("Seen by {me}.")),
            "O servidor respondeu 200 OK. A resposta não veio do servidor, mas de um componente do coletor. "
            "Seen by {me}.",
        ),
        (
            Reason.of("indicator_errors", value="30.5%", rule="errors > 20%"),
            "30.5% dos documentos pedidos não puderam ser obtidos (errors > 20%).",
        ),
        (Reason.custom("no_logos", "{name} is a logo.", name="a.png"), "a.png is a logo."),
    ],
)
def test_reasons_are_rendered_in_the_language(reason: Reason, sentence: str) -> None:
    assert translate_reason(reason.code, reason.parameters) == sentence


@pytest.mark.usefixtures("_portuguese")
def test_stored_reasons_of_streams_are_translated(sqlite: Database) -> None:
    found = Message("{name} rose above {limit}: it was {before}, it is {now}.", name="wind", limit=3, before=1, now=5)
    row = Firing(why=join_messages([found, Message("Nothing is known of {name}.", name="rain")]))
    assert row.why == "wind rose above 3: it was 1, it is 5.\nNothing is known of rain."
    assert _(row.why).splitlines()[0] == "wind subiu acima de 3: era 1, é 5."
    assert _(SourceState(sentence="Of {my} own adapter.").sentence) == "Of {my} own adapter."


def test_other_texts_stay_as_they_are() -> None:
    with language_set_to("pt"):
        assert _("Nobody has said this before.") == "Nobody has said this before."
        assert _("{} is {not} a template") == "{} is {not} a template"
        # A value that is no message is never translated, whatever it says.
        assert _(Message("There is no item {urn}.", urn="Items")) == "There is no item Items."
        assert _(Message("There is no item {urn}.", urn=Message("Items"))) == "There is no item Itens."


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
