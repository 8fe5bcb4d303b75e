"""Spider loaders: one spider for each publication in the database, previews for Scrapy's tools."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings
from scrapy.spiderloader import SpiderLoader

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.urls import canonical, is_web, server_of
from tarantula.crawl.responses import document_of, exchange_for
from tarantula.engine.plain_documents import register_document_adapter
from tarantula.engine.settings import COLLECTION_SETTINGS
from tarantula.fetch.egress import EgressPolicy, NamedAddress
from tarantula.items import CollectedDocument, FrontierEntry
from tarantula.links.link import LinkKind
from tarantula.publications import registry
from tarantula.scope.rule import Candidate
from tarantula.spiders.base import BaseSpider
from tarantula.spiders.publication import spider_for
from tarantula.store.database import open_database
from tarantula.store.server_settings import egress_policy, scope_of

if TYPE_CHECKING:
    from scrapy.http import Response

    from tarantula.scope.scope import Scope


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


class PreviewSpider(Spider):
    """Parses responses by the scope of a publication, without an item and without storing anything."""

    typed: tuple[str, ...] = ()
    """Canonical URLs that a person typed."""
    _scope: Scope | None = None

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Keep the components of Scrapy, except for connections: those of a collection store what they see."""
        super().update_settings(settings)
        settings.set("DOWNLOAD_HANDLERS", COLLECTION_SETTINGS["DOWNLOAD_HANDLERS"], priority="spider")
        register_document_adapter()

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        """Yield the document that a collection would store, and a request for each link within the scope."""
        assert response.request is not None
        url = canonical(response.url) or response.url
        entry = FrontierEntry(0, url, server_of(url), response.meta.get("depth", 0), LinkKind.NAVIGATION)
        exchange = replace(exchange_for(response.request, response), notes=())
        document = document_of(entry, exchange, self.scope)
        yield document
        yield from (Request(link, callback=self.parse) for link in self._accepted(document))

    @property
    def egress(self) -> EgressPolicy:
        """Which addresses may be connected to: those of the publication, and those that were typed."""
        with open_database(Config()) as database, database.reading() as session:
            config = registry.config_of(registry.get_publication(session, self.name))
        policy = egress_policy(Config(), config)
        return replace(policy, named=(*policy.named, *filter(None, map(NamedAddress.of_url, self.typed))))

    @property
    def scope(self) -> Scope:
        """The scope of the publication, read from the database at the first use."""
        if self._scope is None:
            with open_database(Config()) as database, database.reading() as session:
                publication = registry.get_publication(session, self.name)
                self._scope = scope_of(session, registry.config_of(publication), publication.id)
        return self._scope

    def _accepted(self, document: CollectedDocument) -> Iterator[str]:
        depth = document.entry.depth
        for link in document.links:
            if self.scope.judge(Candidate(link.url, server_of(link.url), depth + 1, link.kind)).accepted:
                yield link.url


class PreviewSpiderLoader(PublicationSpiderLoader):
    """Loads a preview in place of each spider that would store something."""

    typed: tuple[str, ...] = ()

    def load(self, spider_name: str) -> type[Spider]:
        spider = super().load(spider_name)
        if not issubclass(spider, BaseSpider):
            return spider
        if spider_name not in _publication_names():
            raise UsageError(
                "Name a publication with --spider: `tarantula publication list` shows them.", print_help=False
            )
        return type("PreviewSpider", (PreviewSpider,), {"name": spider_name, "typed": self.typed})


class PreviewCommand(ScrapyCommand):
    """Part of a command of Scrapy that makes it load previews of the spiders of publications."""

    def run(self, args: list[str], opts: Namespace) -> None:
        assert self.crawler_process is not None
        loader = PreviewSpiderLoader.from_settings(self.crawler_process.settings)
        loader.typed = tuple(url for url in map(canonical, args) if url is not None and is_web(url))
        self.crawler_process.spider_loader = loader
        super().run(args, opts)  # type: ignore[safe-super]
