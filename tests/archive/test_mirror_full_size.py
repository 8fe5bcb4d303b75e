"""The mirror of thousands of real pages: Debian's HTML documentation, collected from loopback.

Downloading, collecting and checking every page takes ten minutes; it runs where TARANTULA_FULL_SIZE is set.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlalchemy import select

from tarantula.archive.mirror.conversion import MirrorResult, convert_item
from tarantula.archive.mirror.plan import load_copies
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Document
from tarantula.store.captures import capture_of
from tarantula.store.database import open_database
from tarantula.store.listings import find_item
from tarantula.store.warc_reader import decode_payload, read_record
from tests.support.browser import broken, browsing
from tests.support.crawls import SCRAPY, describe, only_item, start
from tests.support.mirrors import without_links
from tests.support.static_server import serving_files

pytestmark = pytest.mark.skipif("TARANTULA_FULL_SIZE" not in os.environ, reason="set TARANTULA_FULL_SIZE to run it")

PACKAGES = ("python3-doc", "postgresql-doc", "sqlite3-doc", "python-django-doc")
SCRIPTS = ("libjs-jquery", "libjs-underscore", "libjs-sphinxdoc")
PAGES = 2000
TIMEOUT_SECONDS = 1200
CONVERTED = frozenset({"text/html", "text/css", "image/svg+xml", "application/xml", "application/xhtml+xml"})


class Mirrored(NamedTuple):
    """The documentation, collected and converted."""

    config: Config
    database: Database
    conversion: MirrorResult


@pytest.fixture(scope="module")
def mirrored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrored]:
    work = tmp_path_factory.mktemp("documentation")
    root = _unpacked(work)
    config = Config(home=work / "home", database_url="")
    with serving_files(root) as base, open_database(config) as database:
        wanted = {"profile": "everything", "depth": 1000, "max_size": 10**8, "per_server": 4, "robots": False}
        describe(database, "documentation", base_url=base, keep_refused=False, convert=False, **wanted)
        home = {"TARANTULA_HOME": str(config.home), "TARANTULA_DATABASE_URL": ""}
        process = start((SCRAPY, "crawl", "documentation", "-s", "LOG_LEVEL=WARNING"), **home)
        said = process.communicate(timeout=TIMEOUT_SECONDS)[1]
        assert process.returncode == 0, said
        yield Mirrored(config, database, convert_item(config, database, only_item(database).urn))


def _unpacked(work: Path) -> Path:
    """Unpack the packages below one root, and write a page that links to each."""
    if not shutil.which("apt-get"):
        pytest.skip("There is no apt-get here.")
    packages = [_real(package) for package in (*PACKAGES, *SCRIPTS)]
    subprocess.run(["apt-get", "download", *packages], cwd=work, check=True, capture_output=True)
    for package in work.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, work / "root"], check=True)
    share = work / "root" / "usr" / "share"
    starts = [path for path in share.glob("doc/*/**/index.html") if "/_" not in str(path)]
    (share / "index.html").write_text(
        "\n".join(f'<a href="{path.relative_to(share)}">x</a>' for path in sorted(starts))
    )
    return share


def _real(package: str) -> str:
    """Return the package that a transitional package depends on."""
    known = subprocess.run(["apt-cache", "depends", package], check=True, capture_output=True, text=True).stdout
    depends = re.search(rf"Depends: ({re.escape(package.removesuffix('-doc').rstrip('3'))}[\d.]*-doc[-\d]*)", known)
    return depends[1] if depends and package in ("python3-doc", "postgresql-doc") else package


def test_thousands_of_pages_have_their_copies(mirrored: Mirrored) -> None:
    pages = list(mirrored.conversion.path.rglob("*.html"))
    assert len(pages) >= PAGES
    assert mirrored.conversion.skipped == []
    print(f"{len(pages)} pages; {mirrored.conversion}")


def test_only_link_values_differ_in_every_document(mirrored: Mirrored) -> None:
    config, database, conversion = mirrored
    checked = 0
    with database.reading() as session:
        item = find_item(session, conversion.urn)
        copies = load_copies(session, config.items, item)
        for document in session.scalars(select(Document).where(Document.item_id == item.id, Document.state == 200)):
            capture = capture_of(session, config.items, document)
            assert capture is not None
            body = decode_payload(read_record(capture.path, capture.offset)).body
            copy = (conversion.path / copies.path(document.url, document.type)).read_bytes()
            if document.type in CONVERTED:
                body, copy = (without_links(one, document.type) for one in (body, copy))
            assert copy == body, document.url
            checked += 1
    assert checked >= PAGES


def test_a_browser_finds_no_broken_link_and_makes_no_request(mirrored: Mirrored, chromium: str) -> None:
    with mirrored.database.reading() as session:
        collected = set(session.scalars(select(Document.url).where(Document.state == 200)))
    pages = sorted(mirrored.conversion.path.rglob("*.html"))
    with browsing(chromium) as browser:
        problems = [one for seen in browser.browse(pages) for one in broken(seen, mirrored.conversion.path, collected)]
    assert problems == []
