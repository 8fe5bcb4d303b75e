"""No command passes control characters of the web or of people to a terminal or to a log."""

from __future__ import annotations

import json
import logging
import os
import pty
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.text import Text
from sqlalchemy import select

from tarantula.accounts import accounts
from tarantula.accounts.roles import Role
from tarantula.cli import main
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.output import SafeConsole, SafeLogRecord, SafeStream, escape_controls
from tarantula.models import Document, Server
from tests.docs.test_docs import tree
from tests.sites.server import Answer, Web
from tests.support.alerts import new_alert
from tests.support.archived_items import archive, page
from tests.support.command_result import Tarantula
from tests.support.crawls import SCRAPY, TARANTULA, describe, only_item
from tests.support.followed_sources import followed, now, was_doubted, was_read
from tests.support.waits import TIMEOUT_SECONDS
from tests.support.warm_processes import WarmProcess

EVIL = "\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b]8;;http://evil.example/\x07\x1b[31m\x9b2J\x90\x7f\u202e\u2066\u2028."
FORGED = "\n2026-01-01 00:00:00 [forged] INFO: owned"
NEVER = re.compile("\x1b[^\\[]|\x07|[\x80-\x9f\x7f\u2028-\u202e\u2066-\u2069]|\x1b\\[2J|\x1b\\[31mevil")
"""What Rich never writes itself; its colours and movements of the cursor are CSI sequences."""
NOT_RUN = {
    "barrel", "crawl", "gateway", "item resume", "revisit estimators", "revisit figures", "revisit simulate", "serve",
    "stream poll", "stream read", "web",
}  # fmt: skip
"""Commands that serve, collect or compute for long: only their complaints are read here."""


class Terminal:
    """A pseudo-terminal, and what was written to it."""

    def __init__(self) -> None:
        self._master, self.file = pty.openpty()
        self._written = bytearray()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        try:
            while data := os.read(self._master, 65536):
                self._written += data
        except OSError:
            pass  # The last writer has closed it.

    def written(self) -> str:
        """Close the terminal; return everything that was written to it."""
        os.close(self.file)
        self._thread.join()
        os.close(self._master)
        return self._written.decode("utf-8", "surrogateescape")


