"""The replay origin: tickets, paths, headers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from sqlalchemy import select

from tarantula.archive.mirror.conversion import convert_item
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.models import Document
from tarantula.web.replay.addresses import checked_address
from tarantula.web.replay.app import insert_script
from tarantula.web.replay.security import REPLAY_HEADERS, TICKET_SECONDS, TicketSigner, copy_policy
from tests.support.monthly_items import BASE, Page, archive
from tests.support.replay_server import Reply, Showing, showing

SECRET = "what nobody shall see"
PAGES = {
    f"{BASE}a.html": Page('<!doctype html><title>A</title><a href="b.html">b</a>', headers=("Set-Cookie: stung=1",)),
    f"{BASE}b.html": Page("<p>b"),
    f"{BASE}c.html": Page("<meta charset=utf-8><p>à"),
    f"{BASE}data.zip": Page(b"PK\x03\x04", "application/zip"),
    f"{BASE}pixel.gif": Page(b"GIF89a", "image/gif"),
}


class Shown(NamedTuple):
    """An item with a mirror, and another one with secrets."""

    server: Showing
    urn: str
    other: str
    ids: dict[str, int]

    def item(self, path: str, *headers: str) -> Reply:
        """Request something of the item."""
        return self.server.item(self.urn, path, *headers)


@pytest.fixture
def shown(sqlite: Database, config: Config) -> Iterator[Shown]:
    urn, other = (archive(config, sqlite, month, PAGES) for month in (1, 2))
    for one in (urn, other):
        convert_item(config, sqlite, one)
    (config.home / "secret.html").write_text(SECRET)
    (config.archived / "secret.html").write_text(SECRET)
    (config.archived / other / "index.html").write_text(SECRET)
    (config.archived / urn / "web" / "secret-aaaaaaaaaaaaaaaa.html").write_text(SECRET)
    with sqlite.reading() as session:
        rows = session.execute(select(Document.url, Document.id).where(Document.item_id == 1))
        ids = {url.removeprefix(BASE): number for url, number in rows}
    with showing(config, sqlite) as server:
        yield Shown(server, urn, other, ids)


def copy_of(shown: Shown, name: str) -> str:
    """Return the address of the copy of a document, after redirects."""
    reply = shown.item(f"document/{shown.ids[name]}")
    assert reply.status == 303
    return reply.headers["location"]


def test_a_ticket_is_for_one_item_and_expires(sqlite: Database, config: Config) -> None:
    now = [1_000_000.0]
    urn, other = (archive(config, sqlite, month, {}) for month in (1, 2))
    convert_item(config, sqlite, urn)
    with showing(config, sqlite, TicketSigner(lambda: now[0])) as server:
        ticket = server.tickets.sign(urn)
        address = f"/{ticket}/{urn}/copy/index.html"
        assert server.get(address).status == 200
        assert server.get(address.replace(urn, other)).status == 403
        assert server.get(address.replace(ticket, TicketSigner(lambda: now[0]).sign(urn))).status == 403
        until, _, signature = ticket.partition("-")
        later = f"{int(until, 16) + 1:x}-{signature}"
        for forged in (later, until, f"{until}-", f"-{signature}", "x", "%00", "é", f"{ticket}x", ticket[:-1]):
            assert server.get(f"/{quote(forged, safe='%')}/{urn}/copy/index.html").status == 403, forged
        now[0] += TICKET_SECONDS
        assert server.get(address).status == 403
        assert b"Reload" in server.get(address).body


UPWARDS = [
    "..",
    "%2e%2e",
    "%2E.",
    "%252e%252e",
    "..%5c",
    "..\\",
    "..%00",
    "%00..",
    "..;",
    "%c0%ae%c0%ae",
    "%uff0e%uff0e",
    "．．",
    "....",
    "%2e%2e%2f..",
]
TARGETS = ["secret.html", "../secret.html", "etc/passwd", "index.html", "tarantula.sqlite"]


def upward_paths(other: str) -> Iterator[str]:
    for up in UPWARDS:
        for slash in ("/", "%2f", "%252f", "\\", "%5c", "//"):
            for target in (*TARGETS, f"{other}/index.html"):
                yield f"{up}{slash}{target}"
                yield f"web{slash}{up}{slash}{up}{slash}{target}"


def test_paths_cannot_leave_the_mirror(shown: Shown, config: Config) -> None:
    mirror = config.archived / shown.urn
    name = copy_of(shown, "b.html").rpartition("/")[2]
    linked = mirror / "web" / "www.fc.ul.pt" / name
    linked.unlink()
    linked.symlink_to(config.home / "secret.html")
    begin = f"/{shown.server.tickets.sign(shown.urn)}/{shown.urn}/copy"
    odd = [
        f"{begin}//{config.home}/secret.html",
        f"{begin}/{config.home}/secret.html",
        f"{begin}/web/www.fc.ul.pt/{name}",
        f"{begin}/web/secret-aaaaaaaaaaaaaaaa.html",
        f"{begin}/web/www.fc.ul.pt/{name}%00.html",
        f"{begin}/web/www.fc.ul.pt",
        f"{begin}/web/www.fc.ul.pt/",
        f"{begin}/.conversion.json",
        f"{begin}/",
        f"{begin[:-5]}/original/../copy/index.html",
        f"/{shown.server.tickets.sign('..')}/../copy/secret.html",
        f"/{shown.server.tickets.sign('.')}/%2e/copy/secret.html",
        "/../../etc/passwd",
        "/tell.js/../../../../secret.html",
        "/tell.js%00",
    ]
    asked = [*odd, *(f"{begin}/{path}" for path in upward_paths(shown.other))]
    assert len(asked) > 900
    for path in asked:
        reply = shown.server.get(path.encode())
        assert reply.status in (400, 403, 404), path
        assert SECRET.encode() not in reply.body, path
        assert b"SQLite" not in reply.body
        assert b"root:" not in reply.body
    assert shown.server.get(f"{begin}/index.html").status == 200
    raw = shown.server.get(f"{begin}/web/\0/index.html".encode())
    assert raw.status in (400, 404)


def test_every_response_is_sandboxed_also_errors(shown: Shown) -> None:
    number = shown.ids["a.html"]
    for path in ("copy/index.html", f"page/{number}", f"original/{number}", "copy/nothing", "original/99", "nothing"):
        reply = shown.item(path)
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("sandbox"), path
        assert "allow-same-origin" not in policy
        assert "default-src 'none'" in policy
        assert "connect-src 'none'" in policy
        assert "set-cookie" not in reply.headers
        assert REPLAY_HEADERS.items() <= reply.headers.items()
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        reply = shown.server.get(f"/{shown.server.tickets.sign(shown.urn)}/{shown.urn}/copy/index.html", method=method)
        assert reply.status == 405
        assert reply.headers["content-security-policy"].startswith("sandbox;")


def test_websockets_are_refused(shown: Shown) -> None:
    upgrade = ("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    address = f"/{shown.server.tickets.sign(shown.urn)}/{shown.urn}/copy/index.html"
    assert shown.server.get(address, *upgrade, "Connection: Upgrade").status in (400, 403)


def test_a_copy_runs_our_script_and_no_other(shown: Shown) -> None:
    first, second = (shown.server.get(copy_of(shown, "a.html")) for _ in range(2))
    nonce = first.body.partition(b'nonce="')[2].partition(b'"')[0].decode()
    assert first.body.startswith(f'<!doctype html><script nonce="{nonce}" src="/tell.js"></script>'.encode())
    assert first.headers["content-security-policy"] == copy_policy(nonce)
    assert first.body != second.body, "a page could learn it"
    assert b"b-" in first.body, "its links lead to copies"
    assert shown.server.get("/tell.js").headers["content-type"].startswith("text/javascript")


def test_original_responses_are_shown_as_text_or_downloaded(shown: Shown) -> None:
    page = shown.item(f"original/{shown.ids['a.html']}")
    assert page.headers["content-type"] == "text/plain; charset=windows-1252"
    assert page.body == PAGES[f"{BASE}a.html"].bytes
    declared = shown.item(f"original/{shown.ids['c.html']}")
    assert declared.headers["content-type"] == "text/plain; charset=UTF-8"
    packed = shown.item(f"original/{shown.ids['data.zip']}")
    assert packed.headers["content-disposition"].startswith("attachment")
    assert shown.item(f"original/{shown.ids['pixel.gif']}").headers["content-type"] == "image/gif"
    assert shown.item(f"original/{2**70}").status == 404
    assert shown.server.item(shown.other, f"original/{shown.ids['a.html']}").status == 404


def test_a_document_without_a_copy_is_shown_by_itself(sqlite: Database, config: Config) -> None:
    urn = archive(config, sqlite, 1, {f"{BASE}r.html": Page("<p>sent", rendered=b"<p>made")})
    with showing(config, sqlite) as server, sqlite.reading() as session:
        number = session.scalars(select(Document.id).where(Document.url == f"{BASE}r.html")).one()
        led = server.item(urn, f"document/{number}")
        assert led.headers["location"].endswith(f"/page/{number}")
        assert server.get(led.headers["location"]).body.endswith(b"<p>made")
        assert server.item(urn, f"original/{number}").body == b"<p>sent"


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("<p>x", ""),
        (
            "\n<!DOCTYPE html PUBLIC '-//W3C//DTD HTML 4.01//EN'>\n<p>x",
            "\n<!DOCTYPE html PUBLIC '-//W3C//DTD HTML 4.01//EN'>",
        ),
        ("<!-- a > b --><!doctype html><p>x", "<!-- a > b --><!doctype html>"),
        ("<?xml version='1.0'?><!doctype html><p>x", "<?xml version='1.0'?><!doctype html>"),
        ("<!--><p>x --> y", "<!-->"),
        ("<!-- never closed <!doctype html>", ""),
    ],
)
def test_our_script_follows_the_doctype(body: str, before: str) -> None:
    made = insert_script(body, "text/html", "n")
    assert made == f'{before}<script nonce="n" src="/tell.js"></script>{body[len(before) :]}'


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-be", "cp1252", "iso-2022-jp"])
def test_pages_are_served_as_utf_8(sqlite: Database, config: Config, codec: str) -> None:
    text = "<!doctype html><meta charset={}><p>日" if codec == "iso-2022-jp" else "<!doctype html><meta charset={}><p>é"
    # A byte-order mark, or a declaration, which for UTF-16 is not enough.
    text = text.format(codec.removesuffix("-sig")) if codec != "utf-16-be" else f"\ufeff{text}"
    urn = archive(config, sqlite, 1, {f"{BASE}coded": Page(text.encode(codec))})
    with showing(config, sqlite) as server, sqlite.reading() as session:
        number = session.scalars(select(Document.id).where(Document.url == f"{BASE}coded")).one()
        page = server.item(urn, f"page/{number}")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.body.decode().endswith(text[-4:])
    assert page.body.startswith(b"<!doctype html><script nonce=")


def test_xhtml_stays_well_formed() -> None:
    body = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>x</p></body></html>'
    made = ElementTree.fromstring(insert_script(body, "application/xhtml+xml", "n"))
    assert made.find("{http://www.w3.org/1999/xhtml}script") is not None
    assert insert_script("", "application/xhtml+xml", "n") == ""


@pytest.mark.parametrize("address", ["https://replay.example.org", "http://127.0.0.1:8091/", "https://[::1]:8091"])
def test_valid_replay_addresses(address: str) -> None:
    assert checked_address(address) == address.rstrip("/")


@pytest.mark.parametrize("address", ["replay", "https://a.pt/path", "https://a.pt; script-src *", "javascript:1"])
def test_invalid_replay_addresses(address: str) -> None:
    with pytest.raises(TarantulaError, match="is not an origin"):
        checked_address(address)
