"""Scrapy's part of a publication: settings, components and names of spiders."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tarantula.core.messages import Message, did_you_mean

COMPONENT_SETTINGS = frozenset({"DOWNLOADER_MIDDLEWARES", "EXTENSIONS", "ITEM_PIPELINES", "SPIDER_MIDDLEWARES"})
"""Scrapy settings whose keys are import paths of classes, which are added to those of a collection."""
CLASS_SETTINGS = frozenset(
    {"HTTPCACHE_POLICY", "HTTPCACHE_STORAGE", "LOG_FORMATTER", "REQUEST_FINGERPRINTER_CLASS", "STATS_CLASS"}
)
"""Scrapy settings whose value is the import path of a class."""
FIXED_SETTINGS = frozenset(
    {
        *(f"{name}_BASE" for name in (*COMPONENT_SETTINGS, "DOWNLOAD_HANDLERS")),
        "DNS_RESOLVER",
        "DOWNLOADER",
        "DOWNLOAD_HANDLERS",
        "FORCE_CRAWLER_PROCESS",
        "ITEM_PROCESSOR",
        "SCHEDULER",
        "SPIDER_LOADER_CLASS",
        "TWISTED_DNS_RESOLVER",
        "TWISTED_REACTOR",
        "TWISTED_REACTOR_ENABLED",
    }
)
"""Scrapy settings that a collection does not work without."""
_CLIENT = Message("The download handler has an HTTP client of its own, for http and https.")
_COOKIES = Message("A collection sends no cookies, so that its result does not depend on the order of visits.")
_DELAY = Message("Set the publication's delay (--delay).")
_FRONTIER = Message("Items keep their queue in the database; continue one with `tarantula item resume URN`.")
_HEADERS = Message("Change headers in a downloader middleware.")
_MAX_SIZE = Message("Set the publication's maximum size (--max-size).")
_NAMES = Message("The environment variable TARANTULA_NAME_SERVERS names other name servers.")
_PER_SERVER = Message("Set the publication's requests per server (--per-server).")
_REDIRECTS = Message("A redirect is a document of its own; the scope rules limit redirects.")
_TRUNCATED = Message("A body that ends too early is requested again, and then kept as truncated.")
INEFFECTIVE_SETTINGS: Mapping[str, Message] = {
    "AUTOTHROTTLE_": _DELAY,
    "COMPRESSION_": Message("Bodies are always decoded, and stored as they were sent."),
    "CONCURRENT_REQUESTS_PER_": _PER_SERVER,
    "COOKIES_": _COOKIES,
    "CRAWLSPIDER_": Message("The scope rules decide which links are followed."),
    "DEFAULT_ITEM_CLASS": Message("Every item of a collection is a document."),
    "DEFAULT_REQUEST_HEADERS": _HEADERS,
    "DEPTH_": Message("Set the publication's maximum link depth (--depth)."),
    "DNSCACHE_": _NAMES,
    "DNS_TIMEOUT": _NAMES,
    "DOWNLOADER_CLIENTCONTEXTFACTORY": _CLIENT,
    "DOWNLOADER_CLIENT_": _CLIENT,
    "DOWNLOADER_STATS": Message("The stats of a collection are counted where documents are stored."),
    "DOWNLOAD_DELAY": _DELAY,
    "DOWNLOAD_DELAY_JITTER": _DELAY,
    "DOWNLOAD_FAIL_ON_DATALOSS": _TRUNCATED,
    "DOWNLOAD_MAXSIZE": _MAX_SIZE,
    "DOWNLOAD_SLOTS": Message("Use `tarantula server set SERVER --delay SECONDS`."),
    "DOWNLOAD_TIMEOUT": Message("Set the publication's timeout (--timeout)."),
    "DOWNLOAD_TLS_": _CLIENT,
    "DOWNLOAD_WARNSIZE": _MAX_SIZE,
    "DUPEFILTER_": Message("A URL is a row of the item, and there once."),
    "FTP_": _CLIENT,
    "HTTP2_": _CLIENT,
    "HTTPAUTH_": _HEADERS,
    "HTTPERROR_": Message("Every response is a document, whatever its status."),
    "HTTPX_": _CLIENT,
    "JOBDIR": _FRONTIER,
    "METAREFRESH_": _REDIRECTS,
    "RANDOMIZE_DOWNLOAD_DELAY": _DELAY,
    "REDIRECT_": _REDIRECTS,
    "REFERER_": _HEADERS,
    "REFERRER_": _HEADERS,
    "RETRY_": Message("The frontier retries documents by itself, and keeps them in the database."),
    "ROBOTSTXT_": Message("Set whether the publication obeys robots.txt (--robots or --no-robots)."),
    "SCHEDULER_": _FRONTIER,
    "URLLENGTH_LIMIT": Message("The scope rules limit the length of URLs."),
}
"""Name, or the beginning of the names if it ends with an underscore, and what to use in its place."""
PROJECT_SETTINGS = frozenset(
    {
        "ASYNCIO_EVENT_LOOP",
        "BOT_NAME",
        "COMMANDS_MODULE",
        "EDITOR",
        "NEWSPIDER_MODULE",
        "SPIDER_CONTRACTS",
        "SPIDER_CONTRACTS_BASE",
        "SPIDER_LOADER_WARN_ONLY",
        "SPIDER_MODULES",
        "TEMPLATES_DIR",
    }
)
"""Scrapy settings that are read once for all spiders, before a collection begins."""
NUMBER_SETTINGS: Mapping[str, int] = {
    "CLOSESPIDER_ERRORCOUNT": 0,
    "CLOSESPIDER_ITEMCOUNT": 0,
    "CLOSESPIDER_PAGECOUNT": 0,
    "CLOSESPIDER_PAGECOUNT_NO_ITEM": 0,
    "CLOSESPIDER_TIMEOUT": 0,
    "CLOSESPIDER_TIMEOUT_NO_ITEM": 0,
    "CONCURRENT_ITEMS": 1,
    "CONCURRENT_REQUESTS": 1,
    "FEED_EXPORT_BATCH_ITEM_COUNT": 0,
    "FEED_EXPORT_INDENT": 0,
    "HTTPCACHE_EXPIRATION_SECS": 0,
    "LOGSTATS_INTERVAL": 0,
    "MEMUSAGE_CHECK_INTERVAL_SECONDS": 0,
    "MEMUSAGE_LIMIT_MB": 0,
    "MEMUSAGE_WARNING_MB": 0,
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1,
}
"""Scrapy settings whose value is a number, with the least."""
OTHER_SETTINGS = frozenset(
    """ADDONS AWS_ACCESS_KEY_ID AWS_ENDPOINT_URL AWS_MAX_POOL_CONNECTIONS AWS_REGION_NAME AWS_SECRET_ACCESS_KEY
    AWS_SESSION_TOKEN AWS_USE_SSL AWS_VERIFY DEFAULT_DROPITEM_LOG_LEVEL DOWNLOAD_BIND_ADDRESS
    DOWNLOAD_VERIFY_CERTIFICATES FEEDS FEED_EXPORTERS FEED_EXPORTERS_BASE FEED_EXPORT_ENCODING FEED_EXPORT_FIELDS
    FEED_FORMAT FEED_STORAGES FEED_STORAGES_BASE FEED_STORAGE_FTP_ACTIVE FEED_STORAGE_GCS_ACL FEED_STORAGE_S3_ACL
    FEED_STORE_EMPTY FEED_TEMPDIR FEED_URI FEED_URI_PARAMS FILES_STORE FILES_STORE_GCS_ACL FILES_STORE_S3_ACL
    GCS_PROJECT_ID HTTPCACHE_ALWAYS_STORE HTTPCACHE_DBM_MODULE HTTPCACHE_DIR HTTPCACHE_ENABLED HTTPCACHE_GZIP
    HTTPCACHE_IGNORE_HTTP_CODES HTTPCACHE_IGNORE_MISSING HTTPCACHE_IGNORE_RESPONSE_CACHE_CONTROLS
    HTTPCACHE_IGNORE_SCHEMES HTTPPROXY_AUTH_ENCODING HTTPPROXY_ENABLED IMAGES_STORE IMAGES_STORE_GCS_ACL
    IMAGES_STORE_S3_ACL LOG_COLOR LOG_DATEFORMAT LOG_ENABLED LOG_ENCODING LOG_FILE LOG_FILE_APPEND LOG_FORMAT
    LOG_INSTALL_ROOT_HANDLER LOG_LEVEL LOG_SHORT_NAMES LOG_STDOUT LOG_VERSIONS MAIL_FROM MAIL_HOST MAIL_PASS
    MAIL_PORT MAIL_SSL MAIL_TLS MAIL_USER MEMDEBUG_ENABLED MEMUSAGE_ENABLED MEMUSAGE_NOTIFY_MAIL
    PERIODIC_LOG_DELTA PERIODIC_LOG_STATS PERIODIC_LOG_TIMING_ENABLED REACTOR_THREADPOOL_MAXSIZE
    REMOTE_CONTROL_ENABLED REMOTE_CONTROL_JOBS_DIR REMOTE_CONTROL_OUTPUT_MAX_BYTES REMOTE_CONTROL_TIMEOUT_DEFAULT
    REMOTE_CONTROL_TIMEOUT_MAX REMOTE_CONTROL_TRACEBACK_MAX_BYTES STATSMAILER_RCPTS STATS_DUMP
    TELNETCONSOLE_ENABLED TELNETCONSOLE_HOST TELNETCONSOLE_PASSWORD TELNETCONSOLE_PORT TELNETCONSOLE_USERNAME
    USER_AGENT WARN_ON_GENERATOR_RETURN_VALUE""".split()
)
"""Scrapy settings that have an effect on a collection, besides those above."""
EFFECTIVE_SETTINGS = OTHER_SETTINGS | COMPONENT_SETTINGS | CLASS_SETTINGS | NUMBER_SETTINGS.keys()
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
PUBLICATION_SETTINGS = frozenset({"TARANTULA_HEADER_CHECKS", "TARANTULA_SCOPE_RULES"})
"""Settings of our own that a publication may have."""
_OWN_PREFIX, _PLAYWRIGHT_PREFIX = "TARANTULA_", "PLAYWRIGHT_"


def ineffective_setting(name: str) -> Message | None:
    """Return why a Scrapy setting has no effect on a collection, and what to use; None if it may have one."""
    for known, hint in INEFFECTIVE_SETTINGS.items():
        if name == known or (known.endswith("_") and name.startswith(known)):
            return Message("The setting {name} has no effect on a collection. {hint}", name=name, hint=hint)
    return None


def setting_problem(name: str, value: Any) -> Message | None:
    """Return why a collection cannot have a setting, or ignores it; None if it can. Components may read other names."""
    if name in FIXED_SETTINGS:
        return Message("The setting {name} cannot be changed: a collection needs its own.", name=name)
    if name in PROJECT_SETTINGS:
        return Message(
            "The setting {name} is read before a collection begins. Set it in tarantula/settings.py.", name=name
        )
    if (complaint := ineffective_setting(name)) is not None:
        return complaint
    if name.startswith(_OWN_PREFIX):
        return None if name in PUBLICATION_SETTINGS else _unknown(name, PUBLICATION_SETTINGS)
    if name.startswith(_PLAYWRIGHT_PREFIX):
        return None
    if name not in EFFECTIVE_SETTINGS:
        near = get_close_matches(name, _NAMES_OF_SCRAPY, 1, cutoff=0.9)
        return _unknown(name, near) if near else None
    if name in NUMBER_SETTINGS and not _is_number(value, NUMBER_SETTINGS[name]):
        least = NUMBER_SETTINGS[name]
        return Message("The setting {name} must be a number of {least} or more.", name=name, least=least)
    if name == "LOG_LEVEL" and value not in LOG_LEVELS:
        return Message("The setting {name} must be one of {levels}.", name=name, levels=", ".join(LOG_LEVELS))
    if name in COMPONENT_SETTINGS:
        return _switched_off(name, value)
    return None


def is_ignored(name: str, value: Any) -> bool:
    """Whether a collection ignores a stored setting, with a warning; with others that are wrong it does not begin."""
    return name not in FIXED_SETTINGS | EFFECTIVE_SETTINGS and setting_problem(name, value) is not None


def _unknown(name: str, known: Iterable[str]) -> Message:
    return Message("There is no setting {name}.{hint}", name=name, hint=did_you_mean(name, known))


def _is_number(value: Any, least: int) -> bool:
    try:
        return not isinstance(value, bool) and math.isfinite(float(value)) and float(value) >= least
    except (TypeError, ValueError):
        return False


def _switched_off(name: str, components: Any) -> Message | None:
    """Return a complaint if a component of a collection is switched off."""
    for path, order in components.items() if isinstance(components, Mapping) else ():
        if order is None and str(path).startswith("tarantula."):
            return Message(
                "{path} in {name} cannot be switched off: a collection needs it.", path=str(path)[:200], name=name
            )
    return None


_NAMES_OF_SCRAPY = sorted(
    {*EFFECTIVE_SETTINGS, *FIXED_SETTINGS, *PROJECT_SETTINGS, *(n for n in INEFFECTIVE_SETTINGS if n[-1] != "_")}
    | {"AUTOTHROTTLE_ENABLED", "CONCURRENT_REQUESTS_PER_DOMAIN", "COOKIES_ENABLED", "DEPTH_LIMIT", "DUPEFILTER_CLASS"}
    | {"REDIRECT_ENABLED", "RETRY_ENABLED", "RETRY_TIMES", "ROBOTSTXT_OBEY"}
)


def _number(least: int, most: int) -> Callable[[str, Any], None]:
    """Return a validator of whole numbers from *least* to *most*."""

    def check(name: str, value: Any) -> None:
        if type(value) is not int or not least <= value <= most:
            raise ValueError(
                Message(
                    "The setting {name} must be a whole number from {least} to {most}.",
                    name=name,
                    least=least,
                    most=most,
                )
            )

    return check


def _boolean(name: str, value: Any) -> None:
    if type(value) is not bool:
        raise ValueError(Message("The setting {name} must be true or false.", name=name))


def _header_value(name: str, value: Any) -> None:
    if not isinstance(value, str) or not _HEADER_VALUE.fullmatch(value):
        raise ValueError(
            Message("The setting {name} must be one line of at most 200 letters, digits and signs of ASCII.", name=name)
        )


_HEADER_VALUE = re.compile(r"[!-~](?:[ -~]{0,198}[!-~])?")
WEB_SETTINGS: Mapping[str, Callable[[str, Any], None]] = {
    # Over all servers: the frontier limits the requests to each one, whatever this is.
    "CONCURRENT_REQUESTS": _number(1, 256),
    "DOWNLOAD_VERIFY_CERTIFICATES": _boolean,
    "LOGSTATS_INTERVAL": _number(10, 86_400),
    "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT": _number(1_000, 300_000),
    "STATS_DUMP": _boolean,
    "USER_AGENT": _header_value,
}
"""Settings that the pages and the API may set, with validators of their values.

