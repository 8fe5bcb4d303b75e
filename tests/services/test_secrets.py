"""Secrets are encrypted in the database, and appear in clear in no file, log, export or backup."""

from __future__ import annotations

import gzip
import logging
import re
import stat
import tarfile
import threading
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import JSON, insert, select, text, type_coerce

from tarantula.accounts.roles import Person, Role
from tarantula.archive.export.exporter import ExportFormat
from tarantula.core.config import Config
from tarantula.core.database import Database, connect
from tarantula.core.errors import TarantulaError
from tarantula.core.secrets import MissingKey, is_sealed, key_id
from tarantula.models import Alert, Item, Publication, Source
from tarantula.publications.notifications import NotificationMessage, send_message
from tarantula.services import accounts, publications, secrets, tokens
from tarantula.services.context import ServiceContext
from tarantula.services.streams import alerts, sources
from tarantula.store.database import open_database
from tarantula.streams.sources.registry import config_of
from tests.sites.server import Answer, Web
from tests.support.backups import new_database
from tests.support.crawls import SCRAPY, TARANTULA, only_item, run
from tests.support.old_schemas import upgrade
from tests.support.waits import eventually
from tests.support.web_server import WebServer, api_client, web_server

CANARY = "kanarie"
ADDRESS = f"json://user:{CANARY}1@127.0.0.1:1/"
NTFY = f"ntfy://{CANARY}6@127.0.0.1:1/topic"
SOURCE: dict[str, Any] = {
    "name": "site.title",
    "fields": [{"key": "title", "place": {"css": "h1"}}],
    "variables": {"key": f"{CANARY}4", "city": "Lisboa"},
    "headers": {"X-Token": "{key}", "X-City": "{city}"},
    "notify": [NTFY],
    "misses": 1,
    "delay": 0,
}
SETTINGS = {"MAIL_PASS": f"{CANARY}2", "OWN_PROXY": {"url": f"http://u:{CANARY}3@proxy"}, "LOG_VERSIONS": [], "N": 9}
PLANTED = 13
"""Secrets that `plant` stores."""
OTHER_KEY = "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4="


def context_of(config: Config, database: Database, role: Role = Role.ADMINISTRATOR) -> ServiceContext:
    return ServiceContext(config, database, Person("ana", role), is_local=role is Role.ADMINISTRATOR)


def plant(context: ServiceContext, base: str = "http://www.fc.ul.pt/") -> None:
    """Store a secret wherever one is accepted."""
    publications.add(context, "site", {"base_url": base, "delay": 0, "notify": [ADDRESS], "settings": SETTINGS})
    sources.add_source(context, {**SOURCE, "url": f"{base}?a={{key}}"})
    posted = {"adapter": "json", "fields": [{"key": "title", "place": {"path": "title"}}]}
    body = '{"password": "{password}", "city": "Lisboa"}'
    asked = {
        "url": f"{base}post",
        "method": "POST",
        "body": body,
        "headers": {},
        "variables": {"password": f"{CANARY}5"},
    }
    sources.add_source(context, {**SOURCE, **posted, **asked, "name": "site.posted", "notify": []})
    step = {"action": "fill", "where": "#password", "value": "{password}"}
    rendered = {"render": True, "steps": [step], "paused": True, "notify": [], "variables": {"password": f"{CANARY}5"}}
    sources.add_source(context, {**SOURCE, **rendered, "name": "site.rendered", "url": base, "headers": {}})
    alerts.add_alert(
        context, "site.title", {"condition": "title changed", "notify": [f"ntfy://{CANARY}7@127.0.0.1:1/topic"]}
    )


def items_of(database: Database) -> list[Item]:
    """Return all items."""
    with database.reading() as session:
        return list(session.scalars(select(Item)))


def stored(database: Database) -> list[dict[str, Any]]:
    """Return all configurations as they are in the database."""
    with database.reading() as session:
        return [
            found
            for table in (Publication, Item, Source, Alert)
            for found in session.scalars(select(type_coerce(table.configuration, JSON)))
        ]