def on_terminal(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a command in this process on a pseudo-terminal; return what it wrote."""
    terminal = Terminal()
    with open(terminal.file, "w", encoding="utf-8", closefd=False) as stream, monkeypatch.context() as patch:
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLUMNS", "200")
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "stderr", stream)
        with pytest.raises(SystemExit):
            main(arguments)
        sys.stdout.flush()
    return terminal.written()


@pytest.fixture
def urns(sqlite: Database, config: Config) -> tuple[str, str]:
    """Two items and a source whose texts are hostile."""
    pages = [f"<title>evil {number}{EVIL}</title><p>word{EVIL}{number}".encode() for number in range(2)]
    first = archive(sqlite, config, [page("", pages[0]), page("a", pages[0])])
    second = archive(sqlite, config, [page("", pages[1]), page("a", pages[1])], months=1)
    source = followed(sqlite, "evil.source", {"value": "text", "number": "decimal"}, title=f"evil{EVIL}")
    was_read(sqlite, source, now(), {f"row{EVIL}": {"value": f"evil{EVIL}", "number": "1"}})
    was_doubted(sqlite, source, "value", "", f"evil{EVIL}")
    new_alert(sqlite, "number > 0", "evil.source", name=f"evil{EVIL}")
    with sqlite.session() as session:
        accounts.add(session, "ana", Role.ADMINISTRATOR, "correct horse battery")
        for document in session.scalars(select(Document)):
            document.type = f"evil{EVIL}"
        for row in session.scalars(select(Document).where(Document.url.endswith("/a"))):
            row.url += EVIL
        session.add(Server(name=f"evil.example{EVIL}"))
    return first, second


def test_no_command_passes_control_characters_to_a_terminal(
    urns: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments: dict[str, list[list[str]]] = {
        "backup": [["backup"]],
        "diff": [[*urns], [*urns, "--text"], [*urns, "--json"]],
        "documents": [[urns[0]], [urns[0], "--jsonl"]],
        "item show": [[urns[0]], [urns[0], "--json"]],
        "publication add": [["evil2", f"http://a.example/{EVIL}"]],
        "publication show": [["fcul"]],
        "report": [[urns[0]], [urns[0], "--json"]],
        "search": [["word"], ["word", "--json"], [EVIL]],
        "servers": [[urns[0]], [urns[0], "--json"]],
        "stream alert show": [["1"]],
        "stream alert test": [["1"]],
        "stream events": [["evil.source"], ["evil.source", "--json"]],
        "stream export": [["evil.source"], ["evil.source", "--format", "json"]],
        "stream history": [["evil.source", "value"], ["evil.source", "number"]],
        "stream show": [["evil.source"], ["evil.source", "--json"]],
        "user add": [[f"evil{EVIL}"]],
        "verify": [[urns[0]], [urns[0], "--json"]],
        "why": [["fcul", f"http://www.fc.ul.pt/{EVIL}"]],
        "withholding add": [[f"http://www.fc.ul.pt/{EVIL}", "--why", EVIL]],
    }
    assert arguments.keys() | NOT_RUN <= tree().keys()
    seen = ""
    for path in sorted(tree()):
        runs = [[f"--evil{EVIL}"]] if path in NOT_RUN else [[EVIL], *arguments.get(path, [[]])]
        for words in runs:
            shown = on_terminal(*path.split(), *words, monkeypatch=monkeypatch)
            assert not NEVER.search(shown), (path, words, NEVER.search(shown), shown)
            seen += shown
    # The texts were there, and shown as escapes.
    assert seen.count(r"\u001b") > len(tree())


def test_json_on_a_terminal_has_the_exact_text(urns: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    shown = json.loads(on_terminal("stream", "list", "--json", monkeypatch=monkeypatch))
    assert [row["title"] for row in shown] == [f"evil{EVIL}"]
    lines = on_terminal("documents", urns[0], "--jsonl", monkeypatch=monkeypatch).splitlines()
    assert any(json.loads(line)["url"].endswith(EVIL) for line in lines)


def test_bytes_are_raw_in_a_pipe_and_escaped_on_a_terminal(tmp_path: Path) -> None:
    data = "é\x1b[31m\x9b".encode() + b"\xff\r\n"
    with (tmp_path / "pipe").open("w", encoding="utf-8") as file:
        SafeStream(file).buffer.write(data)
    assert (tmp_path / "pipe").read_bytes() == data
    terminal = Terminal()
    with open(terminal.file, "w", encoding="utf-8", closefd=False) as stream:
        buffer = SafeStream(stream).buffer
        for number in data:
            buffer.write(bytes([number]))
    shown = terminal.written()
    assert shown.startswith(r"é\u001b[31m\u009b\xff")


def test_rich_interprets_no_markup_and_sets_no_link(capsys: pytest.CaptureFixture[str]) -> None:
    console = SafeConsole(force_terminal=True, width=300)
    console.print(f"[link=http://evil.example/]x[/link] :warning: {EVIL}")
    console.print(Text(f"evil{EVIL}", style="bold"))
    shown = capsys.readouterr().out
    assert "[link=http://evil.example/]x[/link] :warning: " in shown
    assert not NEVER.search(shown)
    assert escape_controls("a\tb\n") == "a\tb\n"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[logging.Logger, Path]]:
    """A logger with a file of its own, whose records are made as in the program."""
    logger, factory = logging.getLogger("tests.output"), logging.getLogRecordFactory()
    handler = logging.FileHandler(tmp_path / "log", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logging.setLogRecordFactory(SafeLogRecord)
    logger.addHandler(handler)
    yield logger, tmp_path / "log"
    logger.removeHandler(handler)
    handler.close()
    logging.setLogRecordFactory(factory)


def test_foreign_text_begins_no_line_of_a_log(log: tuple[logging.Logger, Path]) -> None:
    logger, file = log
    logger.error("Not read: %s", f"x{EVIL}{FORGED}\ud800")
    logger.error(f"x{EVIL}{FORGED}")
    logger.error("Several lines:\n%s", f"x{EVIL}{FORGED}")
    try:
        raise ValueError(f"x{EVIL}{FORGED}")
    except ValueError:
        logger.exception("It failed: %s", "y")
    written = file.read_text(encoding="utf-8")
    assert written.count("owned") > 4
    assert not NEVER.search(written)
    starts = [line for line in written.split("\n") if line and not line.startswith("    ")]
    assert len(starts) == 4
    assert not any(line.startswith("2026-01-01 00:00:00") for line in starts)


def test_a_collection_of_a_hostile_site(sqlite: Database, config: Config, tarantula: Tarantula) -> None:
    wire = EVIL.encode().decode("latin-1")
    links = "".join(f'<a href="/{name}{EVIL}">' for name in ("moved", "a", "b"))
    site = {
        "/robots.txt": Answer(f"User-agent: *{EVIL}\nSitemap: /map.xml{EVIL}\nCrawl-delay: x{EVIL}\n", "text/plain"),
        "/": Answer(
            f"<title>evil{EVIL}</title><p class=value>evil{EVIL}</p>{links}<a href='/moved'><a href='/odd'>",
            headers={"Server": EVIL},
        ),
        "/moved": Answer(status=302, headers={"Location": f"/to{EVIL}", "X": wire}),
        "/odd": Answer("x", type=f"text/ht{EVIL}ml"),
    }
    with Web(site) as web:
        describe(sqlite, "evil", base_url=web.url(), description=EVIL)
        followed(sqlite, "evil.source", {"value": "text"}, url=web.url())
        commands = ("tarantula crawl evil", "tarantula stream poll evil.source", f"scrapy fetch {web.url()}",
                    f"scrapy parse {web.url()}", "scrapy list")  # fmt: skip
        for program, *words in map(str.split, commands):
            command = [{"scrapy": SCRAPY, "tarantula": TARANTULA}[program], *words]
            terminal = Terminal()
            environment = {**os.environ, "no_proxy": "*", "TERM": "xterm-256color", "COLUMNS": "200"}
            with WarmProcess(command, stdout=os.dup(terminal.file), stderr=os.dup(terminal.file), env=environment,
                             cwd=Path(__file__).parents[2]) as process:  # fmt: skip
                process.wait(TIMEOUT_SECONDS)
            shown = terminal.written()
            assert shown
            assert not NEVER.search(shown), (command, NEVER.search(shown), shown)
    logs = [path.read_text(encoding="utf-8") for path in config.home.rglob("*.log")]
    assert logs
    assert only_item(sqlite).urn in "".join(logs)
    assert not any(NEVER.search(text) for text in logs)
