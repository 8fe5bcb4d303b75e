"""Notifications of a publication: events, recipients, and the services that deliver."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit
from urllib.request import getproxies

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
from tarantula.core.secrets import check_readable, mask
from tarantula.fetch.egress import LOCALHOST, EgressPolicy, NamedAddress, guarded_sockets
from tarantula.fetch.names import look_up
from tarantula.fetch.request import parse_proxy
from tarantula.publications.fields import apprise_plugin, redacted_logs

logger = logging.getLogger(__name__)

MAX_TRIES = 6
"""Tries for each address."""
FIRST_RETRY_PAUSE = timedelta(minutes=1)
"""Pause before the second try; each further pause is twice as long."""
CLAIM_TIMEOUT = timedelta(minutes=5)
"""Time after which another process may send a notification whose claimer has died."""
LOOPBACK = ("127.0.0.1", "::1")
SEND_BUDGET_SECONDS = 5.0
"""Time after which a call starts no further message, so that its caller can continue."""
COMMON_PARAMETERS = frozenset({"emojis", "format", "image", "overflow", "tz", "verify"})
HTTP_SCHEMES = {"http": False, "https": True}
SMTP_TLS_PORT = "465"


class NotificationMessage(NamedTuple):
    """A message to be sent."""

    title: str
    body: str
    kind: str
    """Apprise's type: info, success, warning, failure."""


def notification_host(plugin: Any) -> str:
    """Return the host that a plugin of Apprise sends to; empty if it is that of a service."""
    host = getattr(plugin, "smtp_host", None) or getattr(plugin, "host", None)
    return host.strip("[]") if isinstance(host, str) else ""


def notification_policy(installation: Config, plugin: Any) -> EgressPolicy:
    """Return where messages may go: to public servers, to the address itself if it is no name, and to the proxies."""
    host, port = notification_host(plugin), getattr(plugin, "port", None)
    hosts = LOOPBACK if host == LOCALHOST else (host,)
    named = [NamedAddress(one, frozenset({port} if port else ())) for one in hosts]
    return EgressPolicy.of(installation, patterns=[*filter(NamedAddress.is_literal, named), *_proxies()])


def _proxies() -> Iterator[NamedAddress]:
    """Yield the addresses of the proxies in the environment, which Apprise uses."""
    for scheme, url in getproxies().items():
        if scheme != "no":
            proxy = parse_proxy(url)
            yield from (NamedAddress(address, frozenset({proxy.port})) for address in look_up(proxy.host))


def send_message(installation: Config, message: NotificationMessage, address: str) -> bool:
    """Send a message to one address; return whether it was sent."""
    try:
        check_readable(address)
    except TarantulaError as error:
        logger.warning("The notification %r could not be sent. %s", message.title, error)
        return False
    plugin = apprise_plugin(address)
    if plugin is None:
        logger.warning("The notification %r could not be sent to %s.", message.title, mask(address))
        return False
    with redacted_logs(address), guarded_sockets(notification_policy(installation, plugin)) as refused:
        try:
            # As text: it has texts of strangers, which e-mail would show as HTML. By the plugin itself, in this thread,
            # for whose sockets the policy holds: `Apprise.notify` uses another one.
            sent = bool(plugin.notify(message.body, message.title, message.kind, body_format="text"))
        except Exception as error:
            # Apprise has plugins for a hundred services, which raise exceptions of their own.
            # Without a traceback: its text may have the address with its password.
            logger.error("A notification failed: %s.", type(error).__name__)
            sent = False
    if not sent:
        why = " ".join(map(str, refused))
        logger.warning(
            "The notification %r could not be sent to %s.%s", message.title, mask(address), why and f" {why}"
        )
    return sent


def is_notice_due(stored: dict[str, Any] | None, now: datetime) -> bool:
    """Whether a stored notification exists and its next try is due."""
    return stored is not None and datetime.fromisoformat(stored.get("after") or now.isoformat()) <= now