None of them is an import path, a file or a command. All others are for the command line.
"""


def check_web_settings(settings: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
    """Raise `ValueError` if an allowed setting that is not *stored* as it is has an invalid value."""
    for name in _changed(settings, stored):
        if name in WEB_SETTINGS and name in settings:
            WEB_SETTINGS[name](name, settings[name])


def privileged_change(settings: Mapping[str, Any], stored: Mapping[str, Any]) -> str | None:
    """Return the first setting outside `WEB_SETTINGS` that differs from the *stored* ones; None if there is none.

    A stored setting without effect may be removed.
    """
    for name in _changed(settings, stored):
        if name not in WEB_SETTINGS and (name in settings or ineffective_setting(name) is None):
            return name
    return None


def _changed(settings: Mapping[str, Any], stored: Mapping[str, Any]) -> list[str]:
    return [name for name in {**stored, **settings} if _json(settings, name) != _json(stored, name)]


def _json(settings: Mapping[str, Any], name: str) -> str | None:
    # Python takes 1, 1.0 and true for equal.
    return json.dumps(settings[name], sort_keys=True) if name in settings else None


@cache
def spider_names() -> frozenset[str]:
    """Return the names in the spider classes of the modules that the project's settings list."""
    modules: list[str] = import_module("tarantula.settings").SPIDER_MODULES
    return frozenset(name for module in modules for path in _files(module) for name in _names_in(path))


def check_new_name(name: str) -> None:
    """Refuse a name that ``scrapy crawl`` understands as something else; a publication that has it already keeps it."""
    if name.lower() in spider_names():
        raise ValueError(
            Message(
                "The name {name!r} is taken: `scrapy crawl {lower}` runs a spider of the project. Choose another name.",
                name=name,
                lower=name.lower(),
            )
        )


def _files(module: str) -> Iterator[Path]:
    spec = find_spec(module)
    if spec is not None:
        for folder in spec.submodule_search_locations or ():
            yield from sorted(Path(folder).rglob("*.py"))
        if spec.origin is not None:
            yield Path(spec.origin)


def _names_in(path: Path) -> Iterator[str]:
    # Scrapy reports a file that cannot be read.
    with suppress(OSError, SyntaxError, ValueError):
        for found in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(found, ast.ClassDef):
                yield from (name for statement in found.body if (name := _name_in(statement)) is not None)


def _name_in(statement: ast.stmt) -> str | None:
    """Return the value of ``name = "..."``, with or without an annotation."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(statement.value, ast.Constant):
        return None
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    is_name = any(isinstance(target, ast.Name) and target.id == "name" for target in targets)
    return statement.value.value if is_name and isinstance(statement.value.value, str) else None
