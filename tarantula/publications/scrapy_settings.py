"""Scrapy settings that have no effect on a collection, and the field or command that does the same."""

from __future__ import annotations

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
