"""``scrapy crawl``: collect a publication, read streams, or run a hand-written spider; errors are one sentence."""

from __future__ import annotations

import argparse
import logging
import subprocess

from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.termination import (
    EXIT_INCOMPLETE,
    EXIT_INTERRUPTED,
    EXIT_REFUSED,
    EXIT_TERMINATED,
    Terminated,
    block_sigterm,
    forwarding,
    is_terminating,
    restore_signal_handlers,
)
from tarantula.crawl.components import check_components
from tarantula.engine.blame import failure_sentence, run_to_end
from tarantula.engine.settings import check_command_line, check_log_file
from tarantula.lifecycle.coordinator import abandon_item, base_problem_of, check_can_begin, complete_item
from tarantula.lifecycle.processes import collect_command
from tarantula.publications.scrapy_settings import spider_names
from tarantula.spiders.base import BaseSpider
from tarantula.spiders.publication import PublicationSpider, publication_name
from tarantula.spiders.streams import StreamsSpider

logger = logging.getLogger(__name__)


class Command(ScrapyCrawl):
    """Checks before it starts, so that mistakes are reported in one sentence."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        if set(args) & (spider_names() - {PublicationSpider.name, StreamsSpider.name}):
            return
        assert self.settings is not None
        try:
            # Some of them are read before a command is run.
            check_command_line(self.settings)
            check_log_file(self.settings)
            check_components({"ADDONS": self.settings.getdict("ADDONS")})
        except TarantulaError as error:
            raise UsageError(str(error), print_help=False) from error

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
        # Scrapy sets a handler of its own, which would treat SIGTERM like Ctrl-C; the spider replaces it.
        block_sigterm()
        try:
            self._check(args[0], spider, opts.spargs)
            crawler = self.crawler_process.create_crawler(args[0])
        except TarantulaError as error:
            raise UsageError(str(error), print_help=False) from error
        failure = run_to_end(self.crawler_process, self.crawler_process.crawl(crawler, **opts.spargs))
        why = failure_sentence(failure, crawler.settings) if failure is not None else None
        if why is not None:
            logger.error("%s", why, exc_info=None if isinstance(failure, TarantulaError) else failure)
        collection = getattr(crawler.spider, "collection", None)
        has_failed = why is not None or self.crawler_process.bootstrap_failed
        if collection is None or has_failed or collection.trouble is not None:
            self.exitcode = EXIT_REFUSED
        if collection is None or issubclass(spider, StreamsSpider):
            return
        if has_failed:
            abandon_item(collection, why)
        if collection.is_handed_over and (collection.trouble is None or is_terminating()):
            self.exitcode = EXIT_TERMINATED
            return
        self._complete(collection.urn)
        if not self.exitcode:
            self.exitcode = self._check_feeds(crawler) or (EXIT_INTERRUPTED if collection.interruption else 0)

    @staticmethod
    def _check_feeds(crawler: Crawler) -> int:
        """Return the exit code of a collection whose feeds (``-o``) could not be written, else 0."""
        assert crawler.stats is not None
        stats = crawler.stats.get_stats()
        written = sum(number for name, number in stats.items() if name.startswith("feedexport/success_count/"))
        if not stats.get("item_scraped_count") or written >= len(crawler.settings.getdict("FEEDS")):
            return 0
        logger.error("A feed could not be written, as the log says. The item itself is stored.")
        return EXIT_INCOMPLETE

    def _complete(self, urn: str) -> None:
        restore_signal_handlers()
        try:
            if complete_item(Config(), urn):
                self._collect_again(urn)
        except TarantulaError as error:
            logger.error("%s", error)
            self.exitcode = EXIT_REFUSED
        except Terminated:
            self.exitcode = EXIT_TERMINATED
        except KeyboardInterrupt:
            logger.warning("%s is not archived; continue with `tarantula item resume %s`.", urn, urn)
            self.exitcode = EXIT_INTERRUPTED
        if not self.exitcode:
            self._check_base(urn)

    def _check_base(self, urn: str) -> None:
        try:
            problem = base_problem_of(Config(), urn)
        except TarantulaError as error:
            logger.error("%s", error)
            self.exitcode = EXIT_REFUSED
        except Terminated:
            self.exitcode = EXIT_TERMINATED
        else:
            if problem is not None:
                logger.error("%s", problem)
                self.exitcode = EXIT_INCOMPLETE

    def _collect_again(self, urn: str) -> None:
        """Collect lost bodies in another process, since Scrapy cannot be started twice in one."""
        process = subprocess.Popen(collect_command(urn))
        with forwarding([process]):
            self.exitcode = process.wait()

    @staticmethod
    def _check(name: str, spider: type[BaseSpider], arguments: dict[str, str]) -> None:
        publication = publication_name(name, arguments)
        if publication is None and "item" not in arguments:
            raise UsageError("Name the publication: scrapy crawl publication -a name=NAME", print_help=False)
        spider.check_arguments(arguments)
        if not issubclass(spider, StreamsSpider):
            check_can_begin(Config(), publication, arguments.get("item"))
