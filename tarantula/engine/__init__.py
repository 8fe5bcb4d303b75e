"""Parts that replace Scrapy's own: scheduler, downloader, download handler, log formatter, component base class."""
