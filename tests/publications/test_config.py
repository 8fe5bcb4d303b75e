"""Validation of a publication's configuration."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.core.errors import TarantulaError
from tarantula.core.urls import canonical
from tarantula.publications.config import PublicationConfig, read_config

FCUL = {"name": "fcul", "base_url": "http://www.fc.ul.pt/index.html"}


def refusal(**fields: Any) -> str:
    with pytest.raises(TarantulaError) as refused:
        read_config({**FCUL, **fields})
    return str(refused.value)


def test_the_example_of_2001() -> None:
    config = read_config(
        {
            **FCUL,
            "depth": 5,
            "every": "monthly",
            "start": "2001-06-12 22:00+01:00",
            "max_duration": "10d",
            "accept": ".fc.ul.pt",
            "exclude": "ptmat.lmc.fc.ul.pt",
            "profile": "HTML_com_IMAGENS",
            "add_types": "application/pdf;application/postscript",
            "exclude_types": "image/bmp",
            "max_size": 500_000,
            "timeout": 300,
        }
    )
    assert config.base_server == "www.fc.ul.pt"
    assert config.start is not None
    assert config.start.astimezone(UTC) == datetime(2001, 6, 12, 21, tzinfo=UTC)
    assert config.max_duration == 864_000
    assert config.add_types == ["application/pdf", "application/postscript"]


@pytest.mark.parametrize("name", ["fcul", "F.C-U_L", "9ticks", "_x", "a" * 100])
def test_names(name: str) -> None:
    assert read_config({**FCUL, "name": name}).name == name


@pytest.mark.parametrize("name", ["a/b", "a b", "a\nb", "", ".", "..", ".a", "-a", "público", "a\\b", "a;b", "a:b"])
def test_names_that_cannot_be_used(name: str) -> None:
    assert refusal(name=name).startswith(f"The name {name!r} cannot be used")


def test_a_name_of_two_hundred_letters() -> None:
    assert refusal(name="a" * 200) == "The name has 200 letters, and 100 is the limit."


@pytest.mark.parametrize("name", ["publication", "Publication"])
def test_a_name_that_is_taken(name: str) -> None:
    assert "is taken" in refusal(name=name)


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("http://www.fc.ul.pt", "http://www.fc.ul.pt/"),
        ("HTTP://WWW.FC.UL.PT:80/a/../b#c", "http://www.fc.ul.pt/b"),
        ("www.fc.ul.pt", "http://www.fc.ul.pt/"),
        ("www.fc.ul.pt:8080/index.html?a=b", "http://www.fc.ul.pt:8080/index.html?a=b"),
        ("localhost:8000", "http://localhost:8000/"),
        ("127.0.0.1/x", "http://127.0.0.1/x"),
        ("[::1]:8000/x", "http://[::1]:8000/x"),
        (" https://ciências.ulisboa.pt/ação ", "https://xn--cincias-kya.ulisboa.pt/a%C3%A7%C3%A3o"),
    ],
)
def test_base_documents(typed: str, url: str) -> None:
    assert read_config({**FCUL, "base_url": typed}).base_url == url


@pytest.mark.parametrize(
    "url",
    ["http://", "http:///index.html", "https://?q", "index", "/index.html", "//a/b", "", "mailto:a@b.pt", "a@b.pt"],
)
def test_base_documents_without_a_host(url: str) -> None:
    assert refusal(base_url=url).startswith(f"The base document {url!r} has no host.")


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("ftp://ftp.fc.ul.pt/", "is not on the web"),
        ("http://a b/", "is not a valid URL"),
        ("http://www.fc.ul.pt:99999/", "is not a valid URL"),
        ("http://www.fc.ul.pt/" + "x" * 100_000, "is not a valid URL"),
        ("http://me:secret@www.fc.ul.pt/", "has a user name"),
        ("http://" + "a" * 254 + "/", "254 letters"),
    ],
)
def test_base_documents_that_cannot_be_collected(url: str, complaint: str) -> None:
    sentence = refusal(base_url=url)
    assert complaint in sentence
    assert len(sentence) < 250


@given(st.text())
def test_any_base_document_is_canonical_or_refused(text: str) -> None:
    try:
        url = read_config({**FCUL, "base_url": text}).base_url
    except TarantulaError:
        return
    assert canonical(url) == url
    assert url.startswith(("http://", "https://"))


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("depth", -1, "The depth must be 0 or more, and -1 is not."),
        ("max_size", 0, "The maximum size must be more than 0, and 0 is not."),
        ("max_size", -5, "The maximum size must be more than 0, and -5 is not."),
        ("timeout", 0, "The timeout must be more than 0, and 0 is not."),
        ("timeout", float("inf"), "The timeout must be more than 0, and inf is not."),
        ("delay", -0.5, "The delay must be 0 or more, and -0.5 is not."),
        ("delay", float("nan"), "The delay must be 0 or more, and nan is not."),
        ("per_server", 0, "The number of parallel requests to one server must be 1 or more, and 0 is not."),
    ],
)
def test_numbers_out_of_range(field: str, value: float, sentence: str) -> None:
    assert refusal(**{field: value}) == sentence


@pytest.mark.parametrize(
    "types", ["pdf", "application/", "/pdf", "*/pdf", "a/b/c", "text/html charset=x", "a/" + "b" * 130]
)
def test_types_that_are_not_a_slash_b(types: str) -> None:
    for field in ("add_types", "exclude_types"):
        assert "is not a type. Write it as a/b" in refusal(**{field: types})


def test_a_type_both_added_and_excluded() -> None:
    assert refusal(add_types="image/bmp", exclude_types="IMAGE/BMP") == "The type image/bmp is both added and excluded."


def test_lists_are_separated_by_semicolons() -> None:
    config = read_config(
        {**FCUL, "accept": " .fc.ul.pt ; xldb.fc.ul.pt;; .fc.ul.pt", "add_types": ["Image/*", "a/b;c/d"]}
    )
    assert config.accept == [".fc.ul.pt", "xldb.fc.ul.pt"]
    assert config.add_types == ["image/*", "a/b", "c/d"]


@pytest.mark.parametrize(
    ("accept", "exclude"), [("a.pt", "a.pt"), (".FC.ul.pt;b.pt", "x.pt;.fc.ul.pt"), ("http://a.pt/", "A.PT")]
)
def test_a_server_both_accepted_and_excluded(accept: str, exclude: str) -> None:
    assert "is both accepted and excluded" in refusal(accept=accept, exclude=exclude)


def test_the_base_server_cannot_be_excluded_by_name() -> None:
    assert "it is the server of the base document" in refusal(exclude="www.fc.ul.pt")
    assert read_config({**FCUL, "exclude": ".fc.ul.pt;www.fc.ul.pt:8080"}).exclude == [".fc.ul.pt", "www.fc.ul.pt:8080"]


@pytest.mark.parametrize("pattern", ["a/b", "a b", "ftp://a", "?", "a:0"])
def test_patterns_that_name_no_server(pattern: str) -> None:
    assert "server pattern" in refusal(accept=pattern)


@pytest.mark.parametrize("strategy", ["depth-first", "breadth-first", "best-first", "my_project.orders.Newest"])
def test_strategies(strategy: str) -> None:
    assert read_config({**FCUL, "strategy": strategy}).strategy == strategy


@pytest.mark.parametrize("strategy", ["", "fastest", "a..b", "a.b!", "1.2"])
def test_strategies_that_are_none(strategy: str) -> None:
    assert "is not a strategy" in refusal(strategy=strategy)


def test_settings() -> None:
    settings = {"SPIDER_MIDDLEWARES": {"my.middleware": 500, "other": None}, "LOG_LEVEL": "INFO", "X_1": [1.5, True]}
    assert read_config({**FCUL, "settings": settings}).settings == settings


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"log_level": 1}, "'log_level' is not the name of a setting"),
        ({"": 1}, "'' is not the name of a setting"),
        ({"SPIDER_MIDDLEWARES": ["a.B"]}, "SPIDER_MIDDLEWARES must map import paths to numbers"),
        ({"EXTENSIONS": {"a.B": "first"}}, "EXTENSIONS must map import paths to numbers"),
        ({"A": {1}}, "The value of the setting A cannot be stored"),
        ({"A": float("nan")}, "The value of the setting A cannot be stored"),
        ({"A": "\udcff"}, "The value of the setting A cannot be stored"),
    ],
)
def test_settings_that_cannot_be_kept(settings: dict[str, Any], complaint: str) -> None:
    assert complaint in refusal(settings=settings)


def test_every_field_that_is_wrong_gets_a_sentence() -> None:
    assert refusal(depth=-1, max_size="huge", dept=3, robots="perhaps", description="\udcff").splitlines() == [
        r"'\udcff' is not valid UTF-8.",
        "The depth must be 0 or more, and -1 is not.",
        "The field robots cannot be 'perhaps': input should be a valid boolean, unable to interpret input.",
        "The field max_size cannot be 'huge': input should be a valid integer, unable to parse string as an integer.",
        "There is no field dept. Did you mean depth or accept?",
    ]


def test_a_missing_field() -> None:
    with pytest.raises(TarantulaError, match=r"The field base_url is missing\."):
        read_config({"name": "fcul"})


def test_what_is_written_is_read_again() -> None:
    config = read_config({**FCUL, "start": "2026-06-12 22:00", "max_duration": "10d", "accept": ".fc.ul.pt"})
    assert PublicationConfig.model_validate(config.model_dump(mode="json")) == config


def test_every_field_is_explained() -> None:
    assert [name for name, field in PublicationConfig.model_fields.items() if not field.description] == []
