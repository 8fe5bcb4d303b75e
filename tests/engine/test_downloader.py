"""The download handler in Scrapy: small crawls in a separate process."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sites import handler_crawl
from tests.sites.raw import Peer, RawServer

ROOT = Path(__file__).parents[2]
PACKED = gzip.compress(b"abc")
PAGE = b"<p id=p>no</p><script>p.textContent = 'yes'</script>"
ANSWERS = {
    b"/html": b"Content-Type: Text/HTML; charset=utf-8\r\nContent-Length: 5\r\n\r\n<p>hi",
    b"/gzip": b"Content-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(PACKED)
    + PACKED,
    b"/xml": b"Content-Type: application/rss+xml\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n<r/>\r\n0\r\n\r\n",
    b"/binary": b"content-LENGTH: 2\r\n\r\n\x00\x01",
    b"/refused": b"Content-Length: 3\r\n\r\nabc",
    b"/large": b"Content-Length: 11\r\n\r\nhello world",
    b"/page": b"Content-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(PAGE) + PAGE,
}


def site(peer: Peer) -> None:
    """Respond according to the path."""
    while request := peer.read_request():
        path = request.split()[1]
        if path == b"/late":
            peer.wait()
        elif path in ANSWERS:
            peer.write(b"HTTP/1.1 200 OK\r\n" + ANSWERS[path])
        else:
            peer.write(b"220 mail.example ESMTP\r\n")
            return


@pytest.fixture
def server() -> Iterator[RawServer]:
    with RawServer(site) as server:
        yield server


def crawl(server: RawServer, paths: str, stopping: str = "", **settings: Any) -> dict[str, dict[str, Any]]:
    """The item of each path."""
    command = [sys.executable, handler_crawl.__file__, server.url, paths, stopping, json.dumps(settings)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return {item.pop("path"): item for item in json.loads(done.stdout)}


def test_a_crawl_with_the_download_handler(server: RawServer) -> None:
    made = crawl(server, "html gzip xml binary garbage refused large late")
    classes = {path: item["class"] for path, item in made.items() if "class" in item}
    assert classes == {"html": "HtmlResponse", "gzip": "TextResponse", "xml": "XmlResponse", "binary": "Response"}
    assert {path: made[path]["body"] for path in classes} == {
        "html": "<p>hi", "gzip": "abc", "xml": "<r/>", "binary": "\0\1",
    }  # fmt: skip
    assert made["gzip"]["headers"] == ["Content-Length", "Content-Type"]
    assert (made["gzip"]["wire"], made["xml"]["wire"]) == (PACKED.hex(), b"4\r\n<r/>\r\n0\r\n\r\n".hex())
    assert {(made[path]["address"], made[path]["protocol"]) for path in classes} == {("127.0.0.1", "HTTP/1.1")}
    assert all(0 < made[path]["latency"] < 10 for path in classes)
    assert {path: item["error"] for path, item in made.items() if "error" in item} == {
        "garbage": "InvalidResponse", "refused": "RefusedByRule", "large": "BodyTooLarge", "late": "FetchTimeout",
    }  # fmt: skip
    assert made["refused"]["reason"] == "200 is not wanted."
    assert all(b"\r\nX-From: spider\r\n" in request for request in server.requests)


@pytest.mark.parametrize("stopping", ["answer", "fail"])
def test_stop_download_is_honoured(server: RawServer, stopping: str) -> None:
    made = crawl(server, "html refused", stopping)
    assert made["html"]["flags"] == ["download_stopped"]
    assert made["html"].get("body", "") == ""
    assert made["html"].get("error") == ("StopDownload" if stopping == "fail" else None)
    assert made["refused"]["error"] == "RefusedByRule"


def test_private_addresses_are_refused_to_a_spider_without_a_policy(server: RawServer) -> None:
    made = crawl(server, "html", public_only=True)
    assert made["html"]["error"] == "PrivateAddress"
    assert server.peers == []


def test_requests_with_playwright_go_to_the_browser(server: RawServer, chromium: str) -> None:
    options = {"executable_path": chromium, "args": ["--no-sandbox"]}
    made = crawl(server, "page html", PLAYWRIGHT_LAUNCH_OPTIONS=options)
    assert "yes" in made["page"]["body"]
    assert made["page"]["flags"] == ["playwright"]
    assert made["html"]["body"] == "<p>hi"
