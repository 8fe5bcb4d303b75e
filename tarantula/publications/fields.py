"""Field types of a publication's configuration, with their validators."""

from __future__ import annotations

import json
import logging
import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from threading import get_ident
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import AfterValidator, BeforeValidator, ValidationInfo

from tarantula.core.messages import Message
from tarantula.core.secrets import MASK, check_unmasked, is_sealed
from tarantula.core.times import parse_duration, parse_moment, parse_period, parse_zone, zone_named
from tarantula.core.urls import MAX_HOST_LENGTH, MAX_URL_LENGTH, canonical, is_web
from tarantula.fetch.egress import EgressPolicy, guarded_sockets
from tarantula.frontier.strategies import STRATEGIES
from tarantula.publications.attention import check_rule
from tarantula.publications.patterns import parse_pattern
from tarantula.publications.scrapy_settings import COMPONENT_SETTINGS


@contextmanager
def redacted_logs(address: str) -> Iterator[None]:
    """Mask the parts of an address in what Apprise logs in this thread; leave out details, which have headers."""
    parts = {part for text in (address, unquote(address)) for part in _ADDRESS_PARTS.split(text.partition("://")[2])}
    longest_first, thread = sorted(filter(None, parts), key=len, reverse=True), get_ident()

    def redact(record: logging.LogRecord) -> bool:
        if record.thread != thread:
            return True
        text = record.getMessage()
        for part in longest_first:
            text = text.replace(part, MASK)
        record.msg, record.args, record.exc_info = text, (), None
        return record.levelno >= logging.WARNING

    loggers = [logging.getLogger(name) for name in ("apprise", "urllib3.connectionpool", "urllib3.util.retry")]
    for logger in loggers:
        logger.addFilter(redact)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(redact)


def apprise_plugin(address: str) -> Any:
    """Return Apprise's plugin for an address, or ``None`` if it is not supported."""
    # Nor may an address lead anywhere before it is known who wrote it.
    with warnings.catch_warnings(), redacted_logs(address), guarded_sockets(EgressPolicy()):
        # Some plugins import modules that are deprecated in newer versions of Python.
        warnings.simplefilter("ignore")
        from apprise import Apprise, AppriseAsset

        plugin = Apprise.instantiate(address, asset=AppriseAsset(http_redirects=False))
        if plugin is not None:
            # Whatever the address says: a redirect would take the message, and its credentials, elsewhere.
            plugin.redirects = False
        return plugin


_ADDRESS_PARTS = re.compile(r"[/:@?&=;,#]+")


def check_notification_address(address: str) -> str:
    """Refuse an address that Apprise does not support; one whose key is missing is kept."""
    if is_sealed(address):
        return address
    check_unmasked("notify", address)
    # Addresses may contain passwords: messages show only the scheme.
    scheme, separator, _ = address.partition("://")
    if not separator:
        raise ValueError(
            Message("A notification address begins with a service, as in mailto://user:password@example.org.")
        )
    if apprise_plugin(address) is None:
        raise ValueError(
            Message(
                "Apprise does not support addresses that start with {scheme!r}. "
                "Write it as mailto://user:password@example.org or json://host/path.",
                scheme=scheme[:20],
            )
        )
    return address


MAX_ADDRESSES = 100
"""Maximum number of notification addresses: a service is set up for each to check it."""
RESERVED_NAME = "publication"
LONGEST_NAME = 100
LONGEST_TYPE = 127

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_BARE_HOST = re.compile(
    r"(?:[^\s/?#:@\\]+\.[^\s/?#:@\\]+|localhost|\[[0-9a-f:.]+\])(?::\d+)?(?:[/?#].*)?", re.IGNORECASE
)
_HOST = re.compile(r"https?://([^/?#\\]+)", re.IGNORECASE)
_TYPE = re.compile(r"(?:\*/\*|[a-z0-9][a-z0-9!#$&^_.+-]*/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]*))")
_SETTING = re.compile(r"[A-Z][A-Z0-9_]*")
_IMPORT_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", re.ASCII)


