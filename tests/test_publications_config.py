"""What may be said of a publication, and what is said of that which may not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.errors import TarantulaError
from tarantula.publications import PublicationConfig, read
from tarantula.times import format_duration, parse_duration
from tarantula.urls import canonical

FCUL = {"name": "fcul", "base_url": "http://www.fc.ul.pt/index.html"}


def refusal(**fields: Any) -> str:
    with pytest.raises(TarantulaError) as refused:
        read({**FCUL, **fields})
    return str(refused.value)


@pytest.fixture
def in_lisbon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Lisbon")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_the_example_of_2001(in_lisbon: None) -> None:
    config = read(
        {
            **FCUL,
            "depth": 5,
            "every": "monthly",
            "start": "2001-06-12 22:00",
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
    assert read({**FCUL, "name": name}).name == name


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
    assert read({**FCUL, "base_url": typed}).base_url == url


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
        ("http://a b/", "is not a URL that a browser could read"),
        ("http://www.fc.ul.pt:99999/", "is not a URL that a browser could read"),
        ("http://www.fc.ul.pt/" + "x" * 100_000, "is not a URL that a browser could read"),
        ("http://me:secret@www.fc.ul.pt/", "carries a user name"),
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
        url = read({**FCUL, "base_url": text}).base_url
    except TarantulaError:
        return
    assert canonical(url) == url
    assert url.startswith(("http://", "https://"))


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("depth", -1, "The depth must be 0 or more, and -1 is not."),
        ("max_size", 0, "The largest size must be more than 0, and 0 is not."),
        ("max_size", -5, "The largest size must be more than 0, and -5 is not."),
        ("timeout", 0, "The timeout must be more than 0, and 0 is not."),
        ("timeout", float("inf"), "The timeout must be more than 0, and inf is not."),
        ("delay", -0.5, "The delay must be 0 or more, and -0.5 is not."),
        ("delay", float("nan"), "The delay must be 0 or more, and nan is not."),
        ("per_server", 0, "The requests at a time to one server must be 1 or more, and 0 is not."),
    ],
)
def test_numbers_out_of_range(field: str, value: float, sentence: str) -> None:
    assert refusal(**{field: value}) == sentence


@pytest.mark.parametrize(
    "every", ["once", "hourly", "daily", "weekly", "monthly", "yearly", "0 22 12 * *", "*/5 * * * mon"]
)
def test_periods(every: str) -> None:
    assert read({**FCUL, "every": f" {every.upper() if every.isalpha() else every} "}).every == every


@pytest.mark.parametrize("every", ["often", "", "* * * *", "0 25 * * *", "0 22 32 * *", "a b c d e", "* * * * * *"])
def test_periods_that_are_none(every: str) -> None:
    assert repr(every) in refusal(every=every)


@pytest.mark.parametrize(
    ("start", "moment"),
    [
        ("2026-06-12 22:00", "2026-06-12T21:00:00+00:00"),
        ("2026-01-12 22:00", "2026-01-12T22:00:00+00:00"),
        ("2026-06-12", "2026-06-11T23:00:00+00:00"),
        ("2026-06-12T22:00:30+05:00", "2026-06-12T17:00:30+00:00"),
        ("2026-06-12 22:00Z", "2026-06-12T22:00:00+00:00"),
        (datetime(2026, 6, 12, 22, tzinfo=UTC).date(), "2026-06-11T23:00:00+00:00"),
    ],
)
def test_starts_are_in_the_zone_of_this_machine(in_lisbon: None, start: object, moment: str) -> None:
    config = read({**FCUL, "start": start})
    assert config.start is not None
    assert config.start.astimezone(UTC).isoformat() == moment


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ("2026-02-30 10:00", "There is no 2026-02-30 in the calendar."),
        ("2025-02-29", "There is no 2025-02-29 in the calendar."),
        ("2026-13-01", "There is no 2026-13-01 in the calendar."),
        ("2026-06-12 25:00", "'25:00' is not an hour. Write it as 2026-06-12 22:00."),
        ("12/06/2026", "'12/06/2026' is not a date. Write it as 2026-06-12 22:00."),
        ("tomorrow", "'tomorrow' is not a date. Write it as 2026-06-12 22:00."),
        ("0001-01-01", "The year 1 is too far away."),
        ("9999-12-31T23:59-12:00", "The year 9999 is too far away."),
        ("2026-03-29 01:30", "There is no 2026-03-29 01:30 here: the clocks skip that hour."),
    ],
)
def test_dates_that_do_not_exist(in_lisbon: None, start: str, sentence: str) -> None:
    assert refusal(start=start) == sentence


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("10d", 864_000),
        ("3h", 10_800),
        ("90m", 5400),
        ("1H30M", 5400),
        ("2w", 1_209_600),
        ("45", 45),
        (45, 45),
        ("", None),
    ],
)
def test_durations(typed: object, seconds: int | None) -> None:
    assert read({**FCUL, "max_duration": typed}).max_duration == seconds


@pytest.mark.parametrize("typed", ["x", "-5", "0", "0d", "10 d", "1.5h", "d", "10000000d", "9" * 5000, "²"])
def test_durations_that_are_none(typed: str) -> None:
    assert "duration" in refusal(max_duration=typed)


@given(st.integers(1, 3_000_000_000))
def test_durations_are_read_as_they_are_written(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    "types", ["pdf", "application/", "/pdf", "*/pdf", "a/b/c", "text/html charset=x", "a/" + "b" * 130]
)
def test_types_that_are_not_a_slash_b(types: str) -> None:
    for field in ("add_types", "exclude_types"):
        assert "is not a type. Write it as a/b" in refusal(**{field: types})


def test_a_type_both_added_and_excluded() -> None:
    assert refusal(add_types="image/bmp", exclude_types="IMAGE/BMP") == "The type image/bmp is both added and excluded."


def test_lists_are_separated_by_semicolons() -> None:
    config = read({**FCUL, "accept": " .fc.ul.pt ; xldb.fc.ul.pt;; .fc.ul.pt", "add_types": ["Image/*", "a/b;c/d"]})
    assert config.accept == [".fc.ul.pt", "xldb.fc.ul.pt"]
    assert config.add_types == ["image/*", "a/b", "c/d"]


@pytest.mark.parametrize(
    ("accept", "exclude"), [("a.pt", "a.pt"), (".FC.ul.pt;b.pt", "x.pt;.fc.ul.pt"), ("http://a.pt/", "A.PT")]
)
def test_a_server_both_accepted_and_excluded(accept: str, exclude: str) -> None:
    assert "is both accepted and excluded" in refusal(accept=accept, exclude=exclude)


def test_the_base_server_cannot_be_excluded_by_name() -> None:
    assert "it is the one of the base document" in refusal(exclude="www.fc.ul.pt")
    assert read({**FCUL, "exclude": ".fc.ul.pt;www.fc.ul.pt:8080"}).exclude == [".fc.ul.pt", "www.fc.ul.pt:8080"]


@pytest.mark.parametrize("pattern", ["a/b", "a b", "ftp://a", "?", "a:0"])
def test_patterns_that_name_no_server(pattern: str) -> None:
    assert "server pattern" in refusal(accept=pattern)


@pytest.mark.parametrize("strategy", ["depth-first", "breadth-first", "best-first", "my_project.orders.Newest"])
def test_strategies(strategy: str) -> None:
    assert read({**FCUL, "strategy": strategy}).strategy == strategy


@pytest.mark.parametrize("strategy", ["", "fastest", "a..b", "a.b!", "1.2"])
def test_strategies_that_are_none(strategy: str) -> None:
    assert "is not a strategy" in refusal(strategy=strategy)


def test_settings() -> None:
    settings = {"SPIDER_MIDDLEWARES": {"my.middleware": 500, "other": None}, "LOG_LEVEL": "INFO", "X_1": [1.5, True]}
    assert read({**FCUL, "settings": settings}).settings == settings


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"log_level": 1}, "'log_level' is not a setting"),
        ({"": 1}, "'' is not a setting"),
        ({"A": {1}}, "The value of the setting A cannot be stored"),
        ({"A": float("nan")}, "The value of the setting A cannot be stored"),
        ({"A": "\udcff"}, "The value of the setting A cannot be stored"),
    ],
)
def test_settings_that_cannot_be_kept(settings: dict[str, Any], complaint: str) -> None:
    assert complaint in refusal(settings=settings)


def test_every_field_that_is_wrong_gets_a_sentence() -> None:
    assert refusal(depth=-1, max_size="huge", dept=3, robots="perhaps", description="\udcff").splitlines() == [
        r"'\udcff' holds bytes that are no text in UTF-8.",
        "The depth must be 0 or more, and -1 is not.",
        "The field robots cannot be 'perhaps': input should be a valid boolean, unable to interpret input.",
        "The field max_size cannot be 'huge': input should be a valid integer, unable to parse string as an integer.",
        "There is no field dept. Did you mean depth or accept?",
    ]


def test_a_missing_field() -> None:
    with pytest.raises(TarantulaError, match=r"The field base_url is missing\."):
        read({"name": "fcul"})


def test_what_is_written_is_read_again() -> None:
    config = read({**FCUL, "start": "2026-06-12 22:00", "max_duration": "10d", "accept": ".fc.ul.pt"})
    assert PublicationConfig.model_validate(config.model_dump(mode="json")) == config


def test_every_field_is_explained() -> None:
    assert [name for name, field in PublicationConfig.model_fields.items() if not field.description] == []
