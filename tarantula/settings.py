"""Every component by its path, in the order in which a document meets it."""

from __future__ import annotations

from tarantula.core.config import Config

_installation = Config()

BOT_NAME = "tarantula"
SPIDER_MODULES = ["tarantula.spiders"]
SPIDER_LOADER_CLASS = "tarantula.spiders.loader.PublicationSpiderLoader"
COMMANDS_MODULE = "tarantula.commands"

# 1. The frontier hands out the next document: a row of the table becomes a request.
SCHEDULER = "tarantula.engine.scheduler.FrontierScheduler"

# The frontier alone decides how many requests a server gets, and when: Scrapy's own slots stay out of the way.
CONCURRENT_REQUESTS = 64
CONCURRENT_REQUESTS_PER_DOMAIN = 1000
DOWNLOAD_DELAY = 0
DOWNLOAD_DELAY_JITTER = 0

# 2. On its way to the downloader, and on the way back.
DOWNLOADER_MIDDLEWARES = {
    "tarantula.middlewares.ScopeMiddleware": 50,
    "tarantula.middlewares.RobotsMiddleware": 100,
    "tarantula.middlewares.PolitenessMiddleware": 900,
    # Scope answers for servers.
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
    # Ours knows RFC 9309's answers to errors, and Crawl-delay.
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
    # The download handler unpacks within limits, and keeps the bytes as they were sent.
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    # A cookie would make what is collected depend on the order of visits.
    "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": None,
    "scrapy.downloadermiddlewares.stats.DownloaderStats": None,
}

# 3. The exchange with the server.
DOWNLOADER = "tarantula.engine.downloader.FrontierDownloader"
DOWNLOAD_HANDLERS = {
    "http": "tarantula.engine.downloader.ExchangeDownloadHandler",
    "https": "tarantula.engine.downloader.ExchangeDownloadHandler",
}
DOWNLOAD_VERIFY_CERTIFICATES = True
DOWNLOAD_WARNSIZE = 0

# 4. What the spider made of it, on its way back.
SPIDER_MIDDLEWARES = {
    # Nearest to the spider. One's own middlewares stand between these two.
    "tarantula.middlewares.LinkUnpackMiddleware": 990,
    "tarantula.middlewares.LinkPackMiddleware": 10,
    # Every answer is a document, whatever its code.
    "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,
    # Scope answers for depth and length.
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
    "scrapy.spidermiddlewares.referer.RefererMiddleware": None,
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
    "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,
}

# 5. Into the store: body, metadata, links. Pipelines of one's own with a lower number see documents before.
ITEM_PIPELINES = {
    "tarantula.pipelines.StorePipeline": 900,
}
# A response gives one item: a hundred tasks for each would cost more than the download.
CONCURRENT_ITEMS = 1

# 6. Around it all.
EXTENSIONS = {
    "tarantula.extensions.CoreStats": 0,
    "scrapy.extensions.corestats.CoreStats": None,
    "tarantula.extensions.ItemLife": 100,
    "tarantula.extensions.LostDocuments": 200,
    "tarantula.extensions.ProgressDisplay": 300,
    # Nobody asked for an open port.
    "scrapy.extensions.telnet.TelnetConsole": None,
    "scrapy.extensions.remote_control.RemoteControl": None,
    "scrapy.extensions.feedexport.FeedExporter": None,
    "scrapy.extensions.spiderstate.SpiderState": None,
}
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False

USER_AGENT = _installation.user_agent
TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
ASYNCIO_EVENT_LOOP = "uvloop.Loop"
LOG_LEVEL = "INFO"
LOG_FORMATTER = "tarantula.engine.log_formatter.QuietLogFormatter"
