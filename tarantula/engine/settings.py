"""Settings of a collection: every component by its path, in the order in which a document meets it.

They are added when a spider collects a publication or reads streams (`apply_collection_settings`). All other spiders
run with the components of Scrapy.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from tarantula.core.errors import TarantulaError
from tarantula.crawl.components import check_components
from tarantula.engine.plain_documents import register_document_adapter
from tarantula.publications.scrapy_settings import (
    COMPONENT_SETTINGS,
    FIXED_SETTINGS,
    PUBLICATION_SETTINGS,
    ineffective_setting,
    is_ignored,
    setting_problem,
)

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
OWN_SETTINGS = frozenset({"TARANTULA_BESIDE", "TARANTULA_PROGRESS"})
"""Settings that our commands set."""
_COMMAND_LINE = SETTINGS_PRIORITIES["cmdline"]
_DEFAULT = SETTINGS_PRIORITIES["default"]


def apply_collection_settings(settings: BaseSettings) -> None:
    """Add the components of a collection; those that the project or the command line names are added to them."""
    check_command_line(settings)
    _warn_of_project_settings(settings)
    register_document_adapter()
    for name, value in COLLECTION_SETTINGS.items():
        if name in COMPONENT_SETTINGS:
            set_components(settings, name, {**value, **settings.getdict(name)})
        elif name in FIXED_SETTINGS or settings.getpriority(name) == _DEFAULT:
            settings.set(name, value, priority="spider")
    check_components({name: _plain(value) for name, value in settings.items()})


def set_components(settings: BaseSettings, name: str, components: Mapping[str, Any]) -> None:
    """Set a setting that names components, whatever its priority is now.

    It gets a higher one: a crawler process copies its own settings over those of a crawler if their priority is equal.
    """
    current = settings.getpriority(name) or 0
    settings.set(name, dict(components), priority=max(current + 1, SETTINGS_PRIORITIES["spider"]))


def check_command_line(settings: BaseSettings) -> None:
    """Reject settings of the command line (``-s``) that a collection ignores or does not work with."""
    given = {name: settings[name] for name in settings if settings.getpriority(name) == _COMMAND_LINE}
    for name, value in given.items():
        if name in PUBLICATION_SETTINGS:
            raise TarantulaError(
                "The setting {name} has no effect with -s. Set it in the publication (--set), or as an environment "
                "variable.",
                name=name,
            )
        if name not in OWN_SETTINGS and (complaint := setting_problem(name, _plain(value))) is not None:
            raise TarantulaError(complaint)


def check_log_file(settings: BaseSettings) -> None:
    """Reject a log file in a folder that does not exist."""
    path = settings["LOG_FILE"]
    if path and not Path(path).parent.is_dir():
        raise TarantulaError("The log file {path} cannot be written: its folder does not exist.", path=path)


def check_publication_settings(settings: Mapping[str, Any]) -> None:
    """Reject stored settings that a collection does not work without; log a warning for those that it ignores."""
    for name, value in settings.items():
        complaint = setting_problem(name, value)
        if complaint is not None and not is_ignored(name, value):
            raise TarantulaError("{complaint} Change the publication.", complaint=complaint)
        if complaint is not None:
            logger.warning("%s Remove it from the publication.", complaint)


def _warn_of_project_settings(settings: BaseSettings) -> None:
    """Log a warning for settings of the project that hold for hand-written spiders only."""
    for name in settings:
        is_of_project = settings.getpriority(name) == SETTINGS_PRIORITIES["project"]
        # A publication has a field of its own for robots.txt.
        if is_of_project and name != "ROBOTSTXT_OBEY" and (complaint := ineffective_setting(name)) is not None:
            logger.warning("%s It holds for hand-written spiders only.", complaint)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, BaseSettings) else value