def test_secrets_are_encrypted_in_the_database(database: Database, database_config: Config) -> None:
    context = context_of(database_config, database)
    plant(context)
    assert len(stored(database)) == 5
    assert CANARY not in str(stored(database))
    assert stored(database)[0]["settings"]["N"] == 9
    assert stat.S_IMODE((database_config.home / "secret.key").stat().st_mode) == 0o600
    fields = publications.get_publication(context, "site")
    assert (fields["notify"], fields["settings"]) == ([ADDRESS], SETTINGS)
    with database.reading() as session:
        source = session.scalars(select(Source).where(Source.name == "site.title")).one()
        assert source.configuration["variables"] == SOURCE["variables"]
        detail = str(session.execute(text("SELECT * FROM audit_entry")).all())
    publications.edit(context, "site", {"settings": {"MAIL_PASS": f"{CANARY}8"}})
    with database.reading() as session:
        detail += str(session.execute(text("SELECT * FROM audit_entry")).all())
    assert CANARY not in detail


def test_readers_and_files_get_no_secrets(database: Database, database_config: Config) -> None:
    context = context_of(database_config, database)
    plant(context)
    assert CANARY not in str(publications.get_publication(context_of(database_config, database, Role.READER), "site"))
    assert CANARY not in str(publications.list_described(context))
    exported = publications.export_toml(context)
    assert CANARY not in exported
    publications.remove(context, "site")
    assert publications.import_toml(context, exported) == ["site"]
    assert publications.get_publication(context, "site")["settings"] == SETTINGS


@pytest.mark.parametrize("key", [None, OTHER_KEY, "no key"])
def test_without_the_key_nothing_is_lost_and_the_rest_works(
    database: Database, database_config: Config, key: str | None
) -> None:
    plant(context_of(database_config, database))
    file = database_config.home / "secret.key"
    right = file.read_text()
    file.unlink()
    if key is not None:
        file.write_text(f"{key}\n")
    with open_database(database_config) as other:
        context = context_of(database_config, other)
        assert all(map(is_sealed, publications.get_publication(context, "site")["notify"]))
        publications.edit(context, "site", {"description": "Still works."})
        with pytest.raises(MissingKey):
            publications.edit(context, "site", {"notify": [ADDRESS]})
        with pytest.raises(TarantulaError):
            secrets.rotate(context)
        assert sum(secrets.status(context).unreadable.values()) == PLANTED
        with other.reading() as session:
            source = config_of(session.scalars(select(Source).where(Source.name == "site.title")).one())
        with pytest.raises(TarantulaError, match="is encrypted with the key"):
            _ = source.address
    file.write_text(right)
    with open_database(database_config) as again:
        fields = publications.get_publication(context_of(database_config, again), "site")
    assert (fields["notify"], fields["settings"], fields["description"]) == ([ADDRESS], SETTINGS, "Still works.")


