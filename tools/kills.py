"""Kill processes of an installation at random, and compare what it stores with an undisturbed run.

``python -m tools.kills --documents 20000 --kills 1000`` serves sites on loopback, collects them once undisturbed and
once under two daemons (the second in a PID namespace of its own, which is another machine to Tarântula) whose
processes get SIGKILL and SIGTERM while database connections are ended and PostgreSQL is restarted. A strike comes at
a random moment between two requests to a server, after the sites got their share: not always while all servers are
being asked at once. Then rows, bodies, mirrors, search results and exports of both are compared, and the requests of
both counted. Exit code 1: they differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg2
from sqlalchemy import func, select
from warcio.archiveiterator import ArchiveIterator

from tarantula.core.config import Config
from tarantula.core.states import ItemState
from tarantula.models import Document, Item, LinkRow, Publication
from tarantula.store.captures import capture_of
from tarantula.store.database import open_database
from tarantula.store.warc_reader import read_response
from tests.sites.large import LargeWeb
from tests.support.postgresql import OwnPostgresql

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
SERVERS_PER_SITE = 16
KINDS = {
    "scrapy crawl": "collector",
    "item resume": "completion",
    "item export": "export",
    "tarantula index": "index",
    "tarantula verify": "verify",
    "tarantula backup": "backup",
    "scheduler.py": "daemon",
}
"""Kind of process by a part of its command line."""
QUERIES = ("biblioteca", "página 7", "publicações da rede", "pictures", "library keeps every page")
"""Queries whose number of documents and facets are compared: many results have the same score, and no fixed order."""
RARE_PAGES = (11, 123, 250, 301)
"""Numbers of pages whose titles are searched for; all results are compared."""
QUIET_SECONDS = 10.0
"""Longest time between two kills while items are collected, if no request comes."""
COMMAND_SECONDS = 1.0
"""Time between two kills when all items are archived."""
SETTLE_SECONDS = 900.0
"""Longest time from the last kill until all items are archived."""


class Site(LargeWeb):
    """A site on loopback addresses of its own."""

    def __init__(self, number: int, pages: int) -> None:
        super().__init__(pages, SERVERS_PER_SITE, number)
        self.name = f"site{number}"

    def requests(self) -> int:
        """Return the number of requests for documents so far; robots.txt is asked for by each collector."""
        return len(self.visits) - len(self.visits_to("/robots.txt"))


@dataclass
class Installation:
    """A home and a database, with commands run in it."""

    home: Path
    url: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """Environment of its processes; a process that died is started again soon."""
        chosen = {"TARANTULA_HOME": str(self.home), "TARANTULA_RETRY_PAUSE": "0.2", "no_proxy": "*"}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TARANTULA_")}
        return {**inherited, **chosen, **({"TARANTULA_DATABASE_URL": self.url} if self.url else {})}

    @property
    def config(self) -> Config:
        """Its configuration."""
        return Config(home=self.home, database_url=self.url)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a `tarantula` command."""
        return subprocess.Popen(
            [BIN / "tarantula", *arguments],
            cwd=ROOT,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, *arguments: str) -> str:
        """Run a `tarantula` command to its end; return its output."""
        process = self.start(*arguments)
        output, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"tarantula {shlex.join(arguments)} ended with {process.returncode}:\n{output}")
        return output

    def items(self) -> dict[str, tuple[str, str]]:
        """Return urn and state of the item of each publication."""
        with open_database(self.config) as database, database.reading() as session:
            rows = session.execute(select(Publication.name, Item.urn, Item.state).join(Item.publication))
            return {name: (urn, state) for name, urn, state in rows}


