"""Search pages as HTML: foreign text stays text, every query has a clear response."""

from __future__ import annotations

import asyncio
import gc
import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp

from tarantula.accounts import sessions
from tarantula.accounts.roles import Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import ConflictError
from tarantula.search.index.schema import SCHEMA_VERSION
from tarantula.search.index.storage import BusyIndex, OutdatedIndex, SearchIndex
from tarantula.search.index.updater import IndexUpdater, discard_index, index_folder
from tarantula.search.results import CitationPiece, FacetCount, SearchFacets, SearchRequest, SearchResult, SearchResults
from tarantula.services import search as searching
from tarantula.web import api, public
from tarantula.web.api.common import add_error_handlers
from tarantula.web.auth import SESSION_COOKIE, Authenticator, AuthMiddleware
from tarantula.web.middleware import SecurityHeadersMiddleware
from tarantula.web.public import facet_views, page_links, parse_results_query, result_view, templates
from tarantula.web.replay.addresses import ReplayMiddleware, ReplayOrigin
from tarantula.web.replay.security import TicketSigner
from tests.search.test_index_updater import catch_up, tell
from tests.support.archived_items import archive, page
from tests.support.barrels import start_barrel, start_gateway
from tests.support.contexts import context_of
from tests.support.crawls import end_started
from tests.support.waits import eventually

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
ATTACK = page(
    "ataque",
    b"<title>&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;</title>"
    b"<p>Um ataque: &lt;mark&gt;&lt;script&gt;alert(3)&lt;/script&gt; javascript:alert(4) {{ 7 * 7 }} {% raw %}.",
)
PAGES = [
    page(str(number), f"<title>Curso {number}</title><p>O curso número {number} de física.".encode())
    for number in range(23)
]
TAG = re.compile(r"<\s*(script|img|iframe|svg|style)\b[^>]*>", re.IGNORECASE)


class Browser:
    """Client of the app in this process, with a login."""

    def __init__(self, app: ASGIApp, secret: str) -> None:
        self._app = app
        self.headers = {"Cookie": f"{SESSION_COOKIE}={secret}"}

    def get(self, address: str, **params: str) -> httpx.Response:
        """Request a page."""
        return self._ask("GET", address, params=params or None)

    def post(self, address: str, **data: str) -> httpx.Response:
        """Send a form."""
        return self._ask("POST", address, data=data)

    def _ask(self, method: str, address: str, **options: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
                return await client.request(method, address, headers=self.headers, **options)

        return asyncio.run(ask())


@pytest.fixture
def browser(sqlite: Database, config: Config) -> Browser:
    """A client with a login."""
    app = FastAPI()
    for router in (public.router, api.router):
        app.include_router(router)
    add_error_handlers(app)
    app.add_middleware(AuthMiddleware, authenticator=Authenticator(config, sqlite))
    app.add_middleware(ReplayMiddleware, replay=ReplayOrigin(TicketSigner(), 8091))
    with sqlite.session() as session:
        secret = sessions.begin_session(session, None, "ana")
    return Browser(SecurityHeadersMiddleware(app), secret)


@pytest.fixture
def filled(sqlite: Database, config: Config, browser: Browser) -> Browser:
    """A client with collected documents."""
    first = archive(sqlite, config, [*PAGES, ATTACK])
    tell(sqlite, first)
    second = archive(sqlite, config, [PAGES[0], page("copy", PAGES[1].body)], after=first, months=1)
    tell(sqlite, second)
    catch_up(IndexUpdater(config, sqlite))
    return browser


def links(html: str) -> list[str]:
    return [link.replace("&amp;", "&") for link in re.findall(r'href="([^"]*)"', html)]


def test_foreign_text_never_becomes_markup(filled: Browser) -> None:
    for query in ("ataque", HOSTILE, f"{HOSTILE} ataque", "'); alert(1); //", "{{ 7 * 7 }}"):
        answer = filled.get("/search", q=query, order=HOSTILE, page=HOSTILE)
        assert answer.status_code == 200
        assert TAG.findall(answer.text) == ["script"], "only our own"
        assert "49" not in answer.text
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'nonce-")
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
    answer = filled.get("/search", q="ataque")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    assert "Um <mark>ataque</mark>: &lt;mark&gt;&lt;script&gt;" in answer.text
    assert all(link.startswith(("/", "#", "http://", "https://")) for link in links(answer.text))


@pytest.mark.parametrize("number", ["-1", "0", "1000000000", "9" * 5000, "abc", "", "1.5", "²", "1e3"])
def test_invalid_page_numbers_give_a_note(filled: Browser, number: str) -> None:
    answer = filled.get("/search", q="curso", page=number)
    assert answer.status_code == 200
    assert re.search("is not a page number|Only the first 1000 pages are available", answer.text)
    assert re.search("There is nothing on this page|Curso", answer.text)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "Search what was collected"),
        ("   \t ", "Enter one or more words."),
        ("de " * 10_000, "Only the first 10000 characters are used.(.|\n)*Only the first 64 words are searched for."),
        ('"curso de', "Nothing was found|Page 1 of"),
        ("\x01\x02curso\x7f", "Page 1 of 3"),
        ("\0curso\0", "Page 1 of 3"),
        ("\0\x1b", "Enter one or more words."),
        ("curso before:2026-02-30", "is not a date"),
        ("site:", "Page 1 of"),
        ("-curso", "Page 1 of|Enter one or more words"),
        ("OR OR OR", "Enter one or more words."),
        ("\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "Page 1 of"),
    ],
)
def test_every_query_has_a_clear_answer(filled: Browser, query: str, said: str) -> None:
    answer = filled.get("/search", q=query)
    assert answer.status_code == 200
    assert re.search(said, answer.text), answer.text


