"""Use every outgoing path of the program inside the laboratory; write the connections of each as JSON.

``unshare --net --mount python -m tests.lab.program FOLDER``
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

from cryptography import x509
from cryptography.x509.oid import AuthorityInformationAccessOID
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright
from sqlalchemy import select

from tarantula.accounts.oidc import OidcProvider, OidcSettings, PendingLogin, ProviderError
from tarantula.accounts.roles import NotAllowed, Person, Role
from tarantula.browser.chromium import LAUNCHER, NAMESPACE_SETTING, namespace_options
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.models import Document, Item, SourceState
from tarantula.publications.notifications import NotificationMessage, send_message
from tarantula.services.context import ServiceContext
from tarantula.services.notifications import send_trial
from tarantula.store.database import open_database
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import parse_source
from tarantula.web.picker.service import PageRequest, PickerService
from tests.lab.network import PROXY, ConnectionLog, LabWeb, LyingNameServer, Page, build
from tests.sites.certificates import certificate, server_context
from tests.support.crawls import SCRAPY, TARANTULA, describe, run
from tests.support.waits import eventually
from tools.chromium import usable_browser

NAMES: dict[str, Any] = {
    "public.test": ["93.184.1.1"],
    "mixed.test": ["10.0.0.5", "93.184.1.2", "169.254.169.254", "fd12::5"],
    "rebinding.test": lambda asked: ["93.184.1.3"] if asked % 2 == 0 else ["10.0.0.5"],
    "later.test": lambda asked: ["93.184.1.6"] if asked == 0 else ["10.0.0.5"],
    "robots.test": ["93.184.1.4"],
    "moved.test": ["93.184.1.5"],
    "inside.test": ["10.0.0.5"],
    "alias.test": [">inside.test"],
    "metadata.test": ["169.254.169.254", "fd00:ec2::254"],
    "shared.test": ["100.64.0.9"],
}
REFUSED = (
    "http://inside.test/", "http://alias.test/", "http://metadata.test/", "http://shared.test/", "http://10.0.0.5/",
    "http://192.168.7.7/", "http://167772165/", "http://0x0a.5/", "http://[::ffff:10.0.0.5]/", "http://[fd12::5]/",
    "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://100.100.100.200/",
    "http://0.0.0.0/", "http://127.0.0.1/", "http://[::1]/", "http://localhost/", "http://[64:ff9b::a00:5]/",
)  # fmt: skip
LINKS = (
    *REFUSED, "http://mixed.test/", "http://public.test/to-private", "http://robots.test/page",
    *(f"http://rebinding.test/{number}" for number in range(4)),
)  # fmt: skip
RENDERED = """<!doctype html><body><p>1</p><script>
for (const url of ["http://10.0.0.5/", "http://inside.test/", "http://169.254.169.254/", "http://192.168.7.7:8080/",
    "http://mixed.test/", "http://rebinding.test/0", "http://rebinding.test/1", "http://alias.test/"]) {
  fetch(url, {mode: "no-cors"}).catch(() => {});
  for (const kind of ["img", "iframe", "script"]) {
    const part = document.createElement(kind); part.src = url; document.body.append(part);
  }
  for (const relation of ["prefetch", "preconnect", "dns-prefetch", "stylesheet"]) {
    const link = document.createElement("link"); link.rel = relation; link.href = url; document.head.append(link);
  }
  new WebSocket(url.replace("http", "ws"));
  navigator.sendBeacon(url, "here");
  try { new WebTransport(url.replace("http", "https")).closed.catch(() => {}); } catch {}
  new EventSource(url);
  new Worker(URL.createObjectURL(new Blob([`fetch("${url}", {mode: "no-cors"}); importScripts("${url}")`])));
}
const rules = {prefetch: [{urls: ["http://10.0.0.5/", "http://93.184.1.9/"]}],
  prerender: [{urls: ["http://10.0.0.5/", "http://public.test/part.txt"]}]};
document.head.append(Object.assign(document.createElement("script"),
  {type: "speculationrules", textContent: JSON.stringify(rules)}));
const peer = new RTCPeerConnection({iceServers: [
  {urls: ["stun:10.0.0.5:3478", "stun:93.184.1.9:3478"]}, {urls: "turn:192.168.7.7:3478",
  username: "a", credential: "b"}]});