def contents(installation: Installation, name: str) -> dict[str, Any]:
    """Return what is stored of a publication's item, in a form that does not depend on time and order."""
    config, urn = installation.config, installation.items()[name][0]
    columns = (Document.state, Document.type, Document.size, Document.digest, Document.links, Document.depth)
    rows, bodies = {}, {}
    with open_database(config) as database, database.reading() as session:
        item = session.scalars(select(Item).where(Item.urn == urn)).one()
        own = Document.item_id == item.id
        for url, *values in session.execute(select(Document.url, *columns).where(own)):
            rows[url] = tuple(values)
        for document in session.scalars(select(Document).where(own).execution_options(yield_per=500)):
            if (capture := capture_of(session, config.items, document)) is not None:
                body = read_response(capture.path, capture.offset).body
                bodies[document.url] = hashlib.sha256(body).hexdigest()
        ids = select(Document.id).where(own)
        links = session.scalar(select(func.count()).select_from(LinkRow).where(LinkRow.document_id.in_(ids)))
    mirror = config.archived / urn / "web"
    files = {
        str(path.relative_to(mirror)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(mirror.rglob("*"))
        if path.is_file()
    }
    return {
        "rows": rows,
        "bodies": bodies,
        "links": links,
        "mirror": files,
        "export": exported_records(installation, urn),
    }


def exported_records(installation: Installation, urn: str) -> set[tuple[str, str, str]]:
    """Return type, URL and payload digest of the records in a WACZ of an item, as warcio reads them."""
    path = Path(json.loads(installation.run("item", "export", urn, "--format", "wacz", "--force", "--json"))["path"])
    found = set()
    with zipfile.ZipFile(path) as package:
        for name in package.namelist():
            if name.endswith(".warc.gz"):
                with package.open(name) as stream:
                    for record in ArchiveIterator(stream):
                        fields = record.rec_headers
                        if record.rec_type in ("response", "revisit"):
                            url, digest = (fields.get_header(f"WARC-{one}") for one in ("Target-URI", "Payload-Digest"))
                            found.add((record.rec_type, url, digest))
    return found


def search_results(installation: Installation) -> dict[str, Any]:
    """Return counts and facets of common queries, and all URLs found for rare ones, after all was indexed."""
    installation.run("index")
    found: dict[str, Any] = {}
    for query in QUERIES:
        answer = _search(installation, query)
        found[query] = {"documents": answer["documents"], "facets": answer["facets"]}
    for number in RARE_PAGES:
        query = f'title:"Página {number}"'
        answer = _search(installation, query)
        pages = [answer] + [_search(installation, query, page) for page in range(2, answer["pages"] + 1)]
        found[query] = (answer["documents"], sorted(hit["url"] for page in pages for hit in page["results"]))
    return found


def _search(installation: Installation, query: str, page: int = 1) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(installation.run("search", query, "--unfold", "--page", str(page), "--json"))
    return answer


@dataclass
class Disturbance:
    """Random kills, one each time that the sites got so many requests more, or that a while has passed."""

    installation: Installation
    sites: list[Site]
    kills: int
    chance: random.Random
    server: OwnPostgresql | None = None
    counts: Counter[str] = field(default_factory=Counter)
    delay: float = 0.0
    """Longest time from a share of requests to the strike."""
    resumed_by_hand: int = 0

    def processes(self) -> dict[str, list[int]]:
        """Return the processes of the installation by kind."""
        mark = f"TARANTULA_HOME={self.installation.home}".encode()
        found: dict[str, list[int]] = {}
        for directory in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (directory / "environ").read_bytes().split(b"\0"):
                    line = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    kind = next((kind for part, kind in KINDS.items() if part in line), None)
                    if kind is not None and not line.startswith(("unshare", "sh ")):
                        found.setdefault(kind, []).append(int(directory.name))
        return found

    def strike(self) -> None:
        """Kill one process, end one connection, or restart PostgreSQL."""
        lot = self.chance.random()
        if self.server is not None and lot < 0.02:
            self._restart(self.server)
        elif self.server is not None and lot < 0.1:
            self._end_connection()
        else:
            self._kill()

    def _kill(self) -> None:
        while not (found := self.processes()):
            time.sleep(0.1)
        kind = self.chance.choice(sorted(found))
        number = self.chance.choice((signal.SIGKILL, signal.SIGTERM))
        with suppress(ProcessLookupError):
            os.kill(self.chance.choice(found[kind]), number)
            self.counts[f"{kind} {signal.Signals(number).name}"] += 1

    def _end_connection(self) -> None:
        connection = psycopg2.connect(self.installation.url)
        with connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                "AND datname = current_database() ORDER BY random() LIMIT 1) AS chosen"
            )
            self.counts["database connection"] += cursor.rowcount
        connection.close()

    def _restart(self, server: OwnPostgresql) -> None:
        mode = self.chance.choice(("fast", "immediate"))
        server.stop(mode)
        server.start()
        self.counts[f"PostgreSQL {mode} restart"] += 1

    def run(self) -> None:
        """Strike as often as asked, with commands of a person beside the daemons; report progress."""
        step = max(1.0, 0.8 * sum(site.pages for site in self.sites) / self.kills)
        commands: list[subprocess.Popen[str]] = []
        struck_at, struck_after, looked_at, is_archived = time.monotonic(), 0, 0.0, False
        resumed: list[subprocess.Popen[str]] = []
        while sum(self.counts.values()) < self.kills:
            if (now := time.monotonic()) - looked_at > 1.0:
                looked_at, is_archived = now, self.is_archived()
                commands = [one for one in commands if one.poll() is None] or self._commands()
                resumed = [one for one in resumed if one.poll() is None] or self.resume_interrupted()
            asked = sum(site.requests() for site in self.sites)
            if asked - struck_after >= step or now - struck_at > (COMMAND_SECONDS if is_archived else QUIET_SECONDS):
                time.sleep(self.chance.uniform(0.0, self.delay))
                self.strike()
                struck_at, struck_after = time.monotonic(), asked
                if sum(self.counts.values()) % 25 == 0:
                    print(f"{sum(self.counts.values())} of {self.kills} kills, {asked} requests", flush=True)
            time.sleep(0.05)
        for command in (*commands, *resumed):
            command.communicate()

    def resume_interrupted(self) -> list[subprocess.Popen[str]]:
        """Start to resume the interrupted items, as a person would."""
        urns = [urn for urn, state in self.items().values() if state == ItemState.INTERRUPTED]
        self.resumed_by_hand += len(urns)
        return [self.installation.start("item", "resume", urn) for urn in urns]

    def _commands(self) -> list[subprocess.Popen[str]]:
        archived = [urn for urn, state in self.items().values() if state == ItemState.ARCHIVED]
        if not archived:
            return []
        urn = self.chance.choice(archived)
        lines = (
            ("item", "export", urn, "--format", "wacz", "--force"),
            ("verify", urn),
            ("index",),
            ("backup", str(self.installation.home.parent / "backup")),
        )
        return [self.installation.start(*self.chance.choice(lines))]

    def is_archived(self) -> bool:
        """Whether every site has an archived item."""
        states = [state for _, state in self.items().values()]
        return len(states) == len(self.sites) and all(state == ItemState.ARCHIVED for state in states)

    def items(self) -> dict[str, tuple[str, str]]:
        """Return urn and state of the item of each publication."""
        # The database may be restarting.
        while True:
            with suppress(Exception):
                return self.installation.items()
            time.sleep(0.2)


