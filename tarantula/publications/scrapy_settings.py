"""Scrapy's part of a publication: settings, components and names of spiders."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tarantula.core.messages import Message

_FRONTIER = "Items keep their queue in the database; continue one with `tarantula item resume URN`."
_RETRIES = "The frontier retries documents by itself, and keeps them in the database."
_REDIRECTS = "A redirect is a document of its own; the scope rules limit redirects."
INEFFECTIVE_SETTINGS = {
    "AUTOTHROTTLE_": "Set the publication's delay (--delay).",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "Set the publication's requests per server (--per-server).",
    "COOKIES_": "A collection sends no cookies, so that its result does not depend on the order of visits.",
    "DEFAULT_REQUEST_HEADERS": "Change headers in a downloader middleware.",
    "DEPTH_": "Set the publication's maximum link depth (--depth).",
    "DOWNLOAD_DELAY": "Set the publication's delay (--delay).",
    "DOWNLOAD_MAXSIZE": "Set the publication's maximum size (--max-size).",
    "DOWNLOAD_SLOTS": "Use `tarantula server set SERVER --delay SECONDS`.",
    "DOWNLOAD_TIMEOUT": "Set the publication's timeout (--timeout).",
    "DUPEFILTER_": "A URL is a row of the item, and there once.",
    "JOBDIR": _FRONTIER,
    "METAREFRESH_": _REDIRECTS,
    "RANDOMIZE_DOWNLOAD_DELAY": "Set the publication's delay (--delay).",
    "REDIRECT_": _REDIRECTS,
    "RETRY_": _RETRIES,
    "ROBOTSTXT_": "Set whether the publication obeys robots.txt (--robots or --no-robots).",
    "SCHEDULER_": _FRONTIER,
    "URLLENGTH_LIMIT": "The scope rules limit the length of URLs.",
}
"""Name, or the beginning of the names if it ends with an underscore, and what to use in its place."""


def ineffective_setting(name: str) -> str | None:
    """Return why a Scrapy setting has no effect on a collection, and what to use; None if it may have one."""
    for known, hint in INEFFECTIVE_SETTINGS.items():
        if name == known or (known.endswith("_") and name.startswith(known)):
            return f"The setting {name} has no effect on a collection. {hint}"
    return None


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