def pending_addresses(stored: dict[str, Any], addresses: Iterable[str]) -> list[str]:
    """Return the addresses that were not reached yet, without duplicates."""
    reached = stored.get("told", ())
    return [address for address in dict.fromkeys(addresses) if _digest(address) not in reached]


def postpone_notice(
    stored: dict[str, Any], tried: Iterable[str], failed: Iterable[str], now: datetime
) -> dict[str, Any] | None:
    """Return the JSON of a notification that is retried later; ``None`` after the last try."""
    tries, failed = stored.get("tries", 0) + 1, set(failed)
    if tries >= MAX_TRIES or not failed:
        return None
    # Digests only: an address may contain a password, and belong to another person.
    reached = [_digest(address) for address in tried if address not in failed]
    return {
        **stored,
        "told": [*stored.get("told", ()), *reached],
        "deaf": service_names(failed),
        "tries": tries,
        "after": (now + FIRST_RETRY_PAUSE * 2 ** (tries - 1)).isoformat(),
    }


def service_names(addresses: Iterable[str]) -> list[str]:
    """Return the services of addresses, such as ``mailto``, without the rest, which may contain a password."""
    return sorted({address.partition("://")[0] for address in addresses})


def _digest(address: str) -> str:
    return sha256(address.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class FormField:
    """One line of the form of a service."""

    key: str
    label: Message
    is_required: bool = True
    is_secret: bool = False
    example: str = ""


@dataclass(frozen=True)
class NotificationService:
    """A service, with the form from which its address is made."""

    name: str
    label: Message
    schemes: tuple[str, ...]
    fields: tuple[FormField, ...]
    make: Callable[[Mapping[str, str]], str]
    """Returns the address of the values of the form; raises `ValueError` with a message."""
    parameters: frozenset[str] = field(default_factory=frozenset)
    """Parameters of an address, besides the common ones; ``+``, ``-`` and ``:`` mean those that begin so."""


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _server(text: str) -> tuple[str, bool]:
    """Return host and port of a typed server, and whether it uses TLS."""
    parsed = urlsplit(text if "://" in text else f"https://{text}")
    _check_http(parsed)
    return parsed.netloc.rpartition("@")[2], HTTP_SCHEMES[parsed.scheme]


def _check_http(parsed: SplitResult) -> None:
    if parsed.scheme not in HTTP_SCHEMES or not parsed.hostname:
        raise ValueError(Message("This is not a web address. Write it as https://example.org/path."))


def _parts_after(url: str, host: str, beginning: str, number: int) -> list[str]:
    """Return the last parts of the path of a webhook's URL."""
    parsed = urlsplit(url)
    _check_http(parsed)
    parts = [part for part in parsed.path.split("/") if part]
    start = beginning.strip("/").split("/")
    if (host and parsed.hostname != host) or parts[: len(start)] != start or len(parts) != len(start) + number:
        raise ValueError(Message("This is not the URL of a webhook of this service. Copy it as the service shows it."))
    return parts[len(start) :]


def _mail(values: Mapping[str, str]) -> str:
    host, port = values["host"].partition(":")[::2]
    sender = values.get("from") or values["user"]
    login = f"{_quoted(values['user'])}:{_quoted(values['password'])}"
    mode = "ssl" if port == SMTP_TLS_PORT else "starttls"
    server = f"{host}:{port}" if port else host
    return f"mailtos://{login}@{server}?smtp={host}&mode={mode}&from={_quoted(sender)}&to={_quoted(values['to'])}"


def _webhook(values: Mapping[str, str]) -> str:
    parsed = urlsplit(values["url"])
    _check_http(parsed)
    query = "&".join(f"-{_quoted(key)}={_quoted(value)}" for key, value in parse_qsl(parsed.query, True))
    scheme = "jsons" if HTTP_SCHEMES[parsed.scheme] else "json"
    return f"{scheme}://{parsed.netloc}{parsed.path or '/'}{query and f'?{query}'}"


def _ntfy(values: Mapping[str, str]) -> str:
    host, tls = _server(values.get("server") or "ntfy.sh")
    token = f"&auth=token&token={_quoted(values['token'])}" if values.get("token") else ""
    return f"{'ntfys' if tls else 'ntfy'}://{host}/{_quoted(values['topic'])}?mode=private{token}"


def _gotify(values: Mapping[str, str]) -> str:
    host, tls = _server(values["server"])
    return f"{'gotifys' if tls else 'gotify'}://{host}/{_quoted(values['token'])}"


def _slack(values: Mapping[str, str]) -> str:
    return f"slack://{'/'.join(_parts_after(values['url'], 'hooks.slack.com', '/services', 3))}"


def _discord(values: Mapping[str, str]) -> str:
    return f"discord://{'/'.join(_parts_after(values['url'], 'discord.com', '/api/webhooks', 2))}"


def _telegram(values: Mapping[str, str]) -> str:
    return f"tgram://{values['token']}/{_quoted(values['chat'])}"


def _matrix(values: Mapping[str, str]) -> str:
    host, tls = _server(values["server"])
    login = f"{_quoted(values['user'])}:{_quoted(values['password'])}"
    return f"{'matrixs' if tls else 'matrix'}://{login}@{host}/{_quoted(values['room'])}"


def _mattermost(values: Mapping[str, str]) -> str:
    (token,) = _parts_after(values["url"], "", "/hooks", 1)
    host, tls = _server(values["url"])
    return f"{'mmosts' if tls else 'mmost'}://{host}/{_quoted(token)}"


_WEBHOOK = Message("URL of the webhook")
_PASSWORD = Message("Password")
_TOKEN = Message("Token")
_USER = Message("User name")
_SERVER = Message("Server")
SERVICES = {
    service.name: service
    for service in (
        NotificationService(
            "mail",
            Message("E-mail"),
            ("mailto", "mailtos"),
            (
                FormField("to", Message("To"), example="ana@example.org"),
                FormField("host", Message("SMTP server"), example="smtp.example.org:587"),
                FormField("user", _USER),
                FormField("password", _PASSWORD, is_secret=True),
                FormField("from", Message("From"), is_required=False, example="tarantula@example.org"),
            ),
            _mail,
            frozenset({"bcc", "cc", "from", "mode", "name", "pass", "reply", "smtp", "to", "user"}),
        ),
        NotificationService(
            "webhook",
            Message("Webhook (JSON)"),
            ("json", "jsons"),
            (FormField("url", _WEBHOOK, is_secret=True, example="https://example.org/hook"),),
            _webhook,
            frozenset({"method", "+", "-", ":"}),
        ),
        NotificationService(
            "ntfy",
            Message("ntfy"),
            ("ntfy", "ntfys"),
            (
                FormField("topic", Message("Topic")),
                FormField("server", _SERVER, is_required=False, example="https://ntfy.sh"),
                FormField("token", _TOKEN, is_required=False, is_secret=True),
            ),
            _ntfy,
            frozenset({"auth", "click", "delay", "email", "mode", "priority", "tags", "to", "token", "xtags"}),
        ),
        NotificationService(
            "gotify",
            Message("Gotify"),
            ("gotify", "gotifys"),
            (
                FormField("server", _SERVER, example="https://gotify.example.org"),
                FormField("token", _TOKEN, True, True),
            ),
            _gotify,
            frozenset({"priority"}),
        ),
        NotificationService(
            "slack",
            Message("Slack"),
            ("slack",),
            (FormField("url", _WEBHOOK, is_secret=True, example="https://hooks.slack.com/services/…"),),
            _slack,
            frozenset({"footer", "mode", "timestamp", "to", "token"}),
        ),
        NotificationService(
            "discord",
            Message("Discord"),
            ("discord",),
            (FormField("url", _WEBHOOK, is_secret=True, example="https://discord.com/api/webhooks/…"),),
            _discord,
            frozenset({"avatar", "botname", "fields", "footer", "footer_logo", "href", "ping", "thread", "tts", "url"}),
        ),
        NotificationService(
            "telegram",
            Message("Telegram"),
            ("tgram",),
            (FormField("token", Message("Token of the bot"), is_secret=True), FormField("chat", Message("Chat"))),
            _telegram,
            frozenset({"content", "detect", "mdv", "preview", "silent", "thread", "to", "topic"}),
        ),
        NotificationService(
            "matrix",
            Message("Matrix"),
            ("matrix", "matrixs"),
            (
                FormField("server", _SERVER, example="https://matrix.example.org"),
                FormField("user", _USER),
                FormField("password", _PASSWORD, is_secret=True),
                FormField("room", Message("Room"), example="#room:example.org"),
            ),
            _matrix,
            frozenset({"discovery", "hsreq", "mode", "msgtype", "path", "to", "token", "v", "version"}),
        ),
        NotificationService(
            "mattermost",
            Message("Mattermost"),
            ("mmost", "mmosts"),
            (FormField("url", _WEBHOOK, is_secret=True, example="https://chat.example.org/hooks/…"),),
            _mattermost,
            frozenset({"botname", "channel", "channels", "icon_url", "mode", "team", "to"}),
        ),
    )
}
SERVICE_OF_SCHEME = {scheme: service for service in SERVICES.values() for scheme in service.schemes}


def make_address(name: str, values: Mapping[str, str]) -> str:
    """Return the address of a filled form; raise `ValueError` with a message for a missing or wrong value."""
    service, given = SERVICES[name], {key: value.strip() for key, value in values.items() if value.strip()}
    for one in service.fields:
        if one.is_required and one.key not in given:
            raise ValueError(Message("The field {field!r} is empty. Fill it in.", field=one.label))
    try:
        address = service.make(given)
    except ValueError as error:
        # Of Python's own errors, as of a wrong port, the text may have a password.
        text = error.args[0] if error.args and isinstance(error.args[0], Message) else None
        raise ValueError(text or Message("This is not a web address. Write it as https://example.org/path.")) from None
    # A semicolon separates addresses.
    address = address.replace(";", "%3B")
    if apprise_plugin(address) is None:
        raise ValueError(
            Message(
                "{service} does not accept these values. Compare them with those that it shows.", service=service.label
            )
        )
    return address


def check_service(address: str) -> None:
    """Raise `ValueError` for an address of a service, or with a parameter, that is not in the list."""
    scheme, separator, _ = address.partition("://")
    if not separator:
        # The validator of the field says so; the text may be a password.
        return
    scheme = scheme.lower()
    # Some services have URLs of their own. No other plugin is created before it is known who wrote the address.
    if scheme in HTTP_SCHEMES and (plugin := apprise_plugin(address)) is not None:
        scheme = str(plugin.url()).partition("://")[0]
    service = SERVICE_OF_SCHEME.get(scheme)
    if service is None:
        raise ValueError(
            Message(
                "Notifications through {service!r} can be set up only on the command line. "
                "Here these can be used: {services}.",
                service=scheme[:20],
                services=", ".join(sorted(SERVICE_OF_SCHEME)),
            )
        )
    permitted = service.parameters | COMMON_PARAMETERS
    for name in _parameters(address):
        if name not in permitted and name[:1] not in permitted:
            raise ValueError(
                Message(
                    "The parameter {name!r} of an address of {service} can be set only on the command line. Remove it.",
                    name=name[:20],
                    service=service.label,
                )
            )


def _parameters(address: str) -> set[str]:
    """Return the names of the parameters of an address as Apprise reads them."""
    from apprise import URLBase

    parse: Any = URLBase.parse_url
    found = parse(address, verify_host=False) or {}
    return {name for name in map(str.strip, found.get("qsd", {})) if name}