@contextmanager
def daemons(installation: Installation, hosts: int) -> Iterator[None]:
    """Run a daemon on each host, started again when it ends, as systemd would."""
    loop = f"while :; do {shlex.quote(sys.executable)} scheduler.py; sleep 0.2; done"
    running = []
    for host in range(hosts):
        apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] if host else []
        log = (installation.home.parent / f"daemon-{host}.log").open("ab")
        running.append(
            subprocess.Popen(
                [*apart, "sh", "-c", loop],
                cwd=ROOT,
                env=installation.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        )
    try:
        yield
    finally:
        for one in running:
            with suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()


def end_all(disturbance: Disturbance) -> None:
    """End what is left of an installation's processes."""
    while found := [pid for pids in disturbance.processes().values() for pid in pids]:
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.2)


def describe(installation: Installation, sites: list[Site], *options: str) -> None:
    """Add a publication for each site."""
    for site in sites:
        accept = ";".join(site.server(address) for address in site.addresses)
        installation.run("publication", "add", site.name, site.base_url, "--accept", accept, *options)


def collect(installation: Installation, sites: list[Site]) -> None:
    """Collect all sites at the same time, undisturbed."""
    running = {site.name: installation.start("crawl", site.name) for site in sites}
    for name, process in running.items():
        output, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"tarantula crawl {name} ended with {process.returncode}:\n{output}")


