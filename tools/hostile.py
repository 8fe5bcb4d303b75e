"""Send hostile inputs to a running installation, and watch its memory, its processes and its health check.

    python -m tools.hostile [--family NAME]... [--sample N] [--report FILE]

The inputs of `tests.support.hostile_inputs` are processed like any others: a server on loopback sends documents and
wrong responses to a collector, whose item is converted, indexed and shown; the stream reader reads sources; the API
gets requests. The web process runs all the time, and another process requests its ``/health`` every 50 milliseconds.
The peak memory of each process is the one that the kernel reports.

Exits with 1 if a process exceeded its limit of memory, ended by itself or logged a traceback, if an input was not
handled, or if ``/health`` took longer than ``--health`` milliseconds (0: not checked).
"""

from __future__ import annotations

import argparse
import http.client
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from sqlalchemy import select

from tarantula.accounts import accounts, sessions, tokens
from tarantula.accounts.roles import Role
from tarantula.core.database import Database
from tarantula.core.limited_worker import DEFAULT_MEGABYTES, SECONDS_SETTING
from tarantula.models import Document, Item, ReadText, Source, SourceState
from tarantula.publications import registry
from tarantula.publications.config import read_config
from tarantula.store.database import open_database
from tarantula.store.document_query import skipped_documents
from tarantula.web.auth import SESSION_COOKIE
from tests.sites.raw import RawServer
from tests.support import hostile_inputs
from tests.support.browser import launched
from tests.support.followed_sources import followed, was_read
from tests.support.hostile_inputs import (
    HostileDocument,
    HostileRequest,
    HostileResponse,
    HostileSource,
    response,
)
from tools.chromium import usable_browser
from tools.kills import BIN, ROOT, Installation

SAMPLE_SECONDS = 0.05
"""Interval of health checks, and of readings of memory."""
DOWNLOAD_SECONDS = 8
MAX_BODY_BYTES = 20_000_000
ANSWER_SECONDS = 30.0
"""Time that a request to the web process has; connections that never send a request are closed by then."""
PARSER_SECONDS = "10"
READ_SECONDS = 600.0
"""Time in which every source is read once."""
REQUESTS_AT_A_TIME = 4
KINDS = {
    "limited_worker": "parser worker",
    "crawl streams": "stream reader",
    "crawl publication": "collector",
    "item convert": "conversion",
    "tarantula index": "index",
    "tarantula web": "web",
}
"""Kind of process by a part of its command line."""
MEMORY_LIMITS_MB = {
    "parser worker": DEFAULT_MEGABYTES + 300,
    "stream reader": 500,
    "collector": 600,
    "conversion": 600,
    "index": 700,
    "web": 500,
}
"""Limits of memory; a worker's is its own beyond what it has after its start."""
KILL_FACTOR = 3
"""A process that uses this many times its limit is killed, so that the machine is not."""
WebInput = HostileDocument | HostileResponse
Links = Mapping[str, HostileDocument | HostileResponse | HostileSource]


@dataclass
class Outcome:
    """Result of one input."""

    family: str
    name: str
    text: str
    seconds: float


class HealthCheck(NamedTuple):
    """One request for the health check."""

    stage: str
    seconds: float
    status: int
    processor: float = 0.0
    """Processor time of the web process meanwhile: on a busy machine it waits longer than it works."""
    delay: float = 0.0
    """How much later than requested the system woke the process of the health checks."""


@dataclass
class Findings:
    """Results of a run."""

    outcomes: list[Outcome] = field(default_factory=list)
    memory: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    """Peak of memory in MB by stage and kind of process."""
    health: list[HealthCheck] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def probe_health(address: str, pid: int, results: Connection) -> None:
    """Ask for the health check until the other side closes; send a `HealthCheck` each time."""
    host, _, port = address.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    with suppress(BrokenPipeError):
        while True:
            began, used = time.perf_counter(), processor_seconds(pid)
            try:
                connection.request("GET", "/health")
                answer = connection.getresponse()
                answer.read()
                status = answer.status
            except (OSError, http.client.HTTPException):
                connection.close()
                status = 0
            ended, used = time.perf_counter(), processor_seconds(pid) - used
            time.sleep(SAMPLE_SECONDS)
            results.send(HealthCheck("", ended - began, status, used, time.perf_counter() - ended - SAMPLE_SECONDS))


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


