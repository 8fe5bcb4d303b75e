"""The URL scheduler of 2021, compared with a model of its specification."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.frontier.escalona import CommandFile, UrlScheduler, read_url
from tarantula.frontier.strategies import STRATEGIES
from tests.support.escalona_reference import Model

ABC = "ADD_URLS 7\n" + "\n".join(
    f"http://{url}" for url in ("a.br/x/y", "a.br", "b.br/1", "b.br/2", "b.br/3", "c.br/", "a.br/z")
)


def shown(text: str, strategy: str = "depth-first") -> list[str]:
    lines = io.StringIO(text)
    return list(CommandFile("coleta.txt", lines, UrlScheduler(strategy)).execute())


def short(text: str, strategy: str = "depth-first") -> str:
    return " ".join(line.removeprefix("http://") for line in shown(text, strategy))


@pytest.mark.parametrize(
    ("text", "host", "url", "depth"),
    [
        ("http://ufmg.br", "ufmg.br", "http://ufmg.br", 0),
        ("http://www.ufmg.br/", "ufmg.br", "http://ufmg.br", 0),
        ("http://ufmg.br/dcc/pos", "ufmg.br", "http://ufmg.br/dcc/pos", 2),
        ("http://ufmg.br/dcc/pos/", "ufmg.br", "http://ufmg.br/dcc/pos", 2),
        ("http://ufmg.br//", "ufmg.br", "http://ufmg.br", 0),
        ("http://ufmg.br/dcc//", "ufmg.br", "http://ufmg.br/dcc", 1),
        ("http://ufmg.br/#top/", "ufmg.br", "http://ufmg.br", 0),
        ("http://ufmg.br#top", "ufmg.br", "http://ufmg.br", 0),
        ("http://ufmg.br/a?q=/b/c#d?e", "ufmg.br", "http://ufmg.br/a?q=/b/c", 1),
        ("http://ufmg.br/a/?q=1", "ufmg.br", "http://ufmg.br/a/?q=1", 2),
        ("http://ufmg.br?q=/1", "ufmg.br", "http://ufmg.br?q=/1", 0),
        ("http://ufmg.br/a?q=x.pdf", "ufmg.br", "http://ufmg.br/a?q=x.pdf", 1),
        ("http://ufmg.br/x.pdf.html", "ufmg.br", "http://ufmg.br/x.pdf.html", 1),
        ("http://ufmg.br/pdf", "ufmg.br", "http://ufmg.br/pdf", 1),
        ("http://site.doc", "site.doc", "http://site.doc", 0),
        ("http://ufmg.br:8080/a", "ufmg.br:8080", "http://ufmg.br:8080/a", 1),
        ("http://wwwufmg.br", "wwwufmg.br", "http://wwwufmg.br", 0),
        ("http://a.www.br", "a.www.br", "http://a.www.br", 0),
        ("HTTP://WWW.UFMG.br/Dcc", "ufmg.br", "http://ufmg.br/Dcc", 1),
        ("http://ufmg.br/ação", "ufmg.br", "http://ufmg.br/ação", 1),
    ],
)
def test_a_url_has_one_form(text: str, host: str, url: str, depth: int) -> None:
    assert read_url(text) == (host, url, depth)
    assert read_url(url) == (host, url, depth)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ufmg.br",
        "ftp://ftp.globo.com",
        "https://ufmg.br",
        "mailto:a@ufmg.br",
        "http:/ufmg.br",
        "http://",
        "http:///x",
        "http://www./x",
        "http://?q",
        "http://#x",
        *(f"http://ufmg.br/x{extension}" for extension in (".jpg", ".gif", ".mp3", ".avi", ".doc", ".pdf")),
        "http://ufmg.br/X.PDF",
        "http://ufmg.br/a/x.pdf/",
        "http://ufmg.br/x.pdf?page=2",
        "http://ufmg.br/x.pdf#page=2",
        "http://ufmg.br/.jpg",
    ],
)
def test_what_is_not_a_page_by_http_is_discarded_with_its_host(text: str) -> None:
    assert read_url(text) is None
    assert shown(f"ADD_URLS 1\n{text}\nLISTA_HOSTS\nESCALONA_TUDO") == []


@pytest.mark.parametrize(
    ("commands", "output"),
    [
        ("ESCALONA_TUDO", "a.br a.br/z a.br/x/y b.br/1 b.br/2 b.br/3 c.br"),
        ("ESCALONA 0", ""),
        ("ESCALONA 2\nESCALONA 2", "a.br a.br/z a.br/x/y b.br/1"),
        ("ESCALONA 99\nESCALONA 99\nESCALONA_TUDO", "a.br a.br/z a.br/x/y b.br/1 b.br/2 b.br/3 c.br"),
        ("ESCALONA_HOST b.br 2\nVER_HOST b.br", "b.br/1 b.br/2 b.br/3"),
        ("ESCALONA_HOST b.br 9\nESCALONA_HOST b.br 9", "b.br/1 b.br/2 b.br/3"),
        ("ESCALONA_HOST www.b.br 1\nESCALONA_HOST http://www.b.br/ 1\nESCALONA_HOST B.br 1", "b.br/1 b.br/2 b.br/3"),
        ("ESCALONA_HOST nobody.br 2\nVER_HOST nobody.br\nLIMPA_HOST nobody.br\nLISTA_HOSTS", "a.br b.br c.br"),
        ("VER_HOST a.br\nVER_HOST a.br", "a.br a.br/z a.br/x/y a.br a.br/z a.br/x/y"),
        ("LIMPA_HOST a.br\nVER_HOST a.br\nLISTA_HOSTS\nESCALONA 1", "a.br b.br c.br b.br/1"),
        ("ESCALONA_TUDO\nLISTA_HOSTS", "a.br a.br/z a.br/x/y b.br/1 b.br/2 b.br/3 c.br a.br b.br c.br"),
        ("LIMPA_TUDO\nLISTA_HOSTS\nESCALONA_TUDO\nADD_URLS 1\nhttp://c.br\nLISTA_HOSTS", "c.br"),
        ("ADD_URLS 0\nESCALONA 1", "a.br"),
        ("\n \t\nESCALONA 1\n\n", "a.br"),
        ("  ESCALONA_HOST   b.br\t1  ", "b.br/1"),
        ("LIMPA_HOST b.br\nADD_URLS 3\n\n  http://b.br/4 \nhttp://b.br\nVER_HOST b.br", "b.br b.br/4"),
    ],
)
def test_commands(commands: str, output: str) -> None:
    assert short(f"{ABC}\n{commands}") == output


def test_a_host_is_found_by_the_name_that_is_listed() -> None:
    known = "ADD_URLS 2\nhttp://www.www.com/1\nhttp://com/2\n"
    assert short(f"{known}LISTA_HOSTS\nESCALONA_HOST www.com 1\nESCALONA_HOST www.com 1") == "www.com com www.com/1"


def test_a_url_that_waits_is_not_taken_twice_and_one_that_was_scheduled_may_come_again() -> None:
    again = "ADD_URLS 3\nhttp://a.br/x\nhttp://www.a.br/x/\nhttp://a.br/x#y\n"
    assert short(
        f"{again}{again}ESCALONA_TUDO\n{again}ESCALONA_HOST a.br 5\n{again}LIMPA_HOST a.br\n{again}VER_HOST a.br"
    ) == ("a.br/x a.br/x a.br/x")


@pytest.mark.parametrize(
    ("commands", "output"),
    [
        ("ESCALONA_TUDO", "a.br b.br/1 c.br a.br/z b.br/2 a.br/x/y b.br/3"),
        ("ESCALONA 1\nESCALONA 1\nESCALONA 2", "a.br b.br/1 c.br a.br/z"),
        ("ESCALONA 1\nADD_URLS 1\nhttp://d.br\nESCALONA 4", "a.br b.br/1 c.br d.br a.br/z"),
        ("ESCALONA 4\nADD_URLS 1\nhttp://c.br/9\nESCALONA 3", "a.br b.br/1 c.br a.br/z b.br/2 c.br/9 a.br/x/y"),
        ("ESCALONA 1\nESCALONA_HOST c.br 1\nESCALONA 3", "a.br c.br b.br/1 a.br/z b.br/2"),
        ("ESCALONA 1\nLIMPA_HOST b.br\nADD_URLS 1\nhttp://b.br/9\nESCALONA 2", "a.br b.br/9 c.br"),
        ("ESCALONA 1\nLIMPA_TUDO\nADD_URLS 2\nhttp://c.br\nhttp://a.br\nESCALONA 2", "a.br c.br a.br"),
        (
            "ESCALONA 1\nLIMPA_HOST a.br\nLIMPA_HOST b.br\nLIMPA_HOST c.br\nESCALONA 1\n"
            "ADD_URLS 3\nhttp://a.br/7\nhttp://c.br/9\nhttp://b.br/8\nESCALONA_TUDO",
            "a.br b.br/8 c.br/9 a.br/7",
        ),
    ],
)
def test_breadth_first_the_round_goes_on_from_the_last_host_served(commands: str, output: str) -> None:
    assert short(f"{ABC}\n{commands}", "breadth-first") == output


@pytest.mark.parametrize(
    ("commands", "output"),
    [
        ("ESCALONA_TUDO", "a.br b.br/1 a.br/z b.br/2 a.br/x/y b.br/3 c.br"),
        ("ESCALONA_HOST a.br 1\nESCALONA 2", "a.br b.br/1 a.br/z"),
        ("ADD_URLS 3\nhttp://c.br/1\nhttp://c.br/2\nhttp://c.br/3\nESCALONA 3", "c.br a.br b.br/1"),
        ("ESCALONA 2\nLIMPA_HOST a.br\nESCALONA 3", "a.br b.br/1 b.br/2 b.br/3 c.br"),
        ("LIMPA_TUDO\nESCALONA 1\nADD_URLS 2\nhttp://c.br\nhttp://a.br\nESCALONA 2", "c.br a.br"),
    ],
)
def test_best_first_the_host_with_most_urls_comes_first(commands: str, output: str) -> None:
    assert short(f"{ABC}\n{commands}", "best-first") == output


hosts = st.sampled_from(["a.br", "b.com", "c.net", "d.org"])
urls = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["http://", "http://www.", "http://", "ftp://"]),
    hosts,
    st.sampled_from(["", "/", "/x", "/y/", "/x/y", "/x/z", "/x/y/z/", "/w/w//w", "/a.html", "/x.pdf", "/x//"]),
    st.sampled_from(["", "", "?q=1", "?q=/2", "?f=x.doc"]),
    st.sampled_from(["", "", "#top", "#a/b"]),
)
numbers = st.integers(0, 4)
commands = st.one_of(
    st.lists(urls, max_size=8).map(lambda lines: "\n".join([f"ADD_URLS {len(lines)}", *lines])),
    st.builds("ESCALONA {}".format, numbers),
    st.builds("ESCALONA_HOST {} {}".format, hosts, numbers),
    st.builds("VER_HOST {}".format, hosts),
    st.builds("LIMPA_HOST {}".format, hosts),
    st.sampled_from(["LISTA_HOSTS", "ESCALONA_TUDO", "LIMPA_TUDO"]),
)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(st.lists(commands, max_size=25))
def test_whatever_is_commanded_it_does_as_the_specification_says(strategy: str, sequence: list[str]) -> None:
    text = "\n".join([*sequence, "LISTA_HOSTS", "ESCALONA_TUDO"])
    assert shown(text, strategy) == Model(strategy).execute(text)