def test_links_page_and_filter_results(filled: Browser) -> None:
    answer = filled.get("/search", q="curso", order="newest")
    assert "Documents: 24. Page 1 of 3." in answer.text
    assert answer.text.count("<h2><a") == 10
    third = filled.get("/search?" + urlencode({"q": "curso", "page": 3, "order": "newest"}))
    assert "/search?q=curso&page=3&order=newest" in links(answer.text)
    assert 0 < third.text.count("<h2><a") < 10
    assert '<span aria-current="page">3</span>' in third.text
    (narrowed,) = {link for link in links(answer.text) if "type%3A" in link}
    there = filled.get(narrowed)
    assert "✕ text/html" in there.text
    assert "/search?q=curso&order=newest" in links(there.text)
    (year,) = {link for link in links(answer.text) if "after%3A" in link}
    assert filled.get(year).text.count("<h2><a") == 10


def test_a_result_lists_other_captures_and_duplicates(filled: Browser) -> None:
    answer = filled.get("/search", q='"número 0"')
    assert "Other captures:" in answer.text
    assert len([link for link in links(answer.text) if link.startswith("/search/copy/")]) == 2
    equal = filled.get("/search", q='"número 1"')
    assert "1 more exact duplicates." in equal.text


def test_every_part_of_a_result_is_escaped() -> None:
    told = SearchResult(
        document=7,
        url="javascript:alert(1)//" + HOSTILE,
        title=HOSTILE,
        server=HOSTILE,
        type=HOSTILE,
        language=HOSTILE,
        publication=HOSTILE,
        urn="fcul-1",
        collected=datetime(2026, 6, 12, tzinfo=UTC),
        citation=[CitationPiece(text=HOSTILE), CitationPiece(text=HOSTILE, marked=True)],
        score=1.0,
        inlinks=3,
        same=2,
        alike=4,
    )
    facets = SearchFacets(servers=[FacetCount(value=HOSTILE, documents=1)])
    found = SearchResults(query=HOSTILE, page=1, pages=9, documents=99, results=[told], facets=facets)
    asked = parse_results_query(HOSTILE, "2", "best", "")
    html = templates.get_template("search.html").render(
        request=SimpleNamespace(state=SimpleNamespace(nonce="n")),
        query=asked,
        found=found,
        orders=public.ORDER_LABELS,
        notes=[HOSTILE],
        did_you_mean=(HOSTILE, asked.with_query(HOSTILE)),
        results=[result_view(asked, told, [])],
        facets=facet_views(asked, facets),
        pages=page_links(asked, found),
        others={"pt": ("Português", "/language/pt")},
        person={"name": HOSTILE},
        language="en",
    )
    assert TAG.findall(html) == ["script"], "only our own"
    assert not [link for link in links(html) if link.startswith("javascript:")]
    assert "Live page" not in html
    assert "2 more exact duplicates." in html
    assert "4 more near-duplicates." in html
    assert [link for link in links(html) if "unfold=1" in link] == [asked.with_unfold(True)]


