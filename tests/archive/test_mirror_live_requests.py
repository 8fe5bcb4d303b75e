"""A mirror opened from disk makes no request to the live web, unless its publication allows that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tarantula.archive.mirror.conversion import convert_item
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.links.convert import POLICY_TAG, convert_links
from tarantula.links.relocation import LinkDestination, Relocator
from tests.sites.server import Answer, Web
from tests.support.browser import launched
from tests.support.mirrors import Kept, files, page, store
from tests.support.waits import eventually

BASE = "http://fc.ul.pt/"
POLICY = POLICY_TAG.format("")

LOADING = """<!doctype html>
<html manifest="LIVE/appcache"><head>
<link rel=stylesheet href="LIVE/style.css"><link rel="icon" href="LIVE/icon.png">
<link rel=preload as=image href="LIVE/preload.png"><link rel=modulepreload href="LIVE/module.js">
<link rel=prefetch href="LIVE/prefetch.html"><link rel=prerender href="LIVE/prerender.html">
<link rel=preconnect href="LIVE"><link rel="dns-prefetch" href="LIVE"><link rel=manifest href="LIVE/app.webmanifest">
<link rel=preload as=image imagesrcset="LIVE/set1.png 1x, LIVE/set2.png 2x">
<style>@import "LIVE/import.css"; @font-face { font-family: f; src: url(LIVE/font.woff) }
body { font-family: f; background: url("LIVE/background.png") }</style>
<script src="LIVE/script.js"></script><script type=module src="LIVE/module2.js"></script>
<link rel=stylesheet href="local.css">
</head><body style="border-image: url(LIVE/border.png) 1">
<img src="LIVE/image.png"><img srcset="LIVE/small.png 1x, LIVE/large.png 2x"><img src="//SERVER/relative.png">
<picture><source srcset="LIVE/source.webp"><img src="LIVE/picture.png"></picture>
<video src="LIVE/video.mp4" poster="LIVE/poster.png" preload=auto></video><audio src="LIVE/a.mp3" preload=auto></audio>
<video preload=auto><source src="LIVE/v.webm"><track default src="LIVE/track.vtt"></video>
<iframe src="LIVE/frame.html"></iframe><iframe srcdoc="<img src=LIVE/inner.png>"></iframe>
<object data="LIVE/object.html"></object><embed src="LIVE/embed.html"><input type=image src="LIVE/button.png">
<table background="LIVE/table.png"><tr><td background="LIVE/cell.png">x</table>
<svg><image href="LIVE/drawn.png"/><use href="LIVE/use.svg#a"/><a href="LIVE/a"><text>a</text></a></svg>
<noscript><img src="LIVE/noscript.png"></noscript>
<a id=next href="next.html" ping="LIVE/ping">next</a>
<script>
fetch("LIVE/fetch").catch(() => 0); new Image().src = "LIVE/new-image.png";
try { const asked = new XMLHttpRequest(); asked.open("GET", "LIVE/xhr"); asked.send() } catch {}
navigator.sendBeacon("LIVE/beacon"); try { new WebSocket("LIVE/socket".replace("http", "ws")) } catch {}
try { new EventSource("LIVE/events") } catch {}
try { new Worker(URL.createObjectURL(new Blob(["fetch('LIVE/worker')"]))) } catch {}
document.body.insertAdjacentHTML("beforeend", '<img src="LIVE/inserted.png">');
const added = document.createElement("script"); added.src = "LIVE/added.js"; document.head.append(added);
document.documentElement.dataset.ran = eval("'yes'");
</script>
<script type=SpeculationRules>{"prefetch": [{"urls": ["LIVE/speculation"], "eagerness": "immediate"}]}</script>
</body></html>"""
FRAMING = """<title>f</title><script>
const frame = document.createElement("iframe");
frame.src = "LIVE/inserted.html";
document.documentElement.append(frame);
</script>"""
REFRESHING = '<title>r</title><meta http-equiv=refresh content="0; url=LIVE/refreshed.html"><p>stays</p>'


def item(web: Web) -> dict[str, Kept]:
    """Return an item whose pages ask the live web for everything that they can."""

    def live(markup: str) -> str:
        return markup.replace("LIVE", web.url("")).replace("SERVER", web.server())

    xhtml = '<html xmlns="http://www.w3.org/1999/xhtml"><head/><body><img src="LIVE/x.png"/><script>fetch("LIVE/x")'
    return {
        BASE: page(live(LOADING)),
        f"{BASE}next.html": page("<title>next</title><p>next</p>"),
        f"{BASE}refresh.html": page(live(REFRESHING)),
        f"{BASE}framing.html": page(live(FRAMING)),
        f"{BASE}page.xhtml": page(live(f"{xhtml}</script></body></html>"), type="application/xhtml+xml"),
        f"{BASE}local.css": Kept(live("p { color: rgb(1, 2, 3); background: url(LIVE/css.png) }").encode(), "text/css"),
    }


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with launched(chromium) as started:
        yield started


@pytest.fixture
def live() -> Iterator[Web]:
    with Web({}, fallback=Answer("live", type="text/plain", headers={"Access-Control-Allow-Origin": "*"})) as web:
        yield web


def opened(browser: Browser, mirror: Path, stem: str) -> Page:
    (path,) = (mirror / "web").rglob(f"{stem}-*")
    shown = browser.new_page()
    shown.goto(path.as_uri(), wait_until="load")
    return shown


def test_no_page_of_a_mirror_asks_the_live_web(browser: Browser, live: Web, sqlite: Database, config: Config) -> None:
    mirror = convert_item(config, sqlite, store(config, sqlite, item(live))).path
    first = opened(browser, mirror, "index")
    assert first.evaluate("document.documentElement.dataset.ran") == "yes", "its own scripts run"
    assert first.evaluate("[...document.styleSheets].some(one => one.href && one.href.startsWith('file:'))")
    first.click("#next")
    first.wait_for_url("**/next-*", wait_until="load")
    for stem in ("refresh", "page"):
        # A round trip of another window: what the page asked for by itself is on its way by then.
        still = opened(browser, mirror, stem)
        still.wait_for_timeout(300)
        assert still.url.startswith("file:")
    assert live.connections == 0
    # The browser opens a connection for a frame that a script inserts, before the policy forbids the request.
    opened(browser, mirror, "framing").wait_for_timeout(300)
    assert [visit.path for visit in live.visits] == []


def test_a_publication_can_allow_live_requests(browser: Browser, live: Web, sqlite: Database, config: Config) -> None:
    mirror = convert_item(config, sqlite, store(config, sqlite, item(live)), live_requests=True).path
    opened(browser, mirror, "index")
    opened(browser, mirror, "refresh").wait_for_url(live.url("/refreshed.html"))
    wanted = ("style.css", "image.png", "frame.html", "fetch", "script.js", "prefetch.html", "speculation")
    assert eventually(lambda: all(live.visits_to(f"/{path}") for path in wanted))
    assert not [path for path, content in files(mirror).items() if b"about:blank" in content or b"-Policy" in content]


def converted(markup: str, media_type: str = "text/html") -> str:
    relocator = Relocator(lambda url, requisite: LinkDestination(url, None), live_requests=False)
    return convert_links(markup.encode(), media_type, BASE, "utf-8", relocator, "web/fc.ul.pt/").decode()


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<!doctype html><html lang=pt><head lang=pt><p>", f"<!doctype html><html lang=pt><head lang=pt>{POLICY}<p>"),
        ("<!DOCTYPE html>\n<!-- c --><html><body>", f"<!DOCTYPE html>\n<!-- c --><html>{POLICY}<body>"),
        ("<!-- c --><!doctype html><p>", f"<!-- c --><!doctype html>{POLICY}<p>"),
        ("<script></script><head><p>", f"{POLICY}<script></script><head><p>"),
        ("<p>", f"{POLICY}<p>"),
        ("only text", "only text"),
        ("", ""),
        ("<img src=a.png><a href=a>", f"{POLICY}<img src=about:blank#{BASE}a.png><a href={BASE}a>"),
        ('<img src="a.svg#b">', f'{POLICY}<img src="about:blank#{BASE}a.svg#b">'),
        ('<img srcset="a 1x, b 2x">', f'{POLICY}<img srcset="about:blank#{BASE}a 1x, about:blank#{BASE}b 2x">'),
        ("<script type=speculationrules>", f"{POLICY}<script type=off-speculationrules>"),
        ("<img src=data:image/png,x>", f"{POLICY}<img src=data:image/png,x>"),
        ("<link rel=canonical href=a>", f"{POLICY}<link rel=canonical href={BASE}a>"),
        ("<link rel=dns-prefetch href=//b.pt>", f"{POLICY}<link rel=dns-prefetch href=about:blank#http://b.pt/>"),
        ("<meta property=og:image content=http://b.pt/a>", f"{POLICY}<meta property=og:image content=http://b.pt/a>"),
        (
            '<meta http-equiv=refresh content="5; url=b">',
            f'{POLICY}<meta http-equiv=refresh content="off: 5; url={BASE}b">',
        ),
        ('<meta http-equiv=refresh content="5">', f'{POLICY}<meta http-equiv=refresh content="5">'),
        ("<p style='background: url(a)'>", f"{POLICY}<p style='background: url(about:blank#{BASE}a)'>"),
    ],
)
def test_what_a_copy_without_live_requests_contains(markup: str, expected: str) -> None:
    assert converted(markup) == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<html><head><title/></head></html>", f"<html><head>{POLICY_TAG.format('/')}<title/></head></html>"),
        ("<html><body/></html>", f"<html><head>{POLICY_TAG.format('/')}</head><body/></html>"),
        ("<html><head/></html>", f"<html><head>{POLICY_TAG.format('/')}</head></html>"),
        ("<svg><image href='a'/></svg>", f"<svg><image href='about:blank#{BASE}a'/></svg>"),
    ],
)
def test_xml_without_live_requests(markup: str, expected: str) -> None:
    assert converted(markup, "application/xhtml+xml") == expected
