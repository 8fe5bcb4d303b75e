"""Settings of a collection: every component by its path, in the order in which a document meets it.

They are added when a spider collects a publication or reads streams (`apply_collection_settings`). All other spiders
run with the components of Scrapy.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings

from tarantula.core.errors import TarantulaError
from tarantula.engine.plain_documents import register_document_adapter
from tarantula.publications.fields import COMPONENT_SETTINGS
from tarantula.publications.scrapy_settings import ineffective_setting

logger = logging.getLogger(__name__)

COLLECTION_SETTINGS: dict[str, Any] = {
    # 1. The frontier hands out the next document: a row of the table becomes a request.
    "SCHEDULER": "tarantula.engine.scheduler.FrontierScheduler",
    # The frontier alone decides how many requests a server gets, and when: Scrapy's own slots stay out of the way.
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1000,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_DELAY_JITTER": 0,
    # 2. On its way to the downloader, and on the way back.
    "DOWNLOADER_MIDDLEWARES": {
        "tarantula.middlewares.ScopeMiddleware": 50,
        "tarantula.middlewares.RobotsMiddleware": 100,
        "tarantula.middlewares.PolitenessMiddleware": 900,
        # The scope rules decide about servers.
        "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
        # Ours applies RFC 9309 to errors, and Crawl-delay.
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
        # The scheduler gives every request its headers and limits.
        "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
        "scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware": None,
        "scrapy.downloadermiddlewares.defaultheaders.DefaultHeadersMiddleware": None,
        "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": None,
        # A document that is tried again waits in the table, not in memory.
        "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
        # Redirects are documents of their own.
        "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
        "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
        # The download handler decodes bodies within limits, and keeps the bytes as they were sent.
        "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
        # With cookies, the result would depend on the order of visits.
        "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": None,
        "scrapy.downloadermiddlewares.stats.DownloaderStats": None,
    },
    # 3. The exchange with the server.
    "DOWNLOADER": "tarantula.engine.downloader.FrontierDownloader",
    "DOWNLOAD_HANDLERS": {
        "http": "tarantula.engine.downloader.ExchangeDownloadHandler",
        "https": "tarantula.engine.downloader.ExchangeDownloadHandler",
    },
    "DOWNLOAD_VERIFY_CERTIFICATES": True,
    "DOWNLOAD_WARNSIZE": 0,
    # 4. The spider's output, on its way back.
    "SPIDER_MIDDLEWARES": {
        # Nearest to the spider. Custom middlewares are between these two.
        "tarantula.middlewares.LinkUnpackMiddleware": 990,
        "tarantula.middlewares.LinkPackMiddleware": 10,
        # Every response is a document, whatever its status.
        "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,
        # The scope rules limit depth and length.
        "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
        "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
        "scrapy.spidermiddlewares.referer.RefererMiddleware": None,
        "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
        "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,
    },
    # 5. Into the store: body, metadata, links. Custom pipelines with a lower number see documents before.
    "ITEM_PROCESSOR": "tarantula.engine.blame.CheckedItemPipelines",
    "ITEM_PIPELINES": {"tarantula.pipelines.StorePipeline": 900},
    # A response gives one item: a hundred tasks for each would cost more than the download.
    "CONCURRENT_ITEMS": 1,
    # 6. Around it all.
    "EXTENSIONS": {
        "tarantula.extensions.CoreStats": 0,
        "scrapy.extensions.corestats.CoreStats": None,
        "tarantula.extensions.ItemLife": 100,
        "tarantula.extensions.LostDocuments": 200,
        "tarantula.extensions.ProgressDisplay": 300,
        "scrapy.extensions.spiderstate.SpiderState": None,
    },
    "LOG_FORMATTER": "tarantula.engine.log_formatter.QuietLogFormatter",
}
FIXED_SETTINGS = frozenset({"SCHEDULER", "DOWNLOADER", "DOWNLOAD_HANDLERS", "ITEM_PROCESSOR"})
"""Settings that a collection does not work without."""
_COMMAND_LINE = SETTINGS_PRIORITIES["cmdline"]
_DEFAULT = SETTINGS_PRIORITIES["default"]


def apply_collection_settings(settings: BaseSettings) -> None:
    """Add the components of a collection; those that the project or the command line names are added to them."""
    check_command_line(settings)
    register_document_adapter()
    for name, value in COLLECTION_SETTINGS.items():
        if name in COMPONENT_SETTINGS:
            own = settings.getdict(name)
            _check_required(name, own)
            set_components(settings, name, {**value, **own})
        elif name in FIXED_SETTINGS or settings.getpriority(name) == _DEFAULT:
            settings.set(name, value, priority="spider")


def set_components(settings: BaseSettings, name: str, components: Mapping[str, Any]) -> None:
    """Set a setting that names components, whatever its priority is now.

    It gets a higher one: a crawler process copies its own settings over those of a crawler if their priority is equal.
    """
    current = settings.getpriority(name) or 0
    settings.set(name, dict(components), priority=max(current + 1, SETTINGS_PRIORITIES["spider"]))


def check_command_line(settings: BaseSettings) -> None:
    """Reject settings of the command line (``-s``) that a collection ignores or does not work with."""
    for name in _given(settings):
        if name in FIXED_SETTINGS:
            raise TarantulaError("The setting {name} cannot be changed: a collection needs its own.", name=name)
        if (complaint := ineffective_setting(name)) is not None:
            raise TarantulaError(complaint)
        if (warning := misspelled_setting(name)) is not None:
            raise TarantulaError(warning)


def check_publication_settings(settings: Mapping[str, Any]) -> None:
    """Reject settings of a publication that break a collection; log a warning for those without effect."""
    for name, value in settings.items():
        if name in FIXED_SETTINGS:
            raise TarantulaError(
                "The publication cannot change the setting {name}: a collection needs its own.", name=name
            )
        if name in COMPONENT_SETTINGS:
            _check_required(name, value)
        complaint = ineffective_setting(name) or misspelled_setting(name)
        if complaint is not None:
            logger.warning("%s Remove it from the publication.", complaint)


def misspelled_setting(name: str) -> str | None:
    """Return a sentence if a setting is unknown and resembles a known one; components may have their own settings."""
    if name in vars(default_settings) or name.startswith(("TARANTULA_", "PLAYWRIGHT_")):
        return None
    near = get_close_matches(name, [known for known in vars(default_settings) if known.isupper()], 1, cutoff=0.9)
    return f"There is no setting {name}. Did you mean {near[0]}?" if near else None


def _check_required(name: str, components: Mapping[str, Any]) -> None:
    for path, order in COLLECTION_SETTINGS[name].items():
        if order is not None and path in components and components[path] is None:
            raise TarantulaError(
                "{path} in {name} cannot be switched off: a collection needs it.", path=path, name=name
            )


def _given(settings: BaseSettings) -> Iterator[str]:
    return (name for name in settings if settings.getpriority(name) == _COMMAND_LINE)
