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

from sqlalchemy import select

from tarantula.accounts.roles import Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.models import Document, Item, SourceState
from tarantula.publications.notifications import NotificationMessage, send_message
from tarantula.store.database import open_database
from tarantula.streams.sources import registry
from tarantula.streams.sources.config import parse_source
from tarantula.web.picker.service import PageRequest, PickerService
from tests.lab.network import PROXY, ConnectionLog, LabWeb, LyingNameServer, Page, build
from tests.support.crawls import SCRAPY, TARANTULA, describe, run
from tests.support.waits import eventually

NAMES: dict[str, Any] = {
    "public.test": ["93.184.1.1"],
    "mixed.test": ["10.0.0.5", "93.184.1.2", "169.254.169.254", "fd12::5"],
    "rebinding.test": lambda asked: ["93.184.1.3"] if asked % 2 == 0 else ["10.0.0.5"],
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
RENDERED = """<!doctype html><body><script>
for (const url of ["http://10.0.0.5/", "http://inside.test/", "http://169.254.169.254/", "http://192.168.7.7:8080/"]) {
  fetch(url, {mode: "no-cors"}).catch(() => {});
  for (const kind of ["img", "iframe", "script"]) {
    const part = document.createElement(kind); part.src = url; document.body.append(part);
  }
  for (const relation of ["prefetch", "preconnect", "dns-prefetch", "stylesheet"]) {
    const link = document.createElement("link"); link.rel = relation; link.href = url; document.head.append(link);
  }
  new WebSocket(url.replace("http", "ws"));
  navigator.sendBeacon(url, "here");
}
const peer = new RTCPeerConnection({iceServers: [{urls: "stun:10.0.0.5:3478"}, {urls: "turn:192.168.7.7:3478",
  username: "a", credential: "b"}]});
peer.createDataChannel("out");
peer.createOffer().then(offer => peer.setLocalDescription(offer));
fetch("http://public.test/part.txt").catch(() => {});
</script>"""
PAGES: dict[str, Page] = {
    "public.test/": (200, {}, "".join(f'<a href="{url}">' for url in LINKS)),
    "public.test/value": (200, {}, "<p>1</p>"),
    "public.test/to-private": (302, {"Location": "http://10.0.0.5/secret"}, ""),
    "public.test/rendered": (200, {}, RENDERED),
    "public.test/part.txt": (200, {"Content-Type": "text/plain"}, "part"),
    "public.test/sheet": (
        200,
        {},
        '<link rel="stylesheet" href="http://10.0.0.5/a.css"><img src="http://metadata.test/a.png"><p>1</p>',
    ),
    "robots.test/robots.txt": (302, {"Location": "http://10.0.0.5/robots.txt"}, ""),
    "robots.test/page": (200, {}, "page"),
    "mixed.test/": (200, {}, '<a href="http://10.0.0.5/"><a href="http://192.168.7.7/"><p>1</p>'),
    "moved.test/": (200, {}, "<p>1</p>"),
    **{f"rebinding.test/{number}": (200, {"Connection": "close"}, "page") for number in range(4)},
    "10.0.0.5/": (200, {}, "never: secrets are served instead"),
}
MESSAGE = NotificationMessage("title", "body", "info")


class Laboratory:
    """The network, and what each scenario did in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        build(folder)
        self.names = LyingNameServer(NAMES)
        self.web = LabWeb(PAGES)
        self.log = ConnectionLog()
        self.results: dict[str, Any] = {}

    def scenario(self, name: str, act: Callable[[], Any]) -> None:
        """Run a scenario in a home of its own, and keep its connections."""
        os.environ["TARANTULA_HOME"] = str(self.folder / name)
        Config().make_home()
        self.log.take()
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


def suggest() -> dict[str, int]:
    """Suggest URLs, and wait until the accepted one is collected; return the exit codes."""
    urls = ("http://inside.test/", "http://10.0.0.5/", "http://metadata.test/", "http://mixed.test/")
    codes = {url: run(TARANTULA, "suggest", url)[0] for url in urls}
    with open_database(Config()) as database:
        eventually(lambda: _item_state(database) in (ItemState.ARCHIVED, ItemState.INTERRUPTED))
    return codes


def _item_state(database: Database) -> str | None:
    with database.reading() as session:
        return session.scalar(select(Item.state))


def pick() -> dict[str, str]:
    """Open pages in the picker, with their parts; return what became of each."""
    return asyncio.run(_pick())


async def _pick() -> dict[str, str]:
    service, person = PickerService(Config()), Person("ana", Role.CURATOR)
    outcomes = {}
    for url in (
        "http://public.test/sheet",
        "http://mixed.test/",
        "http://inside.test/",
        "http://public.test/to-private",
    ):
        try:
            response, policy = await service.fetch(person, PageRequest(url))
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
        "json://rebinding.test/0", "json://rebinding.test/0", "json://rebinding.test/0",
        "mailto://a:b@example.org?smtp=inside.test&from=a@example.org&to=b@example.org", "syslog://",
        "fcm://project/device?mode=oauth2&keyfile=http://10.0.0.5/key.json",
    )  # fmt: skip
    return {f"{number} {address}": send_message(Config(), MESSAGE, address) for number, address in enumerate(addresses)}


def proxied() -> dict[str, Any]:
    """Collect through a proxy."""
    environment = {"http_proxy": f"http://{PROXY}:3128", "no_proxy": ""}
    return crawl("http://public.test/", environment, robots=False)


def preview() -> int:
    """Show what a publication makes of a page and its links, without storing it."""
    with open_database(Config()) as database:
        describe(database, "lab", base_url="http://public.test/", accept=["*"], robots=False)
    return run(SCRAPY, "parse", "--spider", "lab", "--depth", "2", "http://public.test/")[0]


def main(folder: Path) -> None:
    """Run all scenarios and write their connections."""
    lab = Laboratory(folder)
    notified = {"TARANTULA_NOTIFY": "json://inside.test/;json://public.test/value", **os.environ}
    lab.scenario("collector", lambda: crawl("http://public.test/", notified))
    lab.scenario("mixed base", lambda: crawl("http://mixed.test/"))
    lab.scenario("named base", lambda: crawl("http://10.0.0.5/", accept=[]))
    lab.scenario("allowed", lambda: crawl("http://inside.test/", allow_private=True, accept=[]))
    lab.scenario("not allowed", lambda: crawl("http://inside.test/", accept=[]))
    lab.scenario("proxy", proxied)
    lab.scenario("preview", preview)
    lab.scenario("stream", lambda: poll("http://moved.test/"))
    lab.scenario("stream redirect", lambda: poll("http://public.test/to-private"))
    lab.scenario("suggestions", suggest)
    lab.scenario("picker", pick)
    lab.scenario("notifications", notify)
    if "--browser" in sys.argv:
        lab.scenario("browser", lambda: crawl("http://public.test/rendered", render=True, depth=0))
    (folder / "results.json").write_text(json.dumps({"scenarios": lab.results, "asked": lab.web.asked}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
