"""``scrapy crawl``: collect a publication, read streams, or run a hand-written spider; errors are one sentence."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Awaitable

from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError

from tarantula.cli.entry_point import EXIT_INTERRUPTED, restore_signal_handlers
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.engine.blame import crawl_error, failure_sentence
from tarantula.lifecycle.coordinator import abandon_item, check_can_begin, complete_item
from tarantula.spiders.base import BaseSpider
from tarantula.spiders.publication import PublicationSpider
from tarantula.spiders.streams import StreamsSpider

logger = logging.getLogger(__name__)


class Command(ScrapyCrawl):
    """Checks before it starts, so that mistakes are reported in one sentence."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("Name one spider: `scrapy list` shows them.", print_help=False)
        assert self.crawler_process is not None
        try:
            spider = self.crawler_process.spider_loader.load(args[0])
        except KeyError:
            spider = PublicationSpider
        if not issubclass(spider, BaseSpider):
            super().run(args, opts)
            return
        try:
            self._check(args[0], spider, opts.spargs)
            crawler = self.crawler_process.create_crawler(args[0])
        except TarantulaError as error:
            raise UsageError(str(error), print_help=False) from error
        run = self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        self._report_failure(run, crawler)
        collection = getattr(crawler.spider, "collection", None)
        if issubclass(spider, StreamsSpider):
            is_well = collection is not None and collection.trouble is None
            self.exitcode = 0 if is_well and not self.crawler_process.bootstrap_failed else 2
            return
        if self.crawler_process.bootstrap_failed:
            abandon_item(collection)
        if self.crawler_process.bootstrap_failed or collection is None or collection.trouble is not None:
            self.exitcode = 2
        if collection is not None:
            self._complete(collection.urn)

    @staticmethod
    def _report_failure(run: Awaitable[None], crawler: Crawler) -> None:
        """Log why a spider could not be started: Scrapy does not."""
        error = crawl_error(run)
        if isinstance(error, TarantulaError):
            logger.error("%s", error)
        elif error is not None:
            logger.error("%s", failure_sentence(error, crawler.settings), exc_info=error)

    def _complete(self, urn: str) -> None:
        restore_signal_handlers()
        try:
            complete_item(Config(), urn)
        except TarantulaError as error:
            logger.error("%s", error)
            self.exitcode = 2
        except KeyboardInterrupt:
            logger.warning("%s is not converted; continue with `tarantula item resume %s`.", urn, urn)
            self.exitcode = EXIT_INTERRUPTED

    @staticmethod
    def _check(name: str, spider: type[BaseSpider], arguments: dict[str, str]) -> None:
        if name == PublicationSpider.name and "name" not in arguments:
            raise UsageError("Name the publication: scrapy crawl publication -a name=NAME", print_help=False)
        spider.check_arguments(arguments)
        if not issubclass(spider, StreamsSpider):
            check_can_begin(Config(), arguments.get("name", name), arguments.get("item"))
