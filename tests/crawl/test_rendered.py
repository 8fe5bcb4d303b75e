"""Pages collected through a browser: the original response and the rendered page."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.models import Document
from tarantula.store.warc_reader import read_record
from tests.sites.server import Answer, Web
from tests.support.crawls import collect, describe, reasons, states

PAGE = """<!doctype html><title>Before</title><body><p>É assim.</p><script src="/make.js"></script>"""
SCRIPT = """
document.title = "After";
fetch("/data.json").then(answer => answer.json()).then(names => {
  for (const name of names) {
    const link = document.createElement("a");
    link.href = name;
    document.body.append(link);
  }
});
fetch("http://127.0.0.9:1/outside").catch(() => {});
new WebSocket("ws://127.0.0.1:1/socket");
"""


@pytest.fixture
def web() -> Iterator[Web]:
    routes = {
        "/": Answer(PAGE),
        "/make.js": Answer(SCRIPT, "text/javascript"),
        "/data.json": Answer('["/one.html", "/two.html"]', "application/json"),
        "/one.html": Answer("<p>one"),
        "/two.html": Answer("<p>two"),
        "/paper.pdf": Answer("%PDF-1.4", "application/pdf"),
    }
    with Web(routes) as served:
        yield served


@pytest.mark.usefixtures("chromium")
def test_links_come_from_the_rendered_page_and_both_versions_are_stored(
    sqlite: Database, config: Config, web: Web
) -> None:
    describe(sqlite, "rendered", base_url=web.url(), render=True, delay=0.1)
    log = collect("rendered")
    assert states(sqlite) == {web.url(path): 200 for path in ("/", "/make.js", "/one.html", "/two.html")}, reasons(
        sqlite
    )
    with sqlite.session() as session:
        row = session.scalars(select(Document).where(Document.url == web.url())).one()
        assert row.warc is not None
        assert row.warc_offset is not None
        assert row.rendered_offset is not None
        urn = row.warc.rpartition("-")[0].rpartition("-")[0]
        path = config.items / urn / "archive" / row.warc
        sent = read_record(path, row.warc_offset)
        made = read_record(path, row.rendered_offset)
    assert sent.raw_body == PAGE.encode()
    assert made.fields["WARC-Type"] == "conversion"
    assert b"<title>After</title>" in made.raw_body
    assert b'href="/two.html"' in made.raw_body
    assert "É assim.".encode() in made.raw_body
    # The page itself is asked for once; what its scripts ask for comes through the collector, in its own name.
    assert len(web.visits_to("/")) == 1
    assert all("Tarantula/" in visit.headers["user-agent"] for visit in web.visits)
    gaps = [after.time - before.time for before, after in zip(web.visits, web.visits[1:], strict=False)]
    assert min(gaps) >= 0.09
    assert "'render/page_count': 3" in log
    assert "'render/refused_count': 1" in log


HOSTILE = """<!doctype html><title>Hostile</title><body><script>
const tell = (name, text) => {
  const p = document.createElement("p"); p.id = name; p.append(text); document.body.append(p);
};
const read = (name, url) =>
  fetch(url).then(a => a.text()).then(t => tell(name, "read " + t), e => tell(name, "failed"));
Promise.all([
  read("own", "/own.txt"),
  read("closed", "OTHER/closed.txt"),
  read("open", "OTHER/open.txt"),
  read("asked", "OTHER/asked.txt"),
  read("private", "NAMED/secret.txt"),
]).then(() => { tell("all", "done"); location = "/elsewhere.html"; });
</script>"""


@pytest.mark.usefixtures("chromium")
def test_scripts_read_only_what_servers_permit_and_learn_nothing_of_refusals(
    sqlite: Database, config: Config, web: Web
) -> None:
    """A response of another origin is readable if its own headers say so; a refused request fails without a reason."""
    with Web({}, ["127.0.0.2"]) as other:
        origin, named = web.url().rstrip("/"), other.url().replace("127.0.0.2", "localhost").rstrip("/")
        web.routes |= {
            "/": Answer(HOSTILE.replace("OTHER", other.url().rstrip("/")).replace("NAMED", named)),
            "/own.txt": Answer("own", "text/plain"),
        }
        other.routes |= {
            "/closed.txt": Answer("closed", "text/plain"),
            "/open.txt": Answer("open", "text/plain", headers={"Access-Control-Allow-Origin": "*"}),
            "/asked.txt": Answer("asked", "text/plain", headers={"Access-Control-Allow-Origin": origin}),
        }
        describe(
            sqlite, "rendered", base_url=web.url(), render=True, delay=0, depth=0, accept=["127.0.0.2", "localhost"]
        )
        collect("rendered")
        asked = {visit.path: visit.headers.get("origin") for visit in other.visits if visit.path != "/robots.txt"}
        assert asked == dict.fromkeys(("/closed.txt", "/open.txt", "/asked.txt"), origin)
    with sqlite.session() as session:
        row = session.scalars(select(Document).where(Document.url == web.url())).one()
        assert row.warc is not None
        assert row.rendered_offset is not None
        urn = row.warc.rpartition("-")[0].rpartition("-")[0]
        made = read_record(config.items / urn / "archive" / row.warc, row.rendered_offset).raw_body.decode()
    told = dict(re.findall(r'<p id="(\w+)">([^<]*)</p>', made))
    assert told == {
        "own": "read own", "closed": "failed", "open": "read open", "asked": "read asked", "private": "failed",
        "all": "done",
    }  # fmt: skip
    assert "<title>Hostile</title>" in made


DOWNLOADS = """<!doctype html><body><a id=saved href="/paper.pdf" download>paper</a><a href="/one.html">one</a><script>
document.getElementById("saved").click(); open("/two.html"); location = "/elsewhere.html";
</script>"""


@pytest.mark.usefixtures("chromium")
def test_a_script_that_downloads_or_navigates_does_not_lose_the_page(sqlite: Database, web: Web) -> None:
    """Whether the page could be rendered or not: its links are there, and nothing was collected in its place."""
    web.routes["/"] = Answer(DOWNLOADS)
    describe(sqlite, "rendered", base_url=web.url(), render=True, delay=0, timeout=20, depth=1)
    collect("rendered")
    found = states(sqlite)
    assert found[web.url()] == found[web.url("/one.html")] == 200, reasons(sqlite)
    assert web.url("/elsewhere.html") not in found