def test_a_configured_gateway_is_queried(
    sqlite: Database, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(sqlite, archive(sqlite, config, PAGES[:3]))
    catch_up(IndexUpdater(config, sqlite))
    start_barrel(tmp_path / "barrel", "--port", "0")
    _, address = start_gateway()
    monkeypatch.setenv("TARANTULA_GATEWAY", address)
    context = context_of(sqlite, Role.ADMINISTRATOR)
    assert context.installation.gateway == address
    wish = SearchRequest(query="curso")

    def are_found() -> bool:
        with suppress(ConflictError):
            return searching.search_documents(context, wish).documents == 3
        return False

    eventually(are_found)
    assert searching.completions(context, "o cur")[0] == "o curso"
    assert searching.completions(context, "\0" * 100_000) == []
    end_started()
    with pytest.raises(ConflictError, match="does not answer"):
        searching.search_documents(context, wish)


def test_a_copy_redirects_with_a_ticket(filled: Browser) -> None:
    found = filled.get("/search", q='"número 7"')
    copy = next(link for link in links(found.text) if link.startswith("/search/copy/"))
    answer = filled.get(copy)
    assert answer.status_code == 303
    assert re.fullmatch(r"http://testserver:8091/[^/]+/[^/]+/document/\d+", answer.headers["Location"])
    for wrong in ("/search/copy/nothing/1", "/search/copy/nothing/x", f"{copy}{'9' * 30}", f"{copy}99"):
        answer = filled.get(wrong)
        assert answer.status_code == 404
        assert "complaint" in answer.text


def test_queries_are_completed(filled: Browser) -> None:
    assert filled.get("/search/complete", q="fís").json() == ["física"]
    assert filled.get("/search/complete", q="o cur").json()[0] == "o curso"
    assert "Curso 1" in filled.get("/search/complete", q="cur").json()
    assert "title:curso" in filled.get("/search/complete", q="title:cur").json()
    for nothing in ("", " ", "c", "curso ", "x" * 10_000, "\x01", '"', HOSTILE):
        assert isinstance(filled.get("/search/complete", q=nothing).json(), list)


def test_a_missing_index_gives_advice(browser: Browser, config: Config) -> None:
    answer = browser.get("/search", q="curso")
    assert (answer.status_code, "There is no index yet." in answer.text) == (503, True)
    assert browser.get("/search/complete", q="curso").json() == []
    front = browser.get("/search")
    assert (front.status_code, "There is no index yet." in front.text) == (200, True)
    folder = index_folder(config)
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"segments": 7}))
    damaged = browser.get("/search", q="curso")
    assert (damaged.status_code, "is damaged" in damaged.text) == (503, True)


