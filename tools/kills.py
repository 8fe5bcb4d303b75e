"""Kill processes of an installation at random, and compare what it stores with an undisturbed run.

``python -m tools.kills --documents 20000 --kills 1000`` serves sites on loopback, collects them once undisturbed and
once under two daemons (the second in a PID namespace of its own, which is another machine to Tarântula) whose
processes get SIGKILL and SIGTERM while database connections are ended and PostgreSQL is restarted. Meanwhile the
pages, a barrel and a gateway run, a stream is read, and a person exports, verifies, indexes and takes backups, and
collects and removes items of a small publication whose later items need bodies of earlier ones. Strikes come at random
moments, in a Poisson process. Then rows, bodies, mirrors, search results and exports of both are compared, the
requests of both counted, and the logs searched for errors that the program calls its own. Exit code 1: they differ.
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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psycopg2
from sqlalchemy import func, select
from warcio.archiveiterator import ArchiveIterator

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.models import Document, Event, Item, LinkRow, Publication
from tarantula.search.barrels.client import GatewayClient
from tarantula.search.barrels.signatures import SearchKeys
from tarantula.search.finder import SearchFinder
from tarantula.search.index.updater import updated_index
from tarantula.search.results import SearchRequest, SearchResults
from tarantula.store.captures import capture_of
from tarantula.store.database import open_database
from tarantula.store.listings import fired_effects, is_complete
from tarantula.store.warc_reader import read_response
from tests.sites.large import LargeWeb
from tests.sites.server import Answer, Web, free_port
from tests.support.postgresql import OwnPostgresql
from tests.support.sources import counting

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
SERVERS_PER_SITE = 16
KINDS = {
    "scrapy crawl": "collector",
    "tarantula crawl": "command that collects",
    "item resume": "completion",
    "item export": "export",
    "item remove": "removal",
    "tarantula index": "index",
    "tarantula verify": "verify",
    "tarantula backup": "backup",
    "stream read": "stream reader",
    "tarantula barrel": "barrel",
    "tarantula gateway": "gateway",
    "tarantula web": "pages",
    "scheduler.py": "daemon",
}
"""Kind of process by a part of its command line."""
QUERIES = ("biblioteca", "página 7", "publicações da rede", "pictures", "library keeps every page")
"""Queries whose number of documents and facets are compared: many results have the same score, and no fixed order."""
RARE_PAGES = (11, 123, 250, 301)
"""Numbers of pages whose titles are searched for; all results are compared."""
SETTLE_SECONDS = 900.0
"""Longest time from the last kill until all items are archived."""
BRIEF, BRIEF_PAGES, MAX_BRIEF_ITEMS = "brief", 60, 4
"""The publication whose items are removed, its size, and how many items it has at a time."""
MAX_CPU_SECONDS = 4.0
"""A process is killed after an amount of processor time between 0 and this; starting takes about 1.5 s."""
STREAM = "trial.counter"
COLLECTING_SHARE = 0.7
"""Part of the time of all strikes during which sites are collected, if no delay is given."""
APART = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Starts a process in a PID namespace of its own."""
BUG = "bug of Tarântula"
"""Part of the message of an unexpected error."""


class Site(LargeWeb):
    """A site on loopback addresses of its own."""

    def __init__(self, number: int, pages: int) -> None:
        super().__init__(pages, SERVERS_PER_SITE, number)
        self.name = f"site{number}"

    def requests(self) -> int:
        """Return the number of requests for documents so far; robots.txt is asked for by each collector."""
        return len(self.visits) - len(self.visits_to("/robots.txt"))


class BriefSite(Web):
    """A small site, of words that no query has, and a page that counts its visits, for a stream."""

    def __init__(self) -> None:
        paths = [f"/{number}" for number in range(BRIEF_PAGES)]
        pages = {path: Answer(f"<title>{path}</title>{_brief_text(path) * 20}") for path in paths}
        links = "".join(f'<a href="{path}">{path}</a>' for path in paths)
        super().__init__({"/": Answer(links), "/counter": counting(), **pages}, ["127.0.99.1"])

    @property
    def stream_url(self) -> str:
        """URL of the page that counts its visits."""
        return self.url("/counter")


def _brief_text(path: str) -> str:
    return f"<p>zebra {path}</p>"