def test_a_machine_with_another_key_says_so(
    database: Database, database_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(context_of(database_config, database))
    used = key_id((database_config.home / "secret.key").read_text().strip())
    monkeypatch.setenv("TARANTULA_SECRET_KEY", OTHER_KEY)
    code, _, err = run(TARANTULA, "publication", "edit", "site", "--notify", ADDRESS)
    assert code == 2
    assert f"encrypted with the key {used}, and TARANTULA_SECRET_KEY begins with the key {key_id(OTHER_KEY)}" in err
    assert "Traceback" not in err
    assert CANARY not in err


@pytest.mark.parametrize("drop_old", [False, True])
def test_rotation(database: Database, database_config: Config, drop_old: bool) -> None:
    context = context_of(database_config, database)
    plant(context)
    before = (database_config.home / "secret.key").read_text().split()
    with open_database(database_config) as other:
        # A process that has read the old key only.
        assert publications.get_publication(context_of(database_config, other), "site")["notify"] == [ADDRESS]
        assert secrets.rotate(context, drop_old=drop_old) == PLANTED
        fields = publications.get_publication(context_of(database_config, other), "site")
        assert (fields["notify"], fields["settings"]) == ([ADDRESS], SETTINGS)
        publications.edit(context_of(database_config, other), "site", {"notify": [ADDRESS.replace("user", "ana")]})
    after = (database_config.home / "secret.key").read_text().split()
    assert after[1:] == ([] if drop_old else before)
    status = secrets.status(context)
    assert (status.used, status.unreadable) == ([key_id(after[0])], {})
    assert before[0] not in str(stored(database))
    assert f"sealed:{key_id(before[0])}" not in str(stored(database))
    with database.reading() as session:
        assert "secrets.rotate" in session.scalars(text("SELECT action FROM audit_entry")).all()


def test_the_migration_encrypts_what_was_stored_in_clear(
    database_config: Config, request: pytest.FixtureRequest
) -> None:
    url = new_database(database_config, request) or f"sqlite:///{database_config.home / 'old.sqlite'}"
    old = database_config.model_copy(update={"database_url": url})
    store_in_clear(old, 1)
    with open_database(old) as migrated:
        assert CANARY not in str(stored(migrated))
        fields = publications.get_publication(context_of(old, migrated), "p0")
    assert (fields["notify"], fields["settings"]) == ([f"{ADDRESS}0"], SETTINGS)


def test_the_migration_leaves_no_clear_text_in_the_file(config: Config) -> None:
    """SQLite overwrites what the migration replaced."""
    store_in_clear(config, 60)
    assert traces(config.home) != []
    with open_database(config) as migrated, migrated.reading() as session:
        assert len(session.scalars(select(Publication)).all()) == 60
    assert traces(config.home) == []


def store_in_clear(config: Config, number: int) -> None:
    """Make a database of the version before secrets were encrypted, with some publications."""
    with connect(config) as database, database.engine.begin() as connection:
        upgrade(connection, "0015")
        for index in range(number):
            clear = {"notify": [f"{ADDRESS}{index}"], "settings": SETTINGS, "description": "x" * 40 * index}
            values = {
                "id": index + 1,
                "name": f"p{index}",
                "base_url": "http://x.test/",
                "created_at": datetime.now(UTC),
            }
            connection.execute(insert(Publication).values(configuration=type_coerce(clear, JSON), **values))
        assert CANARY in str(connection.execute(text("SELECT configuration FROM publication")).all())


def test_masked_values_that_are_sent_back_keep_the_stored_ones(database: Database, database_config: Config) -> None:
    context = context_of(database_config, database)
    plant(context)
    second = f"ntfy://{CANARY}8@127.0.0.1/other"
    publications.edit(context, "site", {"notify": [ADDRESS, second]})
    shown = publications.show_publication(context, "site")
    assert shown["notify"] == ["json://•••", "ntfy://•••"]
    assert shown["settings"] == {"MAIL_PASS": "•••", "OWN_PROXY": "•••", "LOG_VERSIONS": [], "N": 9}
    assert publications.check_fields(context, shown, "site") == {}
    publications.edit(context, "site", {**shown, "notify": ["ntfy://•••"], "depth": 2})
    after = publications.get_publication(context, "site")
    assert (after["notify"], after["settings"], after["depth"]) == ([second], SETTINGS, 2)
    source = sources.show_source(context, "site.title")
    assert (source["notify"], source["variables"]) == (["ntfy://•••"], {"key": "•••", "city": "Lisboa"})
    sources.edit_source(
        context, "site.title", {"notify": source["notify"], "variables": {**source["variables"], "city": "Porto"}}
    )
    kept = sources.get_source(context, "site.title")
    assert (kept["notify"], kept["variables"]) == ([NTFY], {"key": f"{CANARY}4", "city": "Porto"})
    (alert,) = alerts.list_alerts(context)
    assert alert.masked().notify == ["ntfy://•••"]
    assert alerts.edit_alert(context, alert.id, {"notify": "ntfy://•••", "name": "Other"}).notify == alert.notify
    for wrong in (
        lambda: publications.edit(context, "site", {"notify": ["mailto://•••"]}),
        lambda: publications.edit(context, "site", {"settings": {"OTHER": "•••"}}),
        lambda: sources.edit_source(context, "site.title", {"variables": {"other_key": "•••"}}),
        lambda: alerts.edit_alert(context, alert.id, {"notify": ["ntfy://•••", "ntfy://•••"]}),
    ):
        with pytest.raises(TarantulaError, match="is masked"):
            wrong()


def test_a_password_is_typed_into_a_page_as_a_variable(sqlite: Database, sqlite_config: Config) -> None:
    step = {"action": "fill", "where": "#password", "value": "hunter2"}
    with pytest.raises(TarantulaError, match="The text for #password is a secret") as refused:
        sources.add_source(
            context_of(sqlite_config, sqlite), {**SOURCE, "url": "http://x.test/", "render": True, "steps": [step]}
        )
    assert "hunter2" not in str(refused.value)


def test_logs_of_a_notification_have_no_part_of_its_address(
    sqlite_config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with Web({"/": Answer("")}) as hook:
        host = hook.url("/").partition("://")[2].rstrip("/")
        for address in (
            f"json://user:{CANARY}1@{host}/{CANARY}2?+X-Key={CANARY}3",
            f"json://user:{CANARY}1@127.0.0.1:1/{CANARY}2",
            f"ntfy://{CANARY}1@{host}/{CANARY}2?token={CANARY}3",
            f"nothing://{CANARY}1",
            f"json://{CANARY}1:{CANARY}2@?method={CANARY}3",
        ):
            send_message(sqlite_config, NotificationMessage("title", "body", "info"), address)
    assert "could not be sent" in caplog.text
    assert CANARY not in caplog.text


def traces(folder: Path) -> list[str]:
    """Return the files that contain a planted secret, in clear or compressed."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and _has_canary(path.read_bytes())]


def _has_canary(content: bytes) -> bool:
    if CANARY.encode() in content or b64encode(CANARY.encode())[:-2] in content:
        return True
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(BytesIO(content)) as archive:
            return any(_has_canary(archive.read(name)) for name in archive.namelist())
    if content.startswith(b"\x1f\x8b"):
        return _has_canary(gzip.decompress(content))
    if content[257:262] == b"ustar":
        with tarfile.open(fileobj=BytesIO(content)) as files:
            return any(_has_canary(files.extractfile(one).read()) for one in files if one.isfile())  # type: ignore[union-attr]
    return False


class CommandLines:
    """The command lines of all processes, read in a thread until the end of the block; and what was printed."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> CommandLines:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.02):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    self.seen.add(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))


PATH_VALUES = {"publications": "site", "streams": "site.title", "alerts": "1", "profiles": "everything"}
PAGES = (
    "/", "/publications", "/items", "/items/{urn}", "/items/{urn}/documents", "/items/{urn}/files", "/reports",
    "/sources", "/dashboard", "/alerts", "/audit", "/people", "/servers", "/nowhere",
)  # fmt: skip


def answers(place: WebServer, context: ServiceContext, urn: str) -> Iterator[str]:
    """Yield the answers of all GET routes for each role, of pages that are no forms, and of wrong requests."""
    for role in reversed(Role):
        accounts.add_account(context, f"{role}s", role, "correct horse battery")
        token = tokens.add_token(context, "test", role, account=f"{role}s").secret
        with api_client(place.address, headers={"Authorization": f"Bearer {token}"}) as client:
            paths = client.get("/api/openapi.json").json()["paths"]
            for path in (path.removeprefix("/api") for path, methods in paths.items() if "get" in methods):
                value = PATH_VALUES.get(path.split("/")[1], "1")
                url = "/api" + re.sub(r"\{\w+\}", value, path.replace("{urn}", urn))
                with client.stream("GET", url) as response:
                    # The changes are a stream without an end.
                    if "event-stream" not in response.headers.get("Content-Type", ""):
                        yield f"{role} {url} {response.read().decode(errors='replace')}"
            for change in (
                client.patch(
                    "/api/publications/site", json={"notify": [f"{CANARY}X"], "settings": {"LOG_FILE": f"{CANARY}Y"}}
                ),
                client.patch("/api/publications/site", json={"notify": [f"nothing://{CANARY}X"]}),
                client.post("/api/publications", json={"name": "n", "base_url": "x", "notify": [f"{CANARY}X"]}),
                client.post("/api/publications", json={"name": "n", "notify": [{"a": f"{CANARY}X"}]}),
                client.post("/api/streams", json={**SOURCE, "name": "n", "notify": [f"{CANARY}X"], "url": "x"}),
                client.patch("/api/streams/site.title", json={"notify": [f"{CANARY}X"]}),
                client.post(
                    "/api/alerts", json={"source": "site.title", "condition": "title changed", "notify": [f"{CANARY}X"]}
                ),
            ):
                assert change.status_code >= 400
                yield f"{role} {change.request.url} {change.text}"
    with httpx.Client(base_url=place.address, trust_env=False, follow_redirects=True, timeout=60) as browser:
        browser.get(place.way_in)
        for page in (page.format(urn=urn) for page in PAGES):
            yield f"{page} {browser.get(page).text}"


@pytest.mark.usefixtures("quick_passwords")
def test_secrets_are_in_clear_nowhere(
    sqlite: Database, sqlite_config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in a file of the home, an export, a backup, a log, an answer, or the command line of a process."""
    printed: list[str] = []

    def done(*command: str, expected: tuple[int, ...] = (0,), **environment: str) -> str:
        code, out, err = run(*command, **environment)
        assert code in expected, (command, out, err)
        assert "Traceback" not in err, err
        printed.append(f"{command} {out} {err}")
        return out

    monkeypatch.setenv("TARANTULA_NOTIFY", f"json://user:{CANARY}A@127.0.0.1:1/")
    context = context_of(sqlite_config, sqlite)
    debug = ("-s", "LOG_LEVEL=DEBUG")
    pages = {"/": Answer("<h1>One</h1><a href=b>b</a>"), "/b": Answer("b"), "/post": Answer('{"title": "One"}')}
    with CommandLines() as processes:
        with Web(pages) as site:
            plant(context, site.url("/"))
            done(TARANTULA, "crawl", "site")
            urn = only_item(sqlite).urn
            done(SCRAPY, "crawl", "site", *debug)
            done(TARANTULA, "stream", "poll", "site.title")
            done(TARANTULA, "stream", "poll", "site.posted")
            monkeypatch.setenv("COLD_STARTS", "1")
            with web_server(command="serve") as place:
                publications.collect_now(context, "site")
                printed += answers(place, context, urn)
                eventually(lambda: all(item.state in ("archived", "interrupted") for item in items_of(sqlite)))
            monkeypatch.delenv("COLD_STARTS")
            site.routes["/"] = Answer("<h1>Two</h1>")
            done(TARANTULA, "stream", "poll", "site.title")
            proxy = site.url("/").replace("http://", f"http://user:{CANARY}B@")
            done(
                SCRAPY,
                "crawl",
                "site",
                *debug,
                http_proxy=proxy,
                no_proxy="",
                TARANTULA_PROXY_GUARDS="1",
                expected=(0, 3),
            )
        # The servers are gone: failures are logged too.
        done(TARANTULA, "stream", "poll", "site.title", expected=(0, 1))
        done(TARANTULA, "stream", "poll", "site.posted", expected=(0, 1))
        dead = f"http://user:{CANARY}C@127.0.0.1:1/"
        done(SCRAPY, "crawl", "site", *debug, http_proxy=dead, no_proxy="", TARANTULA_PROXY_GUARDS="1", expected=(0, 3))
        for form in ExportFormat:
            done(TARANTULA, "item", "export", urn, "--format", form)
        unreachable = f"postgresql://user:{CANARY}D@127.0.0.1:1/none"
        done(TARANTULA, "items", expected=(2,), TARANTULA_DATABASE_URL=unreachable)
        for command in (
            ("publication", "list", "--json"), ("publication", "show", "site", "--json"),
            ("publication", "show", "site"), ("publication", "export"), ("item", "show", urn, "--json"),
            ("items", "--json"), ("stream", "list", "--json"), ("stream", "show", "site.title"),
            ("stream", "show", "site.posted", "--json"), ("stream", "describe"),
            ("stream", "alert", "list", "--json"), ("stream", "alert", "show", "1"), ("stream", "events", "site.title"),
            ("secrets", "status", "--json"), ("backup", str(tmp_path / "backup")),
        ):  # fmt: skip
            done(TARANTULA, *command)
    assert len(list((sqlite_config.home / "exports").iterdir())) >= len(ExportFormat)
    assert [line[:300] for text in printed for line in text.splitlines() if CANARY in line] == []
    assert [line for line in processes.seen if CANARY in line] == []
    # The collector that the server started was among them.
    assert any("item=site-" in line for line in processes.seen), processes.seen
    assert traces(tmp_path) == []
    key = (sqlite_config.home / "secret.key").read_text().strip()
    assert [line for text in (*printed, *processes.seen) for line in text.splitlines() if key in line] == []
    monkeypatch.setenv("TARANTULA_HOME", str(tmp_path / "restored"))
    done(TARANTULA, "restore", str(tmp_path / "backup"))
    out = done(TARANTULA, "secrets", "status", expected=(1,))
    assert "cannot be read: the key" in out
    done(SCRAPY, "crawl", "site", expected=(2,))
    assert "is encrypted with the key" in printed[-1]
    done(TARANTULA, "publication", "edit", "site", "--set", f"MAIL_PASS={CANARY}", expected=(2,))
    # The key is kept apart from the backup, and put back.
    assert not [
        path for path in (tmp_path / "backup").rglob("*") if path.is_file() and key.encode() in path.read_bytes()
    ]
    (tmp_path / "restored" / "secret.key").write_text(f"{key}\n")
    done(TARANTULA, "secrets", "status")
    with open_database(Config()) as restored:
        assert publications.get_publication(context_of(Config(), restored), "site")["settings"] == SETTINGS
