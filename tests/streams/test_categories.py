"""Ready-made categories: every one builds a source that can be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tarantula.core.errors import NotFoundError, TarantulaError
from tarantula.streams.categories import categories, category_named, form_questions, source_from_answers
from tarantula.streams.sources.config import SourceConfig, parse_source
from tests.support.stream_answers import reading, texts

READY_MADE = categories()


def examples(name: str) -> dict[str, str]:
    """Answer a form with its own examples."""
    form = READY_MADE[name].form
    return {question.key: question.example or next(iter(question.choices), "") for question in form}


def made(category: str, **answers: str) -> SourceConfig:
    return parse_source(source_from_answers(READY_MADE[category], answers))


def test_what_the_report_of_2009_asks_for_is_there() -> None:
    wanted = {"stock", "weather", "sports", "traffic", "flight", "auction", "feed", "xml", "json", "calendar"}
    assert wanted <= READY_MADE.keys()


@pytest.mark.parametrize("name", READY_MADE)
def test_every_category_makes_a_source_of_its_own_examples(name: str) -> None:
    config = parse_source(source_from_answers(READY_MADE[name], examples(name)))
    assert config.category == name
    assert config.address.startswith("http")
    assert "{" not in config.address
    assert not any("{" in str(part) for field in config.fields for part in field.place.values())
    assert config.fields


@pytest.mark.parametrize("name", READY_MADE)
def test_every_question_says_what_to_write(name: str) -> None:
    for question in READY_MADE[name].form:
        assert question.label
        assert question.example or question.choices or question.default


def test_adding_the_nasa_feed_is_one_field() -> None:
    config = made("feed", address="https://www.nasa.gov/feed/")
    assert (config.name, config.adapter, config.address) == ("feeds.nasa-gov", "feed", "https://www.nasa.gov/feed/")


ANSWERS: list[tuple[str, dict[str, str], str, dict[str, dict[str, str]]]] = [
    (
        "stock",
        {"symbol": "aapl", "market": "United States"},
        "Symbol,Date,Time,Open,High,Low,Close,Volume\nAAPL.US,2026-11-13,22:00:08,271,274.5,269.2,272.1,4100200\n",
        {"": {"price": "272.1", "high": "274.5", "low": "269.2", "volume": "4100200"}},
    ),
    (
        "weather",
        {"place": "Coimbra", "latitude": "40.21", "longitude": "-8.43"},
        '{"current": {"temperature_2m": 17.3, "relative_humidity_2m": 80, "wind_speed_10m": 9.1, "precipitation": 0.0'
        "}}",
        {"": {"temperature": "17.3", "humidity": "80", "wind": "9.1", "rain": "0.0"}},
    ),
    (
        "weather-portugal",
        {"place": "Lisboa"},
        '{"data": [{"tMin": "14.1", "tMax": "22.0", "precipitaProb": "35.0"}, {"tMin": "13", "tMax": "21"}]}',
        {"": {"highest": "22.0", "lowest": "14.1", "rain": "35.0"}},
    ),
    (
        "exchange-rate",
        {"currency": "USD"},
        '<e xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref"><Cube><Cube currency="USD" rate="1.0842"/>'
        '<Cube currency="JPY" rate="162.45"/></Cube></e>',
        {"": {"rate": "1.0842"}},
    ),
    (
        "sports",
        {"league": "Hóquei", "address": "http://stream.example/", "team": "Porto"},
        "<table><tr><th>Equipa<th>J<th>Pts<tr><td>Porto<td>12<td>29<tr><td>Benfica<td>12<td>28</table>",
        {"Porto": {"points": "29", "games": "12"}},
    ),
    (
        "auction",
        {"item": "256"},
        '<div class="x-price-primary">US $41.00</div><div class="x-bid-count"><a>12 bids</a></div>',
        {"": {"price": "US $41.00", "bids": "12"}},
    ),
    (
        "traffic",
        {"road": "IC19", "latitude": "38.75", "longitude": "-9.23", "key": "k"},
        '{"flowSegmentData": {"currentSpeed": 41, "freeFlowSpeed": 90, "currentTravelTime": 310}}',
        {"": {"speed": "41", "free_speed": "90", "time": "310"}},
    ),
]


@pytest.mark.parametrize(("name", "answers", "body", "expected"), ANSWERS, ids=[answer[0] for answer in ANSWERS])
def test_the_response_of_every_service_is_read(name: str, answers: dict[str, str], body: str, expected: Any) -> None:
    assert texts(reading(made(name, **answers), body)) == expected


def test_answers_are_escaped_in_urls() -> None:
    config = made("weather", place="São João & Cª?", latitude="1", longitude="2")
    assert config.name == "weather.sao-joao-ca"
    with pytest.raises(TarantulaError, match="Symbol cannot be"):
        made("stock", symbol="a&b=c d")
    with pytest.raises(TarantulaError, match="Currency cannot be"):
        made("exchange-rate", currency="USD'] | //*['")


@pytest.mark.parametrize(
    ("name", "answers", "sentence"),
    [
        ("feed", {}, "Address of the feed is missing. Example: https://www.nasa.gov/feed/."),
        (
            "feed",
            {"address": "nasa"},
            "Address of the feed cannot be 'nasa'. Example: https://www.nasa.gov/feed/.",
        ),
        ("feed", {"address": "ftp://x.example/"}, "Address of the feed cannot be 'ftp://x.example/'."),
        ("feed", {"address": "http://x.example/", "adress": "y"}, "RSS or Atom feed does not ask for adress. Did you"),
        ("weather", {"place": "x", "latitude": "north", "longitude": "2"}, "Latitude cannot be 'north'."),
        ("weather-portugal", {"place": "Lisbon"}, "City cannot be 'Lisbon'. Did you mean Lisboa? Choose: Aveiro"),
        ("stock", {"symbol": "a\x00b"}, "Symbol is too long, or contains control characters."),
        ("json", {"name": "x", "address": "http://x.example/", "path": "a["}, "'a[' is not a JMESPath expression"),
        ("stock", {"symbol": "aapl", "base": "not an address"}, "Address of the service cannot be 'not an address'."),
    ],
)
def test_an_invalid_answer_is_an_error_message(name: str, answers: dict[str, str], sentence: str) -> None:
    with pytest.raises(TarantulaError) as refused:
        made(name, **answers)
    assert sentence in str(refused.value)


def test_the_base_url_of_a_service_can_be_changed_in_the_form() -> None:
    assert [question.key for question in form_questions(READY_MADE["stock"])] == ["symbol", "market", "base"]
    config = made("stock", symbol="aapl", base="http://127.0.0.1:8000/")
    assert config.address == "http://127.0.0.1:8000/q/l/?s=aapl.us&f=sd2t2ohlcv&h&e=csv"
    assert made("stock", symbol="aapl", market="Germany").name == "stocks.germany.aapl"


def test_an_installation_adds_and_overrides_categories(tmp_path: Path) -> None:
    (tmp_path / "stock.toml").write_text('base = "http://quotes.example"\n', encoding="utf-8")
    (tmp_path / "river.toml").write_text(
        'title = "River"\nurl = "http://rios.example/{station}"\nadapter = "page"\nsource_name = "rivers.{station}"\n'
        '[[form]]\nkey = "station"\nlabel = "Station"\nkind = "word"\n'
        '[[fields]]\nkey = "level"\nplace = { css = "#level" }\n',
        encoding="utf-8",
    )
    known = categories(tmp_path)
    assert known.keys() == READY_MADE.keys() | {"river"}
    assert parse_source(source_from_answers(known["stock"], {"symbol": "aapl"})).address.startswith(
        "http://quotes.example/q/l/"
    )
    assert parse_source(source_from_answers(known["river"], {"station": "12A"})).name == "rivers.12a"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("title = ", "cannot be read"),
        ('title = "x"\n', "The field url is missing"),
        ('title = "x"\nurl = "http://x/{a}"\nadapter = "page"\nform = []\n', "does not ask for a"),
    ],
)
def test_an_invalid_category_file_is_an_error_message(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "bad.toml").write_text(content, encoding="utf-8")
    with pytest.raises(TarantulaError, match=words):
        categories(tmp_path)


def test_an_unknown_category_is_an_error_message() -> None:
    with pytest.raises(NotFoundError, match="Did you mean weather"):
        category_named("wether")


def test_answers_in_headers_and_body_are_not_percent_encoded(tmp_path: Path) -> None:
    file = tmp_path / "quotes.toml"
    said = """
        title = "Quotes"
        url = "https://bolsa.example/{market}"
        adapter = "json"
        method = "post"
        body = '{"name": "{name}"}'
        headers = {X-API-Key = "{key}"}
        source_name = "quotes.{name}"
        fields = [{key = "price", place = {path = "price"}}]
        form = [{key = "market", label = "Market"}, {key = "name", label = "Name"}, {key = "key", label = "Key"}]
    """
    file.write_text(said)
    answers = {"market": "lisboa & porto", "name": 'Águas "1"', "key": "abc"}
    config = parse_source(source_from_answers(category_named("quotes", tmp_path), answers))
    assert config.address == "https://bolsa.example/lisboa%20%26%20porto"
    assert json.loads(config.sent.body) == {"name": 'Águas "1"'}
    assert dict(config.sent.headers) == {"X-API-Key": "abc", "Content-Type": "application/json"}
    file.write_text(said.replace("{market}", "{name}"))
    with pytest.raises(TarantulaError, match="name cannot be used both in the URL and in headers or body"):
        category_named("quotes", tmp_path)