def check_name(name: str) -> str:
    """Refuse a name that cannot be part of a file name, a command and a urn."""
    if len(name) > LONGEST_NAME:
        raise ValueError(
            Message("The name has {length} letters, and {limit} is the limit.", length=len(name), limit=LONGEST_NAME)
        )
    if not _NAME.fullmatch(name):
        raise ValueError(
            Message(
                "The name {name!r} cannot be used: a name is made of the letters a to z, digits, dots, - and _, "
                "and begins with neither a dot nor a -.",
                name=name,
            )
        )
    if name.lower() == RESERVED_NAME:
        raise ValueError(
            Message("The name {name!r} is taken: `scrapy crawl publication` means any publication.", name=name)
        )
    return name


def read_base_url(text: str) -> str:
    """Return the canonical URL of a base document; ``www.fc.ul.pt`` alone means ``http://www.fc.ul.pt/``."""
    text, shown = with_scheme(text), repr(text.strip()[:80])
    scheme = _SCHEME.match(text)
    if scheme and scheme[0].lower() not in ("http://", "https://"):
        raise ValueError(
            Message(
                "The base document {shown} is not on the web: its URL begins with http:// or https://.", shown=shown
            )
        )
    if not _HOST.match(text):
        raise ValueError(
            Message("The base document {shown} has no host. Write it as http://www.fc.ul.pt/index.html.", shown=shown)
        )
    url = canonical(text)
    if url is None or not is_web(url) or len(url) > MAX_URL_LENGTH:
        raise ValueError(Message("The base document {shown} is not a valid URL.", shown=shown))
    authority = url.split("/", 3)[2]
    if "@" in authority:
        raise ValueError(
            Message(
                "The base document {shown} has a user name, and the collector does not log in. Remove the user name.",
                shown=shown,
            )
        )
    if len(authority) > MAX_HOST_LENGTH:
        raise ValueError(
            Message(
                "The base document's host has {length} letters, and {limit} is the limit.",
                length=len(authority),
                limit=MAX_HOST_LENGTH,
            )
        )
    return url


def with_scheme(text: str) -> str:
    """Return a typed URL with its scheme; ``www.fc.ul.pt`` alone means ``http://www.fc.ul.pt``."""
    text = text.strip()
    return f"http://{text}" if not _SCHEME.match(text) and _BARE_HOST.fullmatch(text) else text


def check_text(text: str) -> str:
    """Refuse a text that is not valid UTF-8, as from a command line in another encoding; strip spaces."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(Message("{text!r} is not valid UTF-8.", text=text[:80])) from error
    return text.strip()


def split_list(value: object) -> object:
    """Split a string, or each string of a list, at semicolons; leave other values unchanged."""
    if isinstance(value, str):
        return split_words(value)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return [word for part in value for word in split_words(part)]
    return value


def split_addresses(value: object) -> object:
    """Split notification addresses at semicolons; refuse too many before a service is set up for each."""
    addresses = split_list(value)
    if isinstance(addresses, list) and len(addresses) > MAX_ADDRESSES:
        raise ValueError(
            Message(
                "There are {count:,} notification addresses, and {limit} is the limit.",
                count=len(addresses),
                limit=MAX_ADDRESSES,
            )
        )
    return addresses


def split_words(text: str) -> list[str]:
    """Return the parts of a text separated by semicolons, each once."""
    words = (word.strip() for word in text.split(";"))
    return list(dict.fromkeys(word for word in words if word))


def check_type(mime: str) -> str:
    """Refuse a type that is not ``a/b``, ``image/*`` or ``*/*``; return it in lower case."""
    if len(mime) > LONGEST_TYPE or not _TYPE.fullmatch(mime.lower()):
        raise ValueError(
            Message("{mime!r} is not a type. Write it as a/b, as in application/pdf or image/*.", mime=mime[:80])
        )
    return mime.lower()


def check_pattern(text: str) -> str:
    """Return a server pattern in canonical form."""
    return str(parse_pattern(text))


def check_strategy(name: str) -> str:
    """Refuse a strategy that is neither a known name nor an import path."""
    if name not in STRATEGIES and not _IMPORT_PATH.fullmatch(name):
        raise ValueError(
            Message(
                "{name!r} is not a strategy. Choose {strategies}, or name a class as package.module.Class.",
                name=name[:80],
                strategies=", ".join(STRATEGIES),
            )
        )
    return name


def check_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Refuse invalid names of settings, and values that cannot be stored as JSON."""
    for key, value in settings.items():
        if not _SETTING.fullmatch(key):
            raise ValueError(
                Message("{key!r} is not the name of a setting. Write it as DOWNLOAD_TIMEOUT.", key=key[:80])
            )
        if key in COMPONENT_SETTINGS and not _names_classes(value):
            raise ValueError(
                Message('{key} must map import paths to numbers, as {{"package.module.Class": 500}}.', key=key)
            )
        check_unmasked(key, value)
        try:
            json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError) as error:
            raise ValueError(
                Message("The value of the setting {key} cannot be stored: it is not JSON.", key=key)
            ) from error
    return settings


