"""Which services people may be notified through, and that their requests go nowhere else."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tarantula.accounts.roles import NotAllowed, Person, Role
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.errors import TarantulaError
from tarantula.publications.fields import apprise_plugin
from tarantula.publications.notifications import (
    SERVICES,
    NotificationMessage,
    check_service,
    make_address,
    send_message,
)
from tarantula.services import publications
from tarantula.services.context import ServiceContext
from tarantula.services.notifications import send_trial
from tarantula.services.streams import alerts, sources
from tests.sites.server import Answer, Web
from tests.support.alerts import new_source
from tests.support.crawls import ROOT

BASE = {"base_url": "http://www.fc.ul.pt/"}
SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
DISCORD = f"discord://{'1' * 24}/{'B' * 64}"
TELEGRAM = "tgram://123456789:abcdefg_hijklmnop/12315544"
FORMS: dict[str, tuple[dict[str, str], str]] = {
    "mail": (
        {"to": "b@x.test", "host": "smtp.x.test:465", "user": "ana@x.test", "password": "p/w;d"},
        "mailtos://ana%40x.test:p%2Fw%3Bd@smtp.x.test:465?smtp=smtp.x.test&mode=ssl&from=ana%40x.test&to=b%40x.test",
    ),
    "webhook": ({"url": "https://x.test/hook?a=b;c"}, "jsons://x.test/hook?-a=b%3Bc"),
    "ntfy": (
        {"topic": "storm", "server": "http://n.test:8080", "token": "tk_1"},
        "ntfy://n.test:8080/storm?mode=private&auth=token&token=tk_1",
    ),
    "gotify": ({"server": "g.test", "token": "A" * 15}, f"gotifys://g.test/{'A' * 15}"),
    "slack": ({"url": SLACK.replace("slack://", "https://hooks.slack.com/services/")}, SLACK),
    "discord": ({"url": DISCORD.replace("discord://", "https://discord.com/api/webhooks/")}, DISCORD),
    "telegram": ({"token": "123456789:abcdefg_hijklmnop", "chat": "12315544"}, TELEGRAM),
    "matrix": (
        {"server": "m.test", "user": "u", "password": "p", "room": "#r:m.test"},
        "matrixs://u:p@m.test/%23r%3Am.test",
    ),
    "mattermost": (
        {"url": "https://c.test/hooks/3ccdd113474722377935511fc85d3dd4"},
        "mmosts://c.test/3ccdd113474722377935511fc85d3dd4",
    ),
}
HOSTILE = (
    "syslog://",
    "rsyslog://127.0.0.1",
    "fcm://project/device?mode=oauth2&keyfile=/etc/passwd",
    "fcm://project/device?mode=oauth2&keyfile=http://127.0.0.1/key.json",
    f"{SLACK}?template=/etc/passwd",
    f"{DISCORD}?template=http://169.254.169.254/latest",
    f"{DISCORD.replace('discord://', 'https://discord.com/api/webhooks/')}?Template=/etc/passwd",
    f"{TELEGRAM}?%74emplate=/etc/passwd",
    "json://x.test/?redirect=yes",
    "json://x.test/?rto=100000",
    "json://x.test/?retry=1000",
    "ntfy://x.test/topic?attach=http://10.0.0.5/",
    "xml://x.test/",
)
"""Addresses that name other addresses or files, this machine, or limits of time."""


def contexts(database: Database) -> dict[str, ServiceContext]:
    """Return a context for each role in the pages, one for the command line, and one of a permitted administrator."""
    config = Config()
    roles = {role.value: ServiceContext(config, database, Person("ana", role)) for role in Role}
    administrator = Person("ana", Role.ADMINISTRATOR)
    permitted = config.model_copy(update={"web_components": True})
    return {
        **roles,
        "local": ServiceContext(config, database, administrator, is_local=True),
        "permitted": ServiceContext(permitted, database, administrator),
    }


def attempts(context: ServiceContext, address: str) -> list[Callable[[], Any]]:
    """Return all ways in which a person writes a notification address."""
    field = {"key": "value", "place": {"css": "p"}}
    source = {"name": "new.source", "url": "http://x.test/", "fields": [field], "notify": [address]}
    ways: list[Callable[[], Any]] = [
        lambda: alerts.add_alert(context, "weather.lisboa", {"condition": "wind > 3", "notify": address}),
        lambda: alerts.edit_alert(context, 1, {"notify": [address]}),
        lambda: alerts.send_trial_message(context, address),
    ]
    if context.person.role.allows(Role.CURATOR):
        text = f"[publication.other]\nbase_url = 'http://x.test/'\nnotify = ['{address}']\n"
        ways += [
            lambda: publications.add(context, "other", {**BASE, "notify": [address]}),
            lambda: publications.edit(context, "there", {"notify": [address]}),
            lambda: publications.import_toml(context, text),
            lambda: sources.add_source(context, source),
            lambda: sources.edit_source(context, "weather.lisboa", {"notify": [address]}),
        ]
    return ways


@pytest.mark.parametrize("name", SERVICES)
def test_a_form_makes_an_address_that_is_accepted(name: str) -> None:
    values, address = FORMS[name]
    assert make_address(name, values) == address
    assert apprise_plugin(address) is not None
    check_service(address)
    for missing in (field.key for field in SERVICES[name].fields if field.is_required):
        with pytest.raises(ValueError, match="is empty"):
            make_address(name, {**values, missing: " "})


def test_the_documentation_lists_the_services() -> None:
    rows = [line for line in (ROOT / "docs" / "items.md").read_text().splitlines() if line.count("|") == 4]
    documented = [tuple(re.findall(r"`(\w+)`", row.split("|")[2])) for row in rows]
    assert [schemes for schemes in documented if schemes] == [service.schemes for service in SERVICES.values()]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("webhook", {"url": "file:///etc/passwd"}),
        ("webhook", {"url": "https://[::1"}),
        ("slack", {"url": "https://hooks.slack.com.evil.test/services/A/B/C"}),
        ("discord", {"url": f"https://discord.com/api/webhooks/{'1' * 24}/{'B' * 64}/more"}),
        ("telegram", {"token": "wrong", "chat": "1"}),
        ("gotify", {"server": "ftp://g.test", "token": "A" * 15}),
    ],
)
def test_wrong_values_of_a_form_are_named(name: str, values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"This is not|does not accept these values"):
        make_address(name, values)


@pytest.mark.parametrize("address", HOSTILE)
def test_other_services_and_parameters_are_for_the_command_line(sqlite: Database, address: str) -> None:
    new_source(sqlite, owner="ana")
    people = contexts(sqlite)
    publications.add(people["local"], "there", BASE)
    alerts.add_alert(people["curator"], "weather.lisboa", {"condition": "wind > 3"})
    for role in Role:
        for attempt in attempts(people[role], address):
            with pytest.raises(NotAllowed, match="only on the command line"):
                attempt()
    complaints = publications.check_fields(people["curator"], {**BASE, "notify": address}, "there")
    assert "only on the command line" in complaints["notify"]
    for name in ("local", "permitted"):
        publications.edit(people[name], "there", {"notify": [address]})
    # A stored address stays when another person edits the rest.
    publications.edit(people["curator"], "there", {"notify": [address], "depth": 3})
    assert (
        publications.check_fields(people["curator"], publications.show_publication(people["curator"], "there"), "there")
        == {}
    )
    publications.copy(people["curator"], "there", "copy")
    number = alerts.edit_alert(people["local"], 1, {"notify": [address]}).id
    assert alerts.edit_alert(people["curator"], number, {"notify": [address], "name": "x"}).notify == [address]
    sources.edit_source(people["local"], "weather.lisboa", {"notify": [address]})
    sources.edit_source(people["curator"], "weather.lisboa", {"notify": [address], "title": "x"})


@contextmanager
def counter() -> Iterator[tuple[int, list[int]]]:
    """Listen on loopback; yield the port, and a list with an entry for each connection."""
    accepted: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def listen() -> None:
            while True:
                try:
                    connection, (_, number) = server.accept()
                except OSError:
                    return
                accepted.append(number)
                connection.close()

        threading.Thread(target=listen, daemon=True).start()
        yield port, accepted
        server.shutdown(socket.SHUT_RDWR)


def test_neither_redirects_nor_files_of_an_address_are_followed(sqlite: Database, sqlite_config: Config) -> None:
    """Also for stored addresses of other services: each connection is held to the policy."""
    message = NotificationMessage("title", "body", "info")
    with counter() as (port, accepted), Web({}) as hook:
        hook.routes["/away"] = Answer("", status=307, headers={"Location": f"http://127.0.0.1:{port}/"})
        target = hook.url("/away").replace("http://", "json://")
        context = contexts(sqlite)["curator"]
        with pytest.raises(TarantulaError, match="Refused or not reachable: json"):
            send_trial(context, target)
        for address in (
            f"{target}?redirect=yes",
            f"fcm://project/device?mode=oauth2&keyfile=http://127.0.0.1:{port}/key.json",
            f"{DISCORD}?template=http://127.0.0.1:{port}/template",
            f"json://localhost.test:{port}/",
        ):
            assert not send_message(sqlite_config, message, address)
        assert accepted == []
        assert [visit.path for visit in hook.visits] == ["/away", "/away"]
        # A literal address that a curator wrote is connected to: the counter counts.
        assert not send_message(sqlite_config, message, f"json://127.0.0.1:{port}/")
        assert len(accepted) >= 1
