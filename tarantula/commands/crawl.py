"""``scrapy crawl``, with a sentence instead of a traceback."""

from __future__ import annotations

import argparse
import logging
from asyncio import Task
from collections.abc import Awaitable

from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.exceptions import UsageError

from tarantula.cli.entry_point import EXIT_INTERRUPTED, restore_signal_handlers
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.lifecycle.coordinator import abandon_item, check_can_begin, complete_item
from tarantula.spiders.publication import PublicationSpider
from tarantula.spiders.streams import StreamsSpider

logger = logging.getLogger(__name__)


class Command(ScrapyCrawl):
    """Looks before it starts, so that what is wrong is said in one sentence."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("Name one spider: `scrapy list` shows them.", print_help=False)
        self._check(args[0], opts.spargs)
        assert self.crawler_process is not None
        crawler = self.crawler_process.create_crawler(args[0])
        run = self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        self._tell(run)
        collection = getattr(crawler.spider, "collection", None)
        if args[0] == StreamsSpider.name:
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
    def _tell(run: Awaitable[None]) -> None:
        """Say why a spider could not be made: nobody else hears of it."""
        error = run.exception() if isinstance(run, Task) and run.done() and not run.cancelled() else None
        if isinstance(error, TarantulaError):
            logger.error("%s", error)
        elif error is not None:
            logger.error("The spider could not be made.", exc_info=error)

    def _complete(self, urn: str) -> None:
        restore_signal_handlers()
        try:
            complete_item(Config(), urn)
        except TarantulaError as error:
            logger.error("%s", error)
            self.exitcode = 2
        except KeyboardInterrupt:
            logger.warning("%s is not converted; `tarantula item resume %s` goes on.", urn, urn)
            self.exitcode = EXIT_INTERRUPTED

    def _check(self, spider: str, arguments: dict[str, str]) -> None:
        if spider == StreamsSpider.name:
            return
        if spider == PublicationSpider.name and "name" not in arguments:
            raise UsageError("Say which publication: scrapy crawl publication -a name=NAME", print_help=False)
        try:
            check_can_begin(Config(), arguments.get("name", spider), arguments.get("item"))
        except TarantulaError as error:
            raise UsageError(str(error), print_help=False) from error