def settle(disturbance: Disturbance) -> None:
    """Wait until every item is archived; resume what was interrupted, as a person would."""
    until = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < until:
        if disturbance.is_archived():
            return
        for process in disturbance.resume_interrupted():
            process.communicate()
        time.sleep(0.5)
    raise SystemExit(f"Not archived after {SETTLE_SECONDS:.0f} seconds: {disturbance.items()}")


def compare(sites: list[Site], calm: Installation, disturbed: Installation) -> dict[str, list[str]]:
    """Return what differs, by kind of content, at most a few examples each."""
    different: dict[str, list[str]] = {}
    for site in sites:
        one, other = contents(calm, site.name), contents(disturbed, site.name)
        for kind in one:
            if one[kind] != other[kind]:
                different.setdefault(kind, []).append(f"{site.name}: {_difference(one[kind], other[kind])}")
    found = search_results(calm), search_results(disturbed)
    if found[0] != found[1]:
        different["search"] = [_difference(*found)]
    return different


def _difference(one: Any, other: Any) -> str:
    if isinstance(one, dict):
        keys = [key for key in one.keys() | other.keys() if one.get(key) != other.get(key)]
        examples = "; ".join(f"{key}: {one.get(key)} and {other.get(key)}" for key in sorted(keys)[:3])
        return f"{len(keys)} of {len(one)} differ: {examples}"
    if isinstance(one, set):
        return f"{len(one - other)} missing, {len(other - one)} more: {sorted(one ^ other)[:3]}"
    return f"{one} and {other}"


def main() -> int:
    """Run the trial."""
    options = argparse.ArgumentParser(prog="python -m tools.kills", description=__doc__)
    options.add_argument("--documents", type=int, default=2000)
    options.add_argument("--items", type=int, default=3)
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--database", choices=("postgresql", "sqlite"), default="postgresql")
    options.add_argument("--hosts", type=int, help="by default 2 on PostgreSQL, 1 on SQLite")
    options.add_argument("--delay", default="0.5", help="seconds between two requests to a server; each site has 16")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    hosts = chosen.hosts or (2 if chosen.database == "postgresql" else 1)
    if hosts > 1 and os.geteuid() != 0:
        print("Without root there is one host: another PID namespace cannot be made.")
        hosts = 1
    work = Path(tempfile.mkdtemp(prefix="kills-"))
    sites = [Site(number, chosen.documents // chosen.items) for number in range(1, chosen.items + 1)]
    with nullcontext() if chosen.database == "sqlite" else OwnPostgresql() as server:
        calm, disturbed = (
            Installation(work / name, server.create_database(name) if server is not None else "")
            for name in ("calm", "disturbed")
        )
        for site in sites:
            site.__enter__()
        describe(calm, sites, "--delay", chosen.delay)
        collect(calm, sites)
        usual = sum(site.requests() for site in sites)
        for site in sites:
            site.visits.clear()
        print(f"undisturbed: {usual} requests", flush=True)
        describe(disturbed, sites, "--delay", chosen.delay, "--start", "2026-01-01 00:00")
        disturbance = Disturbance(
            disturbed, sites, chosen.kills, random.Random(chosen.seed), server, delay=float(chosen.delay)
        )
        try:
            with daemons(disturbed, hosts):
                disturbance.run()
                settle(disturbance)
        finally:
            end_all(disturbance)
        asked = sum(site.requests() for site in sites)
        different = compare(sites, calm, disturbed)
        for site in sites:
            site.__exit__()
    result = {
        "documents": chosen.documents,
        "items": chosen.items,
        "hosts": hosts,
        "database": chosen.database,
        "delay": float(chosen.delay),
        "kills": dict(sorted(disturbance.counts.items())),
        "resumed_by_hand": disturbance.resumed_by_hand,
        "requests": {"undisturbed": usual, "disturbed": asked, "extra_percent": round(100 * (asked / usual - 1), 2)},
        "different": different,
    }
    if different:
        print(f"Files are left in {work}.")
    else:
        shutil.rmtree(work, ignore_errors=True)
    print(json.dumps(result, ensure_ascii=False))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