@dataclass
class Installation:
    """A home and a database, with commands run in it."""

    home: Path
    url: str = ""
    programs: Path | None = None
    """Folder of pg_dump, of the version of the server."""

    @property
    def environment(self) -> dict[str, str]:
        """Environment of its processes; a process that died is started again soon."""
        chosen = {"TARANTULA_HOME": str(self.home), "TARANTULA_RETRY_PAUSE": "0.2", "no_proxy": "*"}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TARANTULA_")}
        if self.url:
            chosen |= {"TARANTULA_DATABASE_URL": self.url, "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}"}
        return {**inherited, **chosen}

    @property
    def config(self) -> Config:
        """Its configuration."""
        return Config(home=self.home, database_url=self.url)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a `tarantula` command whose output goes to the log of commands."""
        with (self.home.parent / "commands.log").open("a") as log:
            return self._start(arguments, log)

    def _start(self, arguments: tuple[str, ...], output: Any) -> subprocess.Popen[str]:
        command = [str(BIN / "tarantula"), *arguments]
        return subprocess.Popen(
            command, cwd=ROOT, env=self.environment, text=True, stdout=output, stderr=subprocess.STDOUT
        )

    def run(self, *arguments: str) -> str:
        """Run a `tarantula` command to its end; return its output."""
        process = self._start(arguments, subprocess.PIPE)
        output, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"tarantula {shlex.join(arguments)} ended with {process.returncode}:\n{output}")
        return output

    def items(self) -> list[StoredItem]:
        """Return all items, oldest first; the database may be restarting."""
        chosen = select(Publication.name, Item.urn, Item.state).join(Item.publication).order_by(Item.id)
        while True:
            with suppress(Exception), open_database(self.config) as database, database.reading() as session:
                return [StoredItem(*row) for row in session.execute(chosen)]
            time.sleep(0.2)

    def urns_of(self, name: str) -> list[str]:
        """Return the items of a publication, oldest first."""
        return [item.urn for item in self.items() if item.publication == name]

    def stream_values(self) -> list[int]:
        """Return the stored values of the stream, oldest first."""
        with open_database(self.config) as database, database.reading() as session:
            return [int(value) for value in session.scalars(select(Event.value).order_by(Event.at))]

    def bugs(self) -> list[str]:
        """Return the lines of all logs that call an error one of the program."""
        logs = [*self.home.rglob("*.log"), *self.home.parent.glob("*.log")]
        lines = (line for log in logs for line in log.read_text(errors="replace").splitlines())
        return [line for line in lines if BUG in line or line.startswith("Traceback")]


class StoredItem(NamedTuple):
    """An item, and where it is in its life."""

    publication: str
    urn: str
    state: str


def contents(installation: Installation, urn: str) -> dict[str, Any]:
    """Return what is stored of an item, in a form that does not depend on time and order."""
    config = installation.config
    columns = (Document.state, Document.type, Document.size, Document.digest, Document.links, Document.depth)
    rows, bodies = {}, {}
    with open_database(config) as database, database.reading() as session:
        item = session.scalars(select(Item).where(Item.urn == urn)).one()
        own = Document.item_id == item.id
        for url, *values in session.execute(select(Document.url, *columns).where(own)):
            rows[url] = tuple(values)
        for document in session.scalars(select(Document).where(own).execution_options(yield_per=500)):
            try:
                if (capture := capture_of(session, config.items, document)) is not None:
                    body = read_response(capture.path, capture.offset).body
                    bodies[document.url] = hashlib.sha256(body).hexdigest()
            except TarantulaError as error:
                bodies[document.url] = str(error)
        complete = is_complete(item, fired_effects(item))
        ids = select(Document.id).where(own)
        links = session.scalar(select(func.count()).select_from(LinkRow).where(LinkRow.document_id.in_(ids)))
    mirror = config.archived / urn / "web"
    files = {
        str(path.relative_to(mirror)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(mirror.rglob("*"))
        if path.is_file()
    }
    return {
        "complete": complete,
        "rows": rows,
        "bodies": bodies,
        "links": links,
        "mirror": files,
        "export": exported_records(installation, urn),
    }


def exported_records(installation: Installation, urn: str) -> set[tuple[str, str]]:
    """Return URL and payload digest of the records in a WACZ of an item, as warcio reads them."""
    path = Path(json.loads(installation.run("item", "export", urn, "--format", "wacz", "--force", "--json"))["path"])
    found = set()
    with zipfile.ZipFile(path) as package:
        for name in package.namelist():
            if name.endswith(".warc.gz"):
                with package.open(name) as stream:
                    for record in ArchiveIterator(stream):
                        fields = record.rec_headers
                        if record.rec_type in ("response", "revisit"):
                            names = ("WARC-Target-URI", "WARC-Payload-Digest")
                            found.add((fields.get_header(names[0]), fields.get_header(names[1])))
    return found


Find = Callable[[SearchRequest], SearchResults]


def home_finder(installation: Installation) -> Find:
    """Bring the index in the home up to date; return the search in it."""
    with open_database(installation.config) as database:
        return SearchFinder(updated_index(installation.config, database, lambda _done, _total: None)).find


def search_results(find: Find) -> dict[str, Any]:
    """Return counts and facets of common queries, and all URLs found for rare ones."""
    found: dict[str, Any] = {}
    for query in QUERIES:
        answer = find(SearchRequest(query=query, unfold=True))
        found[query] = (answer.documents, answer.facets)
    for number in RARE_PAGES:
        request = SearchRequest(query=f'title:"Página {number}"', unfold=True)
        answer = find(request)
        numbers = range(1, answer.pages + 1)
        pages = [find(request.model_copy(update={"page": page})) for page in numbers]
        found[request.query] = (answer.documents, sorted(hit.url for page in pages for hit in page.results))
    return found


def cpu_seconds_of(pid: int) -> float:
    """Return how much processor time a process has used; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Disturbance:
    """Kills at random moments."""

    installation: Installation
    sites: list[Site]
    kills: int
    chance: random.Random
    server: OwnPostgresql | None = None
    counts: Counter[str] = field(default_factory=Counter)
    interval: float = 1.0
    """Mean time between two strikes, in seconds, if there are processes that have worked long enough."""
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
        # On a busy machine all would be killed while they start if time decided, not what they have done.
        while not (found := self._that_have_worked(self.chance.uniform(0, MAX_CPU_SECONDS))):
            time.sleep(0.1)
        kind = self.chance.choice(sorted(found))
        number = self.chance.choice((signal.SIGKILL, signal.SIGTERM))
        with suppress(ProcessLookupError):
            os.kill(self.chance.choice(found[kind]), number)
            self.counts[f"{kind} {signal.Signals(number).name}"] += 1

    def _that_have_worked(self, cpu_seconds: float) -> dict[str, list[int]]:
        """Return the processes that have used that much processor time, by kind."""
        worked = {
            kind: [pid for pid in pids if cpu_seconds_of(pid) >= cpu_seconds] for kind, pids in self.processes().items()
        }
        return {kind: pids for kind, pids in worked.items() if pids}

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
        """Strike a given number of times, while a person runs commands next to the daemons; report progress."""
        commands: list[subprocess.Popen[str]] = []
        resumed: list[subprocess.Popen[str]] = []
        strike_at, looked_at = time.monotonic(), 0.0
        while sum(self.counts.values()) < self.kills:
            if (now := time.monotonic()) - looked_at > 1.0:
                looked_at = now
                commands = [one for one in commands if one.poll() is None] or self._commands()
                resumed = [one for one in resumed if one.poll() is None] or self.resume_interrupted()
            if now >= strike_at:
                self.strike()
                strike_at = max(strike_at, now) + self.chance.expovariate(1.0 / self.interval)
                if (number := sum(self.counts.values())) % 25 == 0:
                    print(f"{number} of {self.kills} kills, {self.requests()} requests", flush=True)
            time.sleep(0.01)
        for command in (*commands, *resumed):
            command.wait()

    def resume_interrupted(self) -> list[subprocess.Popen[str]]:
        """Start to resume the interrupted items, as a person would."""
        urns = [item.urn for item in self.installation.items() if item.state == ItemState.INTERRUPTED]
        self.resumed_by_hand += len(urns)
        return [self.installation.start("item", "resume", urn) for urn in urns]

    def _commands(self) -> list[subprocess.Popen[str]]:
        items = self.installation.items()
        brief = [item for item in items if item.publication == BRIEF]
        archived = [item.urn for item in items if item.state == ItemState.ARCHIVED]
        lines: list[tuple[str, ...]] = [("index",), ("backup", str(self.installation.home.parent / "backup"))]
        if len(brief) < MAX_BRIEF_ITEMS:
            lines.append(("crawl", BRIEF))
        if len(brief) > 1 and brief[0].state in (ItemState.ARCHIVED, ItemState.REMOVING):
            lines.append(("item", "remove", brief[0].urn, "--yes"))
        if archived:
            urn = self.chance.choice(archived)
            lines += [("item", "export", urn, "--format", "wacz", "--force"), ("verify", urn)]
        return [self.installation.start(*line) for line in self.chance.sample(lines, 2)]

    def requests(self) -> int:
        """Return the number of requests for documents that the sites got so far."""
        return sum(site.requests() for site in self.sites)

    def is_archived(self) -> bool:
        """Whether every site has an archived item, and no item is left that was to be removed."""
        items = self.installation.items()
        named = {item.publication for item in items} >= {site.name for site in self.sites}
        return named and all(item.state == ItemState.ARCHIVED for item in items)


