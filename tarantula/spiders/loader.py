"""Spider loader: one spider for each publication in the database, and the spiders in `tarantula.spiders`."""

from __future__ import annotations

from scrapy import Spider
from scrapy.exceptions import UsageError
from scrapy.spiderloader import SpiderLoader

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.publications import registry
from tarantula.spiders.publication import spider_for
from tarantula.store.database import open_database


class PublicationSpiderLoader(SpiderLoader):
    """``scrapy list`` names every publication, and ``scrapy crawl fcul`` collects one."""

    def list(self) -> list[str]:
        return sorted({*super().list(), *_publication_names()})

    def load(self, spider_name: str) -> type[Spider]:
        if spider_name not in self._spiders and spider_name in _publication_names():
            return spider_for(spider_name)
        return super().load(spider_name)


def _publication_names() -> list[str]:
    try:
        with open_database(Config()) as database, database.reading() as session:
            return [publication.name for publication in registry.all_publications(session)]
    except TarantulaError as error:
        # The only exception that Scrapy's commands show without a traceback.
        raise UsageError(str(error), print_help=False) from error