def test_a_damaged_index_gives_advice(filled: Browser, sqlite: Database, config: Config) -> None:
    damages: dict[str, Callable[[bytes], bytes]] = {
        "meta.json": lambda _: b"{",
        ".term": lambda content: content[: len(content) // 2],
        # The end stays intact, since it identifies the file; only reading it fails.
        ".store": lambda content: bytes(len(content) - 120) + content[-120:],
    }
    for part, damaged in damages.items():
        for path in [path for path in index_folder(config).iterdir() if path.name.endswith(part)]:
            path.write_bytes(damaged(path.read_bytes()))
        searching._index.cache_clear()
        answer = filled.get("/search", q="curso")
        assert (answer.status_code, "is damaged" in answer.text) == (503, True)
        assert "tarantula index --rebuild" in answer.text
        refused = filled.get("/api/search", query="curso")
        assert (refused.status_code, "--rebuild" in refused.json()["detail"]) == (503, True)
        discard_index(config)
        catch_up(IndexUpdater(config, sqlite))
        assert "Documents: 24." in filled.get("/search", q="curso").text


def test_only_a_writer_removes_an_index_of_another_version(
    filled: Browser, sqlite: Database, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarantula.search.index.storage.SCHEMA_VERSION", SCHEMA_VERSION + 1)
    searching._index.cache_clear()
    answer = filled.get("/search", q="curso")
    assert (answer.status_code, "another version" in answer.text) == (503, True)
    with pytest.raises(OutdatedIndex, match="`tarantula index`"):
        SearchIndex(index_folder(config))
    assert (index_folder(config) / "meta.json").exists()
    catch_up(IndexUpdater(config, sqlite))
    assert "Documents: 24." in filled.get("/search", q="curso").text


def test_an_index_of_another_version_in_use_is_kept(
    sqlite: Database, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    following = IndexUpdater(config, sqlite)
    catch_up(following)
    following.index.commit(0)
    monkeypatch.setattr("tarantula.search.index.storage.SCHEMA_VERSION", SCHEMA_VERSION + 1)
    with pytest.raises(BusyIndex, match="Another process"):
        IndexUpdater(config, sqlite)
    assert (index_folder(config) / "meta.json").exists()


def test_an_index_without_indexer_gives_a_note(filled: Browser, sqlite: Database, config: Config) -> None:
    said = "no process is updating it"
    assert said not in filled.get("/search").text
    tell(sqlite, archive(sqlite, config, [page("later", b"<p>Mais tarde.")], months=2))
    for answer in (filled.get("/search"), filled.get("/search", q="curso")):
        assert (answer.status_code, said in answer.text) == (200, True)
    following = IndexUpdater(config, sqlite)
    assert said not in filled.get("/search").text, "a search is running"
    catch_up(following)
    del following
    gc.collect()
    assert said not in filled.get("/search", q="tarde").text


def test_a_rebuilt_index_is_used(filled: Browser, sqlite: Database, config: Config) -> None:
    assert "Documents: 24." in filled.get("/search", q="curso").text
    discard_index(config)
    assert "There is no index yet." in filled.get("/search", q="curso").text
    catch_up(IndexUpdater(config, sqlite))
    assert "Documents: 24." in filled.get("/search", q="curso").text


def test_refused_suggestions_show_the_error(browser: Browser) -> None:
    for url, said in (
        ("http://127.0.0.1/", "private address"),
        ("mailto:a@b.pt", "http and https"),
        ("", "not a valid URL"),
    ):
        answer = browser.post("/search/suggest", url=url)
        assert (answer.status_code, said in answer.text) == (400, True), answer.text
    assert HOSTILE not in browser.post("/search/suggest", url=HOSTILE).text
    assert browser.get("/search/suggested/nothing/x").status_code == 404


def test_search_pages_are_translated(filled: Browser) -> None:
    filled.headers["Accept-Language"] = "pt-PT"
    answer = filled.get("/search", q="curso", page="x")
    assert '<html lang="pt">' in answer.text
    assert "Documentos: 24. Página 1 de 3." in answer.text
    assert "não é um número de página" in answer.text
    assert "Escreva uma palavra, ou várias." in filled.get("/search", q=" ").text


def test_without_login_the_login_page_is_shown(filled: Browser) -> None:
    del filled.headers["Cookie"]
    answer = filled.get("/search", q="curso")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/login?next=/search%3Fq%3Dcurso")
    assert filled.post("/search/suggest", url="http://a.example/").status_code == 403