@contextmanager
def services(installation: Installation, hosts: int, gateway_port: int) -> Iterator[None]:
    """Run a daemon on each host, and pages, a barrel and a gateway, started again when they end, as systemd would."""
    tarantula = str(BIN / "tarantula")
    commands = {f"daemon-{host}": [sys.executable, "scheduler.py"] for host in range(hosts)} | {
        "pages": [tarantula, "web", "--port", "0", "--replay-port", "0"],
        "barrel": [tarantula, "barrel", "--folder", str(installation.home.parent / "barrel")],
        "gateway": [tarantula, "gateway", "--port", str(gateway_port)],
    }
    running = []
    for name, command in commands.items():
        apart = [] if name in ("daemon-0", *list(commands)[hosts:]) else list(APART)
        with (installation.home.parent / f"{name}.log").open("ab") as log:
            running.append(
                subprocess.Popen(
                    [*apart, "sh", "-c", f"while :; do {shlex.join(command)}; sleep 0.2; done"],
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


def describe(installation: Installation, sites: list[Site], brief: BriefSite, *options: str) -> None:
    """Add a publication for each site."""
    installation.run("publication", "add", BRIEF, brief.url(), "--delay", "0", "--no-robots")
    for site in sites:
        accept = ";".join(site.server(address) for address in site.addresses)
        installation.run("publication", "add", site.name, site.base_url, "--accept", accept, *options)


def collect(installation: Installation, sites: list[Site]) -> None:
    """Collect all sites at the same time, undisturbed."""
    running = {name: installation.start("crawl", name) for name in (BRIEF, *(site.name for site in sites))}
    for name, process in running.items():
        if process.wait():
            raise SystemExit(f"tarantula crawl {name} ended with {process.returncode}; see {installation.home.parent}")


def settle(disturbance: Disturbance) -> None:
    """Wait until every item is archived; resume what was interrupted, as a person would."""
    until = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < until:
        if disturbance.is_archived():
            return
        for process in disturbance.resume_interrupted():
            process.wait()
        time.sleep(0.5)
    raise SystemExit(f"Not archived after {SETTLE_SECONDS:.0f} seconds: {disturbance.installation.items()}")


def compare(sites: list[Site], calm: Installation, disturbed: Installation) -> dict[str, list[str]]:
    """Return what differs, by kind of content, at most a few examples each."""
    different: dict[str, list[str]] = {}
    for name in (BRIEF, *(site.name for site in sites)):
        (urn,) = calm.urns_of(name)
        one = contents(calm, urn)
        for urn in disturbed.urns_of(name):
            other = contents(disturbed, urn)
            for kind in one:
                if one[kind] != other[kind]:
                    different.setdefault(kind, []).append(f"{urn}: {_difference(one[kind], other[kind])}")
    found = [search_results(home_finder(installation)) for installation in (calm, disturbed)]
    if found[0] != found[1]:
        different["search"] = [_difference(*found)]
    return different


def client_of(installation: Installation, port: int) -> GatewayClient:
    """Return a client of an installation's gateway, with the key of its home."""
    return GatewayClient(f"http://127.0.0.1:{port}", SearchKeys(installation.config))


def check_gateway(installation: Installation, port: int) -> dict[str, list[str]]:
    """Return how answers through the gateway differ from those of the index in the home, after a while."""
    expected, until = search_results(home_finder(installation)), time.monotonic() + SETTLE_SECONDS
    with services(installation, 0, port), closing(client_of(installation, port)) as client:
        while True:
            try:
                found = search_results(client.find)
                if expected == found:
                    return {}
                difference = _difference(expected, found)
            except TarantulaError as error:
                difference = str(error)
            if time.monotonic() > until:
                return {"gateway": [difference]}
            time.sleep(1)


def check_stream(installation: Installation, brief: BriefSite, kills: int) -> dict[str, list[str]]:
    """Return what is wrong with the stored values: each visit has another one, and a kill may lose one."""
    values, visits = installation.stream_values(), len(brief.visits_to("/counter"))
    wrong = []
    if not values or values != sorted(set(values)):
        wrong.append(f"{len(values)} values, not all different and in order")
    if visits - len(values) > kills:
        wrong.append(f"{len(values)} values of {visits} visits after {kills} kills")
    return {"stream": wrong} if wrong else {}


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
    options.add_argument(
        "--delay",
        type=float,
        help="seconds between two requests to a server, of 16 of a site; by default so many that sites are collected "
        "during most of the kills",
    )
    options.add_argument("--interval", type=float, default=2.0, help="mean seconds between two kills")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    # Ends the processes of the trial, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    hosts = chosen.hosts or (2 if chosen.database == "postgresql" else 1)
    if hosts > 1 and os.geteuid() != 0:
        print("Without root there is one host: another PID namespace cannot be made.")
        hosts = 1
    work = Path(tempfile.mkdtemp(prefix="kills-"))
    servers = chosen.items * SERVERS_PER_SITE
    share = COLLECTING_SHARE * chosen.kills * chosen.interval
    delay = share * servers / chosen.documents if chosen.delay is None else chosen.delay
    gateway_port, brief = free_port(), BriefSite()
    sites = [Site(number, chosen.documents // chosen.items) for number in range(1, chosen.items + 1)]
    with nullcontext() if chosen.database == "sqlite" else OwnPostgresql() as server:
        calm, disturbed = (
            Installation(work / name / "home")
            if server is None
            else Installation(work / name / "home", server.create_database(name), server.programs)
            for name in ("calm", "disturbed")
        )
        for installation in (calm, disturbed):
            installation.home.parent.mkdir()
        for site in (brief, *sites):
            site.__enter__()
        describe(calm, sites, brief, "--delay", "0")
        collect(calm, sites)
        usual = sum(site.requests() for site in sites)
        for site in sites:
            site.visits.clear()
        print(f"undisturbed: {usual} requests", flush=True)
        describe(disturbed, sites, brief, "--delay", f"{delay:.2f}", "--start", "2026-01-01 00:00")
        counter = (
            "--css",
            "value=#value",
            "--kind",
            "value=integer",
            "--interval",
            "1s",
            "--delay",
            "0",
            "--no-robots",
        )
        disturbed.run("stream", "add", STREAM, brief.stream_url, *counter)
        disturbance = Disturbance(
            disturbed, sites, chosen.kills, random.Random(chosen.seed), server, interval=chosen.interval
        )
        try:
            with services(disturbed, hosts, gateway_port):
                disturbance.run()
                settle(disturbance)
        finally:
            end_all(disturbance)
        asked, bugs = disturbance.requests(), disturbed.bugs()
        different = compare(sites, calm, disturbed) | check_stream(disturbed, brief, chosen.kills)
        try:
            different |= check_gateway(disturbed, gateway_port)
        finally:
            end_all(disturbance)
        if bugs:
            different["bugs"] = [f"{len(bugs)} lines", *bugs[:3]]
        for site in (brief, *sites):
            site.__exit__()
        result = {
            "documents": chosen.documents,
            "items": chosen.items,
            "hosts": hosts,
            "database": chosen.database,
            "delay": round(delay, 2),
            "interval": chosen.interval,
            "kills": dict(sorted(disturbance.counts.items())),
            "resumed_by_hand": disturbance.resumed_by_hand,
            "brief_items": len(brief.visits_to("/")) - 1,
            "stream_values": len(disturbed.stream_values()),
            "requests": {
                "undisturbed": usual,
                "disturbed": asked,
                "extra_percent": round(100 * (asked / usual - 1), 2),
            },
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