peer.createDataChannel("out");
peer.createOffer().then(offer => peer.setLocalDescription(offer));
fetch("http://public.test/part.txt").catch(() => {});
</script>"""
LEAVING = """<!doctype html><body><p>1</p><script>
for (const url of ["http://10.0.0.5/", "http://93.184.1.9/"]) {
  open(url);
  const form = Object.assign(document.createElement("form"), {action: url, method: "post", target: "_blank"});
  document.body.append(form); form.submit();
  const link = Object.assign(document.createElement("a"), {href: "/part.txt", ping: url, download: "part"});
  document.body.append(link); link.click();
}
addEventListener("load", () => { location = "http://10.0.0.5/left"; });
</script>"""
"""A page whose script opens windows, sends forms, starts downloads and leaves."""
SITEMAP_HOSTS = ("public.test", "mixed.test", "rebinding.test", "later.test")
SITEMAP = "".join(
    f"<url><loc>{url}</loc></url>" for url in ("http://10.0.0.5/mapped", "http://inside.test/", "http://mixed.test/")
)
SITEMAP = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{SITEMAP}</urlset>'
LATER = '<p>1</p><a href="/1"><a href="/2">'
SECURE = "".join(
    f'<a href="https://{host}/secure">' for host in ("mixed.test", "later.test", "10.0.0.5", "inside.test")
)


def _uri(url: str) -> x509.UniformResourceIdentifier:
    return x509.UniformResourceIdentifier(url)


PROVIDERS = {
    "a": ("https://10.0.0.5/token", "https://public.test/keys"),
    "b": ("https://inside.test/token", "https://public.test/keys"),
    "c": ("https://public.test/token", "https://metadata.test/keys"),
    "d": ("https://public.test/token", "https://169.254.169.254/keys"),
}
"""Endpoints of tokens and of keys that public providers name."""
PAGES: dict[str, Page] = {
    "public.test/secure": (200, {}, f"<p>1</p>{SECURE}"),
    "later.test/secure": (200, {}, "<p>1</p>"),
    "public.test/": (200, {}, "".join(f'<a href="{url}">' for url in LINKS)),
    "public.test/value": (200, {}, "<p>1</p>"),
    "public.test/to-private": (302, {"Location": "http://10.0.0.5/secret"}, ""),
    "public.test/rendered": (200, {}, RENDERED),
    "public.test/leaving": (200, {}, LEAVING),
    "public.test/part.txt": (200, {"Content-Type": "text/plain"}, "part"),
    "public.test/sheet": (
        200,
        {},
        '<link rel="stylesheet" href="http://10.0.0.5/a.css"><img src="http://metadata.test/a.png"><p>1</p>',
    ),
    "public.test/robots.txt": (
        200,
        {"Content-Type": "text/plain"},
        "".join(f"Sitemap: http://{host}/sitemap.xml\n" for host in (*SITEMAP_HOSTS, "10.0.0.5", "inside.test")),
    ),
    **{
        f"{host}/sitemap.xml": (200, {"Content-Type": "application/xml", "Connection": "close"}, SITEMAP)
        for host in SITEMAP_HOSTS
    },
    **{f"later.test/{page}": (200, {"Connection": "close"}, LATER) for page in ("", "1", "2")},
    "robots.test/robots.txt": (302, {"Location": "http://10.0.0.5/robots.txt"}, ""),
    "robots.test/page": (200, {}, "page"),
    "mixed.test/": (200, {}, '<a href="http://10.0.0.5/"><a href="http://192.168.7.7/"><p>1</p>'),
    "moved.test/": (200, {}, "<p>1</p>"),
    **{f"rebinding.test/{number}": (200, {"Connection": "close"}, "<p>1</p>") for number in range(4)},
    **{
        f"public.test/{name}/.well-known/openid-configuration": (
            200,
            {"Content-Type": "application/json"},
            json.dumps({"issuer": f"https://public.test/{name}", "token_endpoint": token, "jwks_uri": keys}),
        )
        for name, (token, keys) in PROVIDERS.items()
    },
    "public.test/token": (200, {"Content-Type": "application/json"}, '{"id_token": "a.b.c"}'),
    "10.0.0.5/": (200, {}, "never: secrets are served instead"),
}
PRIVATE_RESPONDERS = (
    x509.AuthorityInformationAccess(
        [
            x509.AccessDescription(AuthorityInformationAccessOID.OCSP, _uri("http://10.0.0.5/ocsp")),
            x509.AccessDescription(AuthorityInformationAccessOID.CA_ISSUERS, _uri("http://inside.test/ca.crt")),
        ]
    ),
    x509.CRLDistributionPoints([x509.DistributionPoint([_uri("http://192.168.7.7/list.crl")], None, None, None)]),
)
"""Where a certificate says that its status and its issuer can be had."""
TRIED_ADDRESSES = (
    "json://public.test/value", "json://mixed.test/", "json://rebinding.test/0", "json://public.test/to-private",
    "ntfy://public.test/value", "json://inside.test/", "json://alias.test/", "json://metadata.test/",
    "json://shared.test/", "ntfy://inside.test/topic", "gotify://inside.test/AAAAAAAAAAAAAAA",
    "matrix://user:pw@inside.test/%23room", "mmost://inside.test/3ccdd113474722377935511fc85d3dd4",
    "matrix://user:pw@public.test/%23room",
    "mailto://a:b@public.test?smtp=inside.test&from=a@public.test&to=b@public.test",
    "json://10.0.0.5/", "json://[fd12::5]/", "json://169.254.169.254/", "json://localhost/",
    "json://public.test/to-private?redirect=yes", "xml://inside.test/", "syslog://", "rsyslog://10.0.0.5",
    "fcm://project/device?mode=oauth2&keyfile=http://10.0.0.5/key.json",
    "fcm://project/device?mode=oauth2&keyfile=/etc/passwd",
    f"discord://{'1' * 24}/{'B' * 64}?template=http://10.0.0.5/template",
)  # fmt: skip
MESSAGE = NotificationMessage("title", "body", "info")


class Laboratory:
    """The network, and what each scenario did in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        build(folder)
        self.names = LyingNameServer(NAMES)
        trusted = certificate(folder, names=["public.test", "later.test"], more=PRIVATE_RESPONDERS)
        os.environ["SSL_CERT_FILE"] = os.environ["REQUESTS_CA_BUNDLE"] = str(trusted)
        self.web = LabWeb(PAGES, server_context(trusted))
        self.log = ConnectionLog()
        self.results: dict[str, Any] = {}

    def scenario(self, name: str, act: Callable[[], Any]) -> None:
        """Run a scenario in a home of its own, and keep its connections."""
        os.environ["TARANTULA_HOME"] = str(self.folder / name)
        Config().make_home()
        self.log.take()
        self.names.forget()
        began = monotonic()
        result = act()
        self.results[name] = {"connections": self.log.take(), "result": result, "seconds": monotonic() - began}