def _names_classes(value: object) -> bool:
    return isinstance(value, dict) and all(order is None or isinstance(order, int | float) for order in value.values())


def read_start(value: object, info: ValidationInfo) -> datetime | None:
    """Parse the first date and time, in the publication's time zone."""
    return parse_moment(value, zone_named(info.data.get("zone", "")))


def read_visits(value: object) -> object:
    """Return ``None``, no limit, for an empty string."""
    return None if isinstance(value, str) and not value.strip() else value


def check_visits(number: int | None) -> int | None:
    """Refuse a number of visits that is not positive."""
    return None if number is None else int(more_than_zero(Message("The number of visits"))(number))


def at_least(least: float, what: str) -> Callable[[Any], Any]:
    """Return a validator that refuses numbers below *least*; *what* is the subject of its message."""

    def check(number: Any) -> Any:
        if not math.isfinite(number) or number < least:
            raise ValueError(
                Message(
                    "{what} must be {least:g} or more, and {number:g} is not.", what=what, least=least, number=number
                )
            )
        return number

    return check


def more_than_zero(what: str) -> Callable[[Any], Any]:
    """Return a validator that refuses numbers that are not positive."""

    def check(number: Any) -> Any:
        if not math.isfinite(number) or number <= 0:
            raise ValueError(Message("{what} must be more than 0, and {number:g} is not.", what=what, number=number))
        return number

    return check


TextField = Annotated[str, AfterValidator(check_text)]
NameField = Annotated[str, AfterValidator(check_name)]
BaseUrlField = Annotated[str, AfterValidator(read_base_url)]
PeriodField = Annotated[str, BeforeValidator(parse_period)]
StartField = Annotated[datetime | None, BeforeValidator(read_start)]
ZoneField = Annotated[str, BeforeValidator(parse_zone)]
AddressesField = Annotated[
    list[Annotated[str, AfterValidator(check_notification_address)]], BeforeValidator(split_addresses)
]
DurationField = Annotated[int | None, BeforeValidator(parse_duration)]
TypesField = Annotated[list[Annotated[str, AfterValidator(check_type)]], BeforeValidator(split_list)]
ServersField = Annotated[list[Annotated[str, AfterValidator(check_pattern)]], BeforeValidator(split_list)]
VisitsField = Annotated[int | None, BeforeValidator(read_visits), AfterValidator(check_visits)]
StrategyField = Annotated[str, AfterValidator(check_strategy)]
SettingsField = Annotated[dict[str, Any], AfterValidator(check_settings)]
RulesField = Annotated[list[Annotated[str, AfterValidator(check_rule)]], BeforeValidator(split_list)]
