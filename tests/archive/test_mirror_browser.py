"""A mirror is complete: a browser opens every copy from disk without network requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tarantula.archive.mirror.conversion import MirrorResult, convert_item
from tarantula.archive.mirror.paths import path_of_copy
from tarantula.core.config import Config
from tarantula.store.database import open_database
from tarantula.store.listings import DocumentRow, list_documents
from tests.sites.tangled import HOME, OTHER, TangledWeb
from tests.support.browser import Browser, broken, browsing
from tests.support.crawls import collect, describe, only_item
from tests.support.mirrors import without_links, without_policy
from tests.support.static_server import serving_files

EXTENSIONS = {"text/html": "html", "text/css": "css", "text/plain": "txt", "application/xhtml+xml": "xhtml"}


class Mirrored(NamedTuple):
    """The tangled web, collected and converted once for all tests of this file."""

    web: TangledWeb
    conversion: MirrorResult
    documents: dict[str, DocumentRow]

    @property
    def path(self) -> Path:
        return self.conversion.path

    def copy_of(self, path: str) -> Path:
        """Return the copy of a document of the first server."""
        url = self.web.url(path, HOME)
        return self.path / path_of_copy(url, EXTENSIONS[self.documents[url].type or ""])


@pytest.fixture(scope="module")
def mirrored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrored]:
    config = Config(home=tmp_path_factory.mktemp("home"), database_url="")
    with TangledWeb() as web, open_database(config) as database:
        describe(database, "tangled", base_url=web.url(), accept=OTHER, profile="everything", depth=30, convert=False)
        collect("tangled", TARANTULA_HOME=str(config.home), TARANTULA_DATABASE_URL="")
        conversion = convert_item(config, database, only_item(database).urn)
        with database.reading() as session:
            rows = {row.url: row for row in list_documents(session, only_item(database))}
        yield Mirrored(web, conversion, rows)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with browsing(chromium) as started:
        yield started


def test_every_collected_document_has_a_copy(mirrored: Mirrored) -> None:
    collected = [row for row in mirrored.documents.values() if row.state == 200]
    assert len(collected) > 40
    assert mirrored.conversion.skipped == []
    assert mirrored.conversion.documents == len(collected) + 1, "one image that a server refused is copied too"
    assert mirrored.conversion.documents == sum(1 for path in (mirrored.path / "web").rglob("*") if path.is_file())


def test_a_browser_opens_every_copy_from_disk_without_requests(mirrored: Mirrored, browser: Browser) -> None:
    pages = sorted(path for path in mirrored.path.rglob("*") if path.suffix in (".html", ".xhtml", ".svg"))
    collected = {url for url, row in mirrored.documents.items() if row.state == 200}
    problems = [problem for seen in browser.browse(pages) for problem in broken(seen, mirrored.path, collected)]
    assert problems == []


def test_scripts_styles_and_redirects_work_from_disk(mirrored: Mirrored, browser: Browser) -> None:
    browser.page.goto((mirrored.path / "index.html").as_uri())
    browser.page.click("dd a")
    browser.page.wait_for_url(mirrored.copy_of("/").as_uri(), wait_until="load")
    assert browser.page.evaluate("document.documentElement.dataset.ran") == "yes"
    assert browser.page.evaluate("getComputedStyle(document.body).color") == "rgb(18, 52, 86)"
    browser.page.click("text=hop")
    browser.page.wait_for_url(f"{(mirrored.path / 'web' / OTHER).as_uri()}*/*#jump")


def test_only_link_values_differ(mirrored: Mirrored) -> None:
    checked = 0
    for path, route in mirrored.web.routes.items():
        url = f"http://{path.replace('/', f':{mirrored.web.port}/', 1)}"
        row = mirrored.documents.get(url)
        if row is None or row.state != 200 or not url.startswith(mirrored.web.url("/", HOME)):
            continue
        if row.type in EXTENSIONS and "packed" not in path:
            body = route.wire.partition(b"\r\n\r\n")[2]  # type: ignore[union-attr]
            copy = mirrored.copy_of(path.removeprefix(HOME)).read_bytes()
            if "utf-16" in path:
                body, copy = body.decode("utf-16le").encode(), copy.decode("utf-16le").encode()
            assert without_links(copy, row.type) == without_links(body, row.type), path
            checked += 1
    assert checked > 30


@pytest.mark.parametrize("path", ["/nothing.html", "/plain.txt"])
def test_without_links_every_byte_is_the_same(mirrored: Mirrored, path: str) -> None:
    body = mirrored.web.routes[HOME + path].wire.partition(b"\r\n\r\n")[2]  # type: ignore[union-attr]
    assert without_policy(mirrored.copy_of(path).read_bytes()) == body


def test_a_static_server_serves_it_too(mirrored: Mirrored, browser: Browser) -> None:
    with serving_files(mirrored.path) as base:
        failures: list[str] = []
        browser.page.on("response", lambda response: failures.append(response.url) if response.status >= 400 else None)
        browser.page.goto(f"{base}index.html")
        browser.page.click("dd a")
        browser.page.click("text=pictures.html")
        browser.page.wait_for_url("**/pictures-*", wait_until="load")
        assert failures == []
        assert browser.page.evaluate(
            "Array.from(document.images).every(image => image.complete && image.naturalWidth > 0)"
        )