def crawl(base: str, environment: dict[str, str] | None = None, **rules: Any) -> dict[str, Any]:
    """Collect a publication; return the states of its documents, and what its item might connect to."""
    with open_database(Config()) as database:
        describe(database, "lab", base_url=base, **{"accept": ["*"], "depth": 1, "convert": False, **rules})
        _, _, log = run(SCRAPY, "crawl", "lab", **environment or {})
        with database.reading() as session:
            documents = list(session.scalars(select(Document)))
            item = session.scalars(select(Item)).first()
            return {
                "states": {document.url: document.state for document in documents},
                "reasons": {document.url: document.reason.code for document in documents if document.reason},
                "egress": item.egress["code"] if item is not None and item.egress else log[-2000:],
            }


def poll(url: str, **values: Any) -> list[str]:
    """Read a source twice, and have its name changed to a private address in between; return both statuses."""
    field = {"key": "value", "kind": "integer", "place": {"css": "p"}}
    statuses = []
    with open_database(Config()) as database:
        with database.session() as session:
            source = parse_source({"name": "lab.source", "url": url, "fields": [field], "delay": 0, **values})
            registry.add(session, source)
        for address in ("93.184.1.5", "10.0.0.5"):
            NAMES["moved.test"] = [address]
            run(TARANTULA, "stream", "poll", "lab.source")
            with database.reading() as session:
                statuses.append(session.scalars(select(SourceState.status)).one())
    return statuses


