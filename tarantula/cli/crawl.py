"""``tarantula crawl``: collect one item now, and see it happen."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tarantula.config import Config
from tarantula.coordinator import check_can_begin
from tarantula.errors import TarantulaError


def crawl(
    name: Annotated[str, typer.Argument(help="The publication.")],
    item: Annotated[str | None, typer.Option(help="Go on with this item instead of beginning a new one.")] = None,
) -> None:
    """Collect one item of a publication now, with a progress display."""
    check_can_begin(Config(), name, item)
    collection = _run(name, item)
    if collection is None:
        raise TarantulaError(f"The collection of {name} could not begin. Its log is on the screen above.")
    from tarantula.cli.report import show_report

    show_report(collection.urn)
    if collection.trouble is not None:
        raise collection.trouble


def _run(name: str, item: str | None) -> Any:
    """Run the spider in this process; return its collection."""
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.settings import Settings

    from tarantula.spiders.publication import spider_for

    settings = Settings()
    settings.setmodule("tarantula.settings", priority="project")
    settings.set("TARANTULA_PROGRESS", True, priority="cmdline")
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(spider_for(name))
    process.crawl(crawler, name=name, **({"item": item} if item else {}))
    process.start()
    return getattr(crawler.spider, "collection", None)
