"""Server patterns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.publications.patterns import ServerPatterns, parse_pattern, split_server


@pytest.mark.parametrize(
    ("pattern", "taken", "left"),
    [
        ("www.fc.ul.pt", ["www.fc.ul.pt", "www.fc.ul.pt:8080", "www.fc.ul.pt."], ["fc.ul.pt", "a.www.fc.ul.pt"]),
        ("WWW.FC.UL.PT", ["www.fc.ul.pt"], ["www.ul.pt"]),
        ("www.fc.ul.pt.", ["www.fc.ul.pt", "www.fc.ul.pt."], []),
        (
            ".fc.ul.pt",
            ["fc.ul.pt", "www.fc.ul.pt", "alf1.cii.fc.ul.pt", "x.fc.ul.pt:81"],
            ["afc.ul.pt", "fc.ul.pt.evil.org"],
        ),
        ("*.fc.ul.pt", ["www.fc.ul.pt", "alf1.cii.fc.ul.pt"], ["fc.ul.pt", "wwwfc.ul.pt"]),
        ("www.*.pt", ["www.fc.ul.pt", "www.publico.pt"], ["www.pt", "www.publico.com"]),
        ("www*.ul.pt", ["www.ul.pt", "www2.ul.pt"], ["ul.pt"]),
        ("127.0.0.1", ["127.0.0.1", "127.0.0.1:8000"], ["127.0.0.10"]),
        ("127.0.0.*", ["127.0.0.1", "127.0.0.64:8000"], ["127.0.1.1", "127.0.0.evil.org", "[::1]"]),
        ("10.*", ["10.1.2.3"], ["100.1.2.3", "10.evil.org"]),
        ("*.0.0.1", ["127.0.0.1"], ["127.0.0.2", "127.0.1.1"]),
        ("127.0.0.*:8000", ["127.0.0.1:8000"], ["127.0.0.1", "127.0.0.1:8001"]),
        ("x.pt:8080", ["x.pt:8080"], ["x.pt", "x.pt:80"]),
        ("x.pt:08080", ["x.pt:8080"], ["x.pt"]),
        ("x.pt:80", ["x.pt", "x.pt:80"], ["x.pt:8080"]),
        ("x.pt:443", ["x.pt", "x.pt:443"], ["x.pt:80"]),
        ("*", ["x.pt", "127.0.0.1:8000", "[2001:db8::1]"], []),
        ("*:8080", ["x.pt:8080", "[::1]:8080"], ["x.pt"]),
        ("[2001:DB8::0:1]", ["[2001:db8::1]", "[2001:db8::1]:8080"], ["[2001:db8::2]"]),
        ("2001:db8::1", ["[2001:db8::1]"], ["[2001:db8::2]"]),
        ("[::1]:8080", ["[::1]:8080"], ["[::1]"]),
        ("ação.pt", ["xn--ao-siap.pt"], ["acao.pt"]),
        ("*.AÇÃO.pt", ["www.xn--ao-siap.pt"], ["xn--ao-siap.pt"]),
        (".ação.pt", ["xn--ao-siap.pt", "www.xn--ao-siap.pt"], ["www.acao.pt"]),
        ("http://www.x.pt/", ["www.x.pt", "www.x.pt:81"], ["x.pt"]),
        ("HTTPS://www.x.pt:8443/a/b?c#d", ["www.x.pt:8443"], ["www.x.pt"]),
        ("http://.x.pt", ["x.pt", "a.x.pt"], []),
        ("www.x.pt/", ["www.x.pt"], []),
        ("  www.x.pt ", ["www.x.pt"], []),
        ("a_b.x-y.pt", ["a_b.x-y.pt"], ["ab.x-y.pt"]),
        ("localhost", ["localhost", "localhost:8000"], ["localhost.pt"]),
    ],
)
def test_a_pattern_takes_its_servers_and_no_others(pattern: str, taken: list[str], left: list[str]) -> None:
    patterns = ServerPatterns([pattern])
    assert [server for server in taken if patterns.match(server) is None] == []
    assert [server for server in left if patterns.match(server) is not None] == []


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("a.pt b.pt", "separate patterns with a semicolon"),
        ("a.pt/dir", "has a path"),
        ("10.0.0.0/8", "has a path"),
        ("/a.pt", "has a path"),
        ("ftp://a.pt/", "is not a web server"),
        ("a.pt:0", "from 1 to 65535"),
        ("a.pt:65536", "from 1 to 65535"),
        ("a.pt:http", "from 1 to 65535"),
        ("a.pt:" + "9" * 5000, "from 1 to 65535"),
        ("http://", "is neither"),
        (".", "is neither"),
        ("..pt", "is neither"),
        ("a..pt", "is neither"),
        (".0.0.1", "is neither"),
        ("127.0..*", "is neither"),
        ("256.1.1.1", "is neither"),
        ("user@a.pt", "is neither"),
        ("a.pt,b.pt", "is neither"),
        ("a.pt?x", "is neither"),
        ("a%2ept", "is neither"),
        ("[a-z].pt", "is neither"),
        ("[::1", "is neither"),
        ("[::1]x", "is neither"),
        ("[a.pt]", "is neither"),
        ("2001:db8:*", "is neither"),
    ],
)
def test_a_pattern_that_cannot_be_read_gets_a_sentence(pattern: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        parse_pattern(pattern)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert len(sentence) < 250


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ("WWW.x.pt.", "http://www.x.pt/"),
        ("[::0001]", "::1"),
        ("ação.pt", "xn--ao-siap.pt"),
        ("127.1", "127.0.0.1"),
        ("x.pt:080", "x.pt:80"),
    ],
)
def test_patterns_that_mean_the_same_are_equal(one: str, same: str) -> None:
    assert parse_pattern(one) == parse_pattern(same)
    assert parse_pattern(one) != parse_pattern("other.pt")


@pytest.mark.parametrize("text", ["x.pt", "x.pt:81", ".x.pt", "*.x.pt", "[::1]", "[::1]:81", "127.0.0.*", "*"])
def test_a_pattern_is_shown_as_it_is_written(text: str) -> None:
    assert str(parse_pattern(text)) == text
    assert [str(pattern) for pattern in ServerPatterns([text])] == [text]


@pytest.mark.parametrize(
    ("server", "parts"),
    [
        ("x.pt", ("x.pt", "")),
        ("x.pt.", ("x.pt", "")),
        ("x.pt:81", ("x.pt", "81")),
        ("[::1]", ("::1", "")),
        ("[::1]:81", ("::1", "81")),
    ],
)
def test_a_server_is_a_host_and_a_port(server: str, parts: tuple[str, str]) -> None:
    assert split_server(server) == parts


@given(st.text(max_size=40))
def test_any_text_is_a_pattern_or_a_sentence(text: str) -> None:
    try:
        pattern = parse_pattern(text)
    except ValueError as error:
        said = str(error)
        assert "server pattern" in said
    else:
        assert parse_pattern(str(pattern)) == pattern


@given(st.from_regex(r"[a-z]{1,5}(\.[a-z]{1,5}){0,3}", fullmatch=True), st.sampled_from(["", ":81"]))
def test_a_domain_takes_itself_and_everything_below(domain: str, port: str) -> None:
    patterns = ServerPatterns([f".{domain}"])
    assert patterns.match(domain + port)
    assert patterns.match(f"www.{domain}{port}")
    assert not patterns.match(f"x{domain}{port}")
    assert not patterns.match(f"{domain}.longer{port}")