class Watch:
    """Reads peak memory of all processes below this one, and collects health checks, by stage."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._stage = "start"
        self._ending = threading.Event()
        self._threads: list[threading.Thread] = []

    @contextmanager
    def watching(self, address: str, pid: int) -> Iterator[None]:
        """Watch while the context lasts."""
        ours, theirs = multiprocessing.get_context("spawn").Pipe(duplex=False)
        prober = multiprocessing.get_context("spawn").Process(
            target=probe_health, args=(address, pid, theirs), daemon=True, name="health"
        )
        prober.start()
        for target in (self._read_memory, partial(self._collect, ours)):
            self._threads.append(threading.Thread(target=target, daemon=True))
            self._threads[-1].start()
        try:
            yield
        finally:
            self._ending.set()
            prober.terminate()
            prober.join()
            for thread in self._threads:
                thread.join()

    def begin(self, stage: str) -> None:
        """Count what follows for a stage."""
        for pid, _ in processes_below(os.getpid()):
            with suppress(OSError):
                # Resets the peak of memory.
                Path(f"/proc/{pid}/clear_refs").write_text("5")
        self._stage = stage

    def _read_memory(self) -> None:
        while not self._ending.wait(SAMPLE_SECONDS):
            peaks = self._findings.memory[self._stage]
            for pid, command in processes_below(os.getpid()):
                kind = next((kind for part, kind in KINDS.items() if part in command), None)
                if kind is None:
                    continue
                peaks[kind] = max(peaks.get(kind, 0.0), peak_megabytes(pid))
                if peaks[kind] > KILL_FACTOR * MEMORY_LIMITS_MB[kind]:
                    self._findings.faults.append(f"{self._stage}: {kind} was killed at {peaks[kind]:.0f} MB.")
                    with suppress(OSError):
                        os.kill(pid, signal.SIGKILL)

    def _collect(self, results: Connection) -> None:
        while not self._ending.is_set():
            if results.poll(0.2):
                self._findings.health.append(results.recv()._replace(stage=self._stage))


def processes_below(root: int) -> list[tuple[int, str]]:
    """Return process ids and command lines of the descendants of a process."""
    parents, commands = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                pid = int(folder.name)
                parents[pid] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                commands[pid] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    found = []
    for pid in parents:
        above = parents[pid]
        while above not in (0, root):
            above = parents.get(above, 0)
        if above == root:
            found.append((pid, commands.get(pid, "")))
    return found


def peak_megabytes(pid: int) -> float:
    """Return the peak of the resident memory of a process."""
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
        return int(found[1]) * 1024 / 1e6 if found else 0.0
    return 0.0


class Run:
    """One run: an installation, its web process, and the results."""

    def __init__(self, home: Path, findings: Findings) -> None:
        self.place = Installation(home)
        self.findings = findings
        self.watch = Watch(findings)
        self.address = ""
        self.token = self._cookie = ""

    @contextmanager
    def serving(self) -> Iterator[Database]:
        """Start the web process, with an administrator."""
        with open_database(self.place.config) as database, ExitStack() as stack:
            with database.session() as session:
                account = accounts.add(session, "ana", Role.ADMINISTRATOR, "correct horse battery")
                self.token = tokens.create_token(session, account, "hostile", Role.ADMINISTRATOR, None)[1]
                self._cookie = f"{SESSION_COOKIE}={sessions.begin_session(session, account, 'ana')}"
            process = self.place.start("web", "--port", "0", "--replay-port", "0")
            stack.callback(process.communicate)
            stack.callback(process.terminate)
            assert process.stdout is not None
            self.address = process.stdout.readline().strip().rstrip("/")
            if not self.address.startswith("http"):
                raise SystemExit(f"tarantula web did not start: {self.address}")
            drained: list[str] = []
            threading.Thread(target=lambda: drained.extend(process.stdout or ()), daemon=True).start()
            with self.watch.watching(self.address, process.pid):
                yield database
            if process.poll() is not None:
                self.findings.faults.append(f"The web process ended with {process.returncode}.")
            self._note_log("web", "".join(drained))

    def note(self, one: Any, text: str, seconds: float = 0.0) -> None:
        """Add an outcome."""
        self.findings.outcomes.append(Outcome(one.family, one.name, text, seconds))

    def client(self) -> httpx.Client:
        """Return a client of the API."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=120, trust_env=False)

    def command(self, *arguments: str, program: str = "tarantula", expected: Sequence[int] = (0,)) -> str:
        """Run a command; an unexpected end is a fault."""
        done = subprocess.run(
            [BIN / program, *arguments],
            cwd=ROOT,
            env={**self.place.environment, SECONDS_SETTING: PARSER_SECONDS},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        name = f"{program} {' '.join(arguments)}"
        if done.returncode not in expected:
            self.findings.faults.append(f"{name} ended with {done.returncode}: {done.stderr[-500:]}")
        self._note_log(name, done.stderr)
        return done.stdout

    def _note_log(self, name: str, log: str) -> None:
        if "Traceback" in log:
            self.findings.faults.append(f"{name} logged a traceback: {log[log.index('Traceback') :][:1500]}")

    # Documents and responses.

    def collect(self, database: Database, stage: str, inputs: Sequence[WebInput]) -> None:
        """Collect, convert, index and show what a server sends."""
        self.watch.begin(stage)
        name, seconds = re.sub(r"[^a-z]+", "-", stage.lower()).strip("-"), dict[str, float]()
        for_robots = [one for one in inputs if one.family == "robots.txt"]
        pages = [one for one in inputs if one.family != "robots.txt"]
        with ExitStack() as stack:
            links = {f"/{number}": one for number, one in enumerate(pages)}
            main = stack.enter_context(RawServer(partial(serve, links, seconds)))
            urls = {f"{main.url}{path[1:]}": one for path, one in links.items()}
            for one in for_robots:
                other = stack.enter_context(RawServer(partial(serve, {"/robots.txt": one}, {})))
                urls[f"{other.url}a.html"] = one
            base = "".join(f'<a href="{url}">x</a>' for url in urls)
            maps = "".join(f"Sitemap: {url}\n" for url, one in urls.items() if one.family == "sitemaps")
            links["/"] = HostileDocument("", "", "text/html", partial(bytes, base.encode()))
            links["/robots.txt"] = HostileDocument("", "", "text/plain", partial(bytes, maps.encode()))
            values = {"base_url": main.url, "delay": 0, "depth": 1, "timeout": DOWNLOAD_SECONDS, "per_server": 8}
            with database.session() as session:
                config = {"name": name, "max_size": MAX_BODY_BYTES, "accept": ["127.0.0.*"], "convert": False, **values}
                registry.add_publication(session, read_config(config))
            self.command("crawl", "publication", "-a", f"name={name}", program="scrapy")
        with database.reading() as session:
            chosen = select(Item.urn, Item.id).join(Item.publication).where(Item.urn.startswith(name))
            urn, item_id = session.execute(chosen.order_by(Item.id.desc())).first() or ("", 0)
        self.command("item", "convert", urn, expected=(0, 3))
        self.command("index", expected=(0, 3))
        for url, one in urls.items():
            self._note_document(database, item_id, url, one, seconds.get(url.removeprefix(main.url.rstrip("/")), 0.0))
        self._show(database, urn, item_id)

    def _note_document(self, database: Database, item_id: int, url: str, one: WebInput, seconds: float) -> None:
        with database.reading() as session:
            row = session.scalars(select(Document).where(Document.item_id == item_id, Document.url == url)).first()
            skipped = {found.url: found.reason.code for found in skipped_documents(session)}
            read = row is not None and session.get(ReadText, row.id) is not None
        if row is None or row.state in (0, -6):
            self.findings.faults.append(f"{one.family}, {one.name}: {url} was not collected.")
        text = f"state {row.state}{f' ({row.reason.code})' if row.reason else ''}" if row else "not collected"
        text += f", not indexed: {skipped[url]}" if url in skipped else ", indexed" if read else ""
        self.note(one, text, seconds)

    def _show(self, database: Database, urn: str, item_id: int) -> None:
        """Ask for the details and the archived page of every document of an item."""
        with database.reading() as session:
            ids = list(session.scalars(select(Document.id).where(Document.item_id == item_id, Document.state > 0)))
        with self.client() as client, closing(httpx.Client(timeout=120, trust_env=False)) as viewer:
            origin = self._replay_origin(urn, ids[0])
            for number in ids[:1000]:
                replies = [client.get(f"/api/items/{urn}/documents/{number}")]
                if origin is not None:
                    replies.append(viewer.get(f"{origin}/document/{number}", follow_redirects=True))
                for reply in replies:
                    if reply.status_code >= 500:
                        self.findings.faults.append(f"{reply.request.url} was answered with {reply.status_code}.")

    def _replay_origin(self, urn: str, number: int) -> str | None:
        """Return the beginning of the addresses of archived pages, as a browser gets it; None without a browser."""
        chromium = usable_browser()
        if chromium is None:
            return None
        with launched(chromium) as browser, closing(browser.new_context()) as context:
            name, _, secret = self._cookie.partition("=")
            context.add_cookies([{"name": name, "value": secret, "url": self.address}])
            window = context.new_page()
            window.goto(f"{self.address}/items/{urn}/browse?document={number}")
            window.locator("iframe[src^=http]").wait_for(state="attached")
            address = str(window.locator("iframe").get_attribute("src"))
        return address[: address.index(urn) + len(urn)]

    # Sources.

    def read_sources(self, database: Database, stage: str, inputs: Sequence[HostileSource]) -> None:
        """Create sources with the API, and let the stream reader read each once."""
        self.watch.begin(stage)
        links = {f"/{number}": one for number, one in enumerate(inputs)}
        seconds: dict[str, float] = {}
        with RawServer(partial(serve, links, seconds)) as server:
            with ThreadPoolExecutor(REQUESTS_AT_A_TIME) as threads, self.client() as client:
                prefix = re.sub(r"[^a-z]+", "-", stage.lower()).strip("-")
                values = {
                    f"hostile.{prefix}.{path[1:]}": {**one.fields(), "url": f"{server.url}{path[1:]}", "interval": 3600}
                    for path, one in links.items()
                }
                replies = list(threads.map(partial(self._create, client), values.items()))
            names = {}
            for (name, _), one, (status, text, took) in zip(values.items(), inputs, replies, strict=True):
                if status == 201:
                    names[name] = one
                else:
                    self.note(one, f"refused with {status}: {text[:90]}", took)
            self._read_once(database, names, {f"hostile.{prefix}.{path[1:]}": path for path in links}, seconds)

    def _create(self, client: httpx.Client, named: tuple[str, dict[str, Any]]) -> tuple[int, str, float]:
        began = time.perf_counter()
        reply = client.post("/api/streams", json={"name": named[0], **named[1]})
        took = time.perf_counter() - began
        if reply.status_code >= 500:
            self.findings.faults.append(f"Creating {named[1]} was answered with {reply.status_code}.")
            return reply.status_code, "", took
        return reply.status_code, str(reply.json().get("detail", "")), took

    def _read_once(
        self,
        database: Database,
        names: dict[str, HostileSource],
        paths: dict[str, str],
        seconds: dict[str, float],
    ) -> None:
        process = subprocess.Popen(
            [BIN / "scrapy", "crawl", "streams"],
            cwd=ROOT,
            env={**self.place.environment, SECONDS_SETTING: PARSER_SECONDS},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        log: list[str] = []
        reading = threading.Thread(target=lambda: log.extend(process.stderr or ()), daemon=True)
        reading.start()
        end, states = time.monotonic() + READ_SECONDS, dict[str, SourceState]()
        while time.monotonic() < end and process.poll() is None and len(states) < len(names):
            time.sleep(0.5)
            with database.reading() as session:
                rows = session.execute(
                    select(Source.name, SourceState).join(SourceState, SourceState.source_id == Source.id)
                )
                states = {name: state for name, state in rows if name in names and state.status != "new"}
        if process.poll() is not None:
            self.findings.faults.append(f"The stream reader ended with {process.returncode}.")
        process.terminate()
        process.wait()
        reading.join()
        self._note_log("The stream reader", "".join(log))
        for name, one in names.items():
            if name not in states:
                self.findings.faults.append(f"{one.family}, {one.name}: the source was not read.")
                continue
            state = states[name]
            problem = str(state.reason or "")
            self.note(one, f"{state.status}{f': {problem[:90]}' if problem else ''}", seconds.get(paths[name], 0.0))

    # Requests.

    def send(self, database: Database, stage: str, inputs: Sequence[HostileRequest]) -> None:
        """Send requests to the web process."""
        if not any(name == hostile_inputs.SERIES for name in self._source_names(database)):
            number = followed(database, hostile_inputs.SERIES, {"value": "text"})
            for second in range(300):
                at = (int(time.time()) - 3600 + second) * 1_000_000
                was_read(database, number, at, {"": {"value": "a" * 60 + f"!{second}"}})
        self.watch.begin(stage)
        with ThreadPoolExecutor(REQUESTS_AT_A_TIME) as threads:
            for one, (text, seconds) in zip(inputs, threads.map(self._exchange, inputs), strict=True):
                if text.startswith("5"):
                    self.findings.faults.append(f"{one.family}, {one.name} was answered with {text}.")
                self.note(one, text, seconds)

    def _source_names(self, database: Database) -> list[str]:
        with database.reading() as session:
            return list(session.scalars(select(Source.name)))

    def _exchange(self, one: HostileRequest) -> tuple[str, float]:
        """Send the pieces of a request; return the status and the beginning of the detail of its answer."""
        host = self.address.removeprefix("http://")
        began = time.perf_counter()
        received = b""
        with socket.create_connection((host.partition(":")[0], int(host.rpartition(":")[2]))) as connection:
            connection.settimeout(ANSWER_SECONDS)
            try:
                for piece in one.pieces():
                    connection.sendall(piece.replace(b"{host}", host.encode()).replace(b"{token}", self.token.encode()))
                    if one.pause:
                        time.sleep(one.pause)
            except OSError:
                # The server has closed, perhaps after an answer.
                pass
            with suppress(OSError):
                while len(received) < 100_000 and (part := connection.recv(65536)):
                    received += part
        seconds = time.perf_counter() - began
        status = re.match(rb"HTTP/1\.\d (\d+)", received)
        if status is None:
            return ("no answer" if seconds >= ANSWER_SECONDS else "closed"), seconds
        body = received.partition(b"\r\n\r\n")[2].decode(errors="replace")
        detail = re.search(r'"detail":"((?:[^"\\]|\\.){0,90})', body)
        return f"{status[1].decode()}{f': {detail[1]}' if detail else ''}", seconds


def serve(links: Links, seconds: dict[str, float], peer: Any) -> None:
    """Answer requests with the inputs at their paths; note how long each kept its connection."""
    while head := peer.read_request():
        path = head.split(b" ", 2)[1].decode("latin-1").partition("?")[0]
        one, began = links.get(path), time.perf_counter()
        try:
            if one is None:
                peer.write(response(b"", "text/plain", status="404 Not Found"))
            else:
                one.respond(peer)
        finally:
            seconds[path] = max(seconds.get(path, 0.0), time.perf_counter() - began)
        if isinstance(one, HostileResponse):
            return


def in_groups(inputs: Iterable[Any], chosen: argparse.Namespace) -> dict[str, list[Any]]:
    """Return the chosen inputs by family, or all in one group."""
    groups: dict[str, list[Any]] = defaultdict(list)
    for one in inputs:
        if chosen.input in one.name and (not chosen.family or one.family in chosen.family):
            groups[one.family].append(one)
    if not chosen.sample and not chosen.together:
        return groups
    parts = (group[:: max(1, -(-len(group) // (chosen.sample or len(group))))] for group in groups.values())
    everything = list(chain.from_iterable(parts))
    return {"all": everything} if everything else {}


def run(home: Path, chosen: argparse.Namespace, findings: Findings) -> None:
    """Send the inputs, and record the results."""
    one_run = Run(home, findings)
    web = chain(hostile_inputs.all_documents(), hostile_inputs.responses(), hostile_inputs.robots_files())
    kinds: tuple[tuple[Callable[..., None], Iterable[Any], str], ...] = (
        (one_run.send, hostile_inputs.requests(), "requests"),
        (one_run.read_sources, hostile_inputs.all_sources(), "sources"),
        (one_run.collect, web, "documents"),
    )
    with one_run.serving() as database:
        for action, inputs, title in kinds:
            for family, group in in_groups(inputs, chosen).items():
                stage, began = title if family == "all" else f"{family}, as {title}", time.monotonic()
                action(database, stage, group)
                print(f"{stage}: {len(group)} inputs, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
                if chosen.report is not None:
                    chosen.report.write_text(report(findings), encoding="utf-8")


def check_memory(findings: Findings) -> None:
    """Add a fault for each process that exceeded its limit."""
    for stage, peaks in findings.memory.items():
        for kind, megabytes in peaks.items():
            if megabytes > MEMORY_LIMITS_MB[kind]:
                limit = MEMORY_LIMITS_MB[kind]
                findings.faults.append(f"{stage}: {kind} used {megabytes:.0f} MB, and {limit} MB is the limit.")


def check_health(findings: Findings, limit_seconds: float) -> None:
    """Add a fault for each stage in which the health check failed or took too long."""
    for stage in dict.fromkeys(check.stage for check in findings.health):
        checks = [check for check in findings.health if check.stage == stage]
        longest = max(checks, key=lambda check: check.seconds)
        if longest.seconds > limit_seconds:
            late = sum(check.seconds > limit_seconds for check in checks)
            findings.faults.append(
                f"{stage}: /health took {longest.seconds * 1000:.0f} ms, in which the process worked for "
                f"{longest.processor * 1000:.0f} ms; {late} of {len(checks)} checks were too slow."
            )
        if failed := Counter(check.status for check in checks if check.status != 200):
            findings.faults.append(f"{stage}: /health was answered with {dict(failed)}.")


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile of numbers."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def milliseconds(values: Sequence[float]) -> str:
    """Return median, 99th percentile and maximum."""
    return " / ".join(f"{1000 * percentile(values, share):.0f}" for share in (0.5, 0.99, 1.0))


def report(findings: Findings) -> str:
    """Return the tables as Markdown."""
    families = dict.fromkeys(one.family for one in findings.outcomes)
    lines = ["| family | inputs | outcomes | longest |", "|---|---|---|---|"]
    for family in families:
        chosen = [one for one in findings.outcomes if one.family == family]
        # Outcomes without their details.
        kinds = Counter(re.split(r"[:,(]", one.text)[0].strip() for one in chosen)
        shown = ", ".join(f"{kind} {number}×" for kind, number in kinds.most_common())
        lines.append(f"| {family} | {len(chosen)} | {shown} | {max(one.seconds for one in chosen):.1f} s |")
    lines += [
        "",
        f"| stage | {' | '.join(MEMORY_LIMITS_MB)} | health check |",
        "|---" * (2 + len(MEMORY_LIMITS_MB)) + "|",
    ]
    for stage, peaks in findings.memory.items():
        cells = [f"{peaks[kind]:.0f} MB" if kind in peaks else "" for kind in MEMORY_LIMITS_MB]
        checks = [check for check in findings.health if check.stage == stage]
        times = milliseconds([check.seconds for check in checks])
        lines.append(f"| {stage} | {' | '.join(cells)} | {times} | {milliseconds([one.processor for one in checks])} |")
    lines += ["", "| family | input | outcome | time |", "|---|---|---|---|"]
    lines += [
        f"| {one.family} | {_cell(one.name)} | {_cell(one.text)} | {one.seconds:.1f} s |" for one in findings.outcomes
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    plain = "".join(letter if letter.isprintable() else "·" for letter in text)
    return re.sub(r"([|*_`<>\[\]\\{}~])", r"\\\1", re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1", plain))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append", default=[], help="only inputs of this family")
    parser.add_argument("--input", default="", metavar="TEXT", help="only inputs whose names contain this")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="only N inputs of each family, together")
    parser.add_argument("--together", action="store_true", help="families share stages: fewer processes are started")
    parser.add_argument("--health", type=int, default=200, metavar="MS", help="longest health check; 0: any")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the tables there")
    chosen = parser.parse_args()
    os.umask(0o077)
    began = time.monotonic()
    findings = Findings()
    with tempfile.TemporaryDirectory() as home:
        run(Path(home), chosen, findings)
    check_memory(findings)
    if chosen.health:
        check_health(findings, chosen.health / 1000)
    tables = report(findings)
    if chosen.report is not None:
        chosen.report.write_text(tables, encoding="utf-8")
    else:
        print(tables)
    print(
        f"{len(findings.outcomes)} inputs in {time.monotonic() - began:.0f} s; {len(findings.health)} health checks: "
        f"{milliseconds([check.seconds for check in findings.health])} ms (median / 99 % / longest); the process that "
        f"asked was itself delayed by {milliseconds([check.delay for check in findings.health])} ms; "
        f"load average {os.getloadavg()[1]:.1f}."
    )
    print(*(f"FAULT {fault}" for fault in findings.faults), sep="\n")
    sys.exit(bool(findings.faults))


if __name__ == "__main__":
    main()