def log_in_at_providers() -> dict[str, str]:
    """Log in at providers whose names or endpoints are private; return what each said."""
    pending, said = PendingLogin.begin("/"), {}
    answer = {"state": pending.state, "code": "code"}
    issuers = [*(f"https://public.test/{name}" for name in PROVIDERS), "https://inside.test", "https://alias.test"]
    for issuer in issuers:
        installation = Config(oidc_issuer=issuer, oidc_client_id="lab")
        settings = OidcSettings.of(installation)
        assert settings is not None
        try:
            asyncio.run(OidcProvider(installation, settings).identity("http://127.0.0.1/", pending, answer))
        except ProviderError as error:
            said[issuer] = str(error)
    return said


def suggest() -> dict[str, int]:
    """Suggest URLs, and wait until the accepted ones are collected; return the exit codes."""
    urls = (
        "http://inside.test/", "http://10.0.0.5/", "http://metadata.test/", "http://alias.test/", "http://mixed.test/",
        "http://later.test/",
    )  # fmt: skip
    codes = {url: run(TARANTULA, "suggest", url)[0] for url in urls}
    with open_database(Config()) as database:
        eventually(lambda: _item_states(database) <= {ItemState.ARCHIVED, ItemState.INTERRUPTED})
    return codes


def _item_states(database: Database) -> set[str]:
    with database.reading() as session:
        return {*session.scalars(select(Item.state))}


def pick(render: bool = False) -> dict[str, str]:
    """Open pages in the picker, with their parts; return what became of each."""
    return asyncio.run(_pick(render))


async def _pick(render: bool) -> dict[str, str]:
    service, person = PickerService(Config()), Person("ana", Role.CURATOR)
    outcomes = {}
    for url in (
        "http://public.test/sheet",
        "http://mixed.test/",
        "http://inside.test/",
        "http://public.test/to-private",
        "http://public.test/rendered",
        "http://rebinding.test/0",
        "http://rebinding.test/1",
        "http://later.test/",
        "http://later.test/1",
        "https://public.test/secure",
    ):
        try:
            response, policy = await service.fetch(person, PageRequest(url, render=render))
            outcomes[url] = "opened"
            _, page = await service.open(person, response, policy)
            for part in (page.sheet, page.image):
                try:
                    await part(0, service._client)
                    outcomes[url] = "opened with a part"
                except TarantulaError:
                    pass
        except TarantulaError:
            outcomes[url] = "refused"
    await service._client.close()
    return outcomes


def notify() -> dict[str, bool]:
    """Send notifications; return which were sent."""
    addresses = (
        "json://public.test/value", "json://mixed.test/", "json://inside.test/", "json://alias.test/",
        "json://metadata.test/", "json://public.test/to-private", "json://public.test/to-private?redirect=yes",
        "json://rebinding.test/0", "json://rebinding.test/0", "json://rebinding.test/0", "json://later.test/1",
        "json://later.test/1", "jsons://public.test/value", "jsons://inside.test/",
        "mailto://a:b@example.org?smtp=inside.test&from=a@example.org&to=b@example.org", "syslog://",
        "fcm://project/device?mode=oauth2&keyfile=http://10.0.0.5/key.json",
    )  # fmt: skip
    return {f"{number} {address}": send_message(Config(), MESSAGE, address) for number, address in enumerate(addresses)}


def notify_as(role: Role) -> dict[str, str]:
    """Have a person of the pages send test messages; return what became of each."""
    with open_database(Config()) as database:
        context = ServiceContext(Config(), database, Person("ana", role))
        return {address: _tried(context, address) for address in TRIED_ADDRESSES}


def _tried(context: ServiceContext, address: str) -> str:
    try:
        send_trial(context, address)
    except NotAllowed:
        return "not allowed"
    except TarantulaError:
        return "not sent"
    return "sent"


def proxied() -> dict[str, Any]:
    """Collect through a proxy."""
    environment = {"http_proxy": f"http://{PROXY}:3128", "no_proxy": ""}
    return crawl("http://public.test/", environment, robots=False)


