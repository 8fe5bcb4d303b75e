"""Publications as TOML."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarantula.core.errors import TarantulaError
from tarantula.publications.config import PublicationConfig, from_toml, read_config, to_toml

names = st.from_regex(r"[a-z0-9_][a-z0-9_.-]{0,20}", fullmatch=True).filter(lambda name: name != "publication")
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]))
json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(texts, parts, max_size=3),
    max_leaves=5,
)
configs = st.builds(
    lambda name, **fields: read_config({"name": name, "base_url": "http://www.fc.ul.pt/", **fields}),
    names,
    description=texts,
    depth=st.integers(0, 100),
    delay=st.floats(0, 1000),
    start=st.none() | st.datetimes(timezones=st.timezones()).filter(lambda moment: 1991 < moment.year < 2900),
    max_duration=st.none() | st.integers(1, 3_000_000_000),
    accept=st.lists(st.sampled_from([".ul.pt", "a.pt:8080", "127.0.0.*", "[::1]"])),
    robots=st.booleans(),
    every=st.just("weekly"),
    refresh=st.booleans(),
    refresh_visits=st.none() | st.integers(1, 10**9),
    settings=st.dictionaries(st.from_regex("[A-Z][A-Z0-9_]{0,9}", fullmatch=True), json, max_size=3),
)


@settings(max_examples=40)
@given(st.lists(configs, max_size=2, unique_by=lambda config: config.name))
def test_what_is_written_is_read_again(written: list[PublicationConfig]) -> None:
    assert from_toml(to_toml(written)) == written


def test_written_by_hand() -> None:
    [config] = from_toml("""
        [publication.fcul]
        base_url = "www.fc.ul.pt"
        start = 2026-06-12T22:00:00Z
        max_duration = "10d"
        accept = ".fc.ul.pt;xldb.fc.ul.pt"
        [publication.fcul.settings.SPIDER_MIDDLEWARES]
        "my.middleware" = 500
    """)
    assert (config.name, config.base_url, config.max_duration) == ("fcul", "http://www.fc.ul.pt/", 864_000)
    assert config.accept == [".fc.ul.pt", "xldb.fc.ul.pt"]
    assert config.settings == {"SPIDER_MIDDLEWARES": {"my.middleware": 500}}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[publication", "This is not TOML: "),
        ("", "holds tables named"),
        ("[fcul]\nbase_url = 'a.pt'", "holds tables named"),
        ("publication = 1", "holds tables named"),
        ("[publication]\nfcul = 1", "fcul: A publication is a table [publication.NAME]"),
        ("[publication.fcul]\nname = 'x'", "fcul: A publication is a table [publication.NAME]"),
        ("[publication.'a/b']\nbase_url = 'a.pt'", "a/b: The name 'a/b' cannot be used"),
        ("[publication.fcul]\nbase_url = 'a.pt'\nstart = 22:00:00", "fcul: '22:00:00' is not a date"),
        ("[publication.fcul]\nbase_url = 'a.pt'\nsettings = 1", "fcul: The field settings is not valid"),
        ("[publication.fcul.settings]\nA = nan", "fcul: The value of the setting A cannot be stored"),
        ("a = " + "[" * 5_000, "nested too deeply"),
        ("a = " + "[" * 50_000, "nested too deeply"),
        ("a = " + "9" * 5_000, "This is not TOML: "),
        ("a = 0x" + "f" * 50_000, "a number is too large"),
    ],
)
def test_files_that_cannot_be_read(text: str, sentence: str) -> None:
    with pytest.raises(TarantulaError) as refused:
        from_toml(text)
    assert sentence in str(refused.value)


def test_a_long_file_that_takes_very_long_does_not_hold_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarantula.publications.config.PARSER_SECONDS", 1.0)
    before = time.process_time()
    with pytest.raises(TarantulaError, match="takes too long to read"):
        from_toml("a" + ".a" * 200_000 + " = 1")
    assert time.process_time() - before < 1


def test_a_long_file_is_read_like_a_short_one() -> None:
    text = "[publication.fcul]\nbase_url = 'www.fc.ul.pt'\nstart = 2026-06-12T22:00:00Z\n"
    assert from_toml(text + "#" * 20_000) == from_toml(text)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(TarantulaError) as refused:
        from_toml("[publication.a]\nbase_url = 'a.pt'\ndepth = -1\n[publication.b]\n[publication.c]\nbase_url = 'a.pt'")
    assert str(refused.value).splitlines() == [
        "a: The depth must be 0 or more, and -1 is not.",
        "b: The field base_url is missing.",
    ]