def preview() -> int:
    """Show what a publication makes of a page and its links, without storing it."""
    with open_database(Config()) as database:
        describe(database, "lab", base_url="http://public.test/", accept=["*"], robots=False)
    return run(SCRAPY, "parse", "--spider", "lab", "--depth", "2", "http://public.test/")[0]


def browse_bare(options: dict[str, Any]) -> str:
    """Open a public page in a Chromium that nothing else keeps from the network; return its error, if any."""
    namespace = {"CHROMIUM_NAMESPACE": namespace_options(), "CHROMIUM_PATH": usable_browser() or ""}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(args=["--no-sandbox"], env={**os.environ, **namespace}, **options)
        page = browser.new_page()
        try:
            page.goto("http://93.184.1.1/")
        except PlaywrightError as error:
            return error.message.splitlines()[0]
        finally:
            browser.close()
    return ""


def sharing_network(act: Callable[[], Any]) -> Callable[[], Any]:
    """Return a scenario whose Chromium has no network namespace of its own."""

    def acting() -> Any:
        os.environ[NAMESPACE_SETTING] = "off"
        try:
            return act()
        finally:
            os.environ[NAMESPACE_SETTING] = "required"

    return acting


Scenario = Callable[[], Any]
SCENARIOS: dict[str, Scenario] = {
    "collector": lambda: crawl(
        "http://public.test/",
        {"TARANTULA_NOTIFY": "json://inside.test/;json://public.test/value", **os.environ},
    ),
    "sitemaps": lambda: crawl("http://public.test/robots.txt", depth=2, robots=False),
    "tls": lambda: crawl("https://public.test/secure", robots=False),
    "stream tls": lambda: poll("https://public.test/secure"),
    "changing base": lambda: crawl("http://later.test/", accept=[]),
    "mixed base": lambda: crawl("http://mixed.test/"),
    "named base": lambda: crawl("http://10.0.0.5/", accept=[]),
    "allowed": lambda: crawl("http://inside.test/", allow_private=True, accept=[]),
    "not allowed": lambda: crawl("http://inside.test/", accept=[]),
    "proxy": proxied,
    "preview": preview,
    "stream": lambda: poll("http://moved.test/"),
    "stream redirect": lambda: poll("http://public.test/to-private"),
    "stream mixed": lambda: poll("http://mixed.test/"),
    "stream rebinding": lambda: poll("http://rebinding.test/0"),
    "stream changing": lambda: poll("http://later.test/"),
    "provider": log_in_at_providers,
    "suggestions": suggest,
    "picker": pick,
    "notifications": notify,
    "notifications of a reader": lambda: notify_as(Role.READER),
    "notifications of a curator": lambda: notify_as(Role.CURATOR),
}
"""Scenarios of the laboratory by name."""
RENDERING: dict[str, Scenario] = {
    "browser": lambda: crawl("http://public.test/rendered", render=True, depth=0),
    "browser leaving": lambda: crawl("http://public.test/leaving", render=True, depth=0),
    "browser rebinding": lambda: crawl("http://rebinding.test/2", render=True, depth=0),
    "stream rendered": lambda: poll("http://public.test/rendered", render=True),
    "stream rendered mixed": lambda: poll("http://mixed.test/", render=True),
    "stream rendered changing": lambda: poll("http://later.test/", render=True),
    "picker rendered": lambda: pick(render=True),
}
SHARED = ", shared network"
"""End of the names of scenarios whose Chromium has no network namespace of its own."""
BROWSER_SCENARIOS: dict[str, Scenario] = {
    **RENDERING,
    f"browser{SHARED}": sharing_network(RENDERING["browser"]),
    "bare browser": lambda: browse_bare({"executable_path": str(LAUNCHER)}),
    f"bare browser{SHARED}": lambda: browse_bare({"executable_path": usable_browser()}),
}
"""Those that need Chromium."""


def main(folder: Path) -> None:
    """Run all scenarios and write their connections."""
    lab = Laboratory(folder)
    os.environ[NAMESPACE_SETTING] = "required"
    for name, act in {**SCENARIOS, **(BROWSER_SCENARIOS if "--browser" in sys.argv else {})}.items():
        lab.scenario(name, act)
    (folder / "results.json").write_text(json.dumps({"scenarios": lab.results, "asked": lab.web.asked}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
