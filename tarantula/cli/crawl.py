"""``tarantula crawl``: collect one item now, and see it happen."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from tarantula.cli.crawl_part_collectors import run_collectors
from tarantula.cli.entry_point import EXIT_INTERRUPTED, restore_signal_handlers
from tarantula.cli.report import show_report
from tarantula.cli.terminal import progress_bar
from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.core.errors import TarantulaError
from tarantula.core.states import ItemState
from tarantula.lifecycle.coordinator import abandon_item, check_can_begin, complete_item, prepare_item
from tarantula.store.listings import find_item

Collectors = Annotated[int, typer.Option("--collectors", min=1, help="How many processes share the item.")]


def crawl(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The publication.")], collectors: Collectors = 1
) -> None:
    """Collect one item of a publication now, with a progress display."""
    collect(name, collectors=collectors)


def collect(name: str, urn: str | None = None, collectors: int = 1) -> None:
    """Collect a new item, or go on with the one named *urn*; end with its report."""
    # Components of one's own are found beside one, as `scrapy` finds them.
    sys.path.insert(0, os.getcwd())
    check_can_begin(Config(), name, urn)
    if collectors > 1:
        urn = urn or prepare_item(Config(), name)
        codes = run_collectors(name, urn, collectors)
    else:
        urn, codes = _collect_here(name, urn)
    complete(urn)
    show_report(urn)
    _say_how_it_ended(urn, max(codes))


def complete(urn: str) -> None:
    """Convert and archive what was collected."""
    try:
        with progress_bar(f"Converting {urn}") as progress:
            complete_item(Config(), urn, progress)
    except KeyboardInterrupt:
        typer.echo(f"Its links are not converted. Go on with `tarantula item resume {urn}`.")
        raise typer.Exit(EXIT_INTERRUPTED) from None


def _say_how_it_ended(urn: str, code: int) -> None:
    with open_database() as database, database.reading() as session:
        item = find_item(session, urn)
        state, reason = item.state, item.reason or "It was left."
    if state == ItemState.CONVERTING:
        raise TarantulaError(f"Another process is converting {urn}.")
    if state != ItemState.ARCHIVED:
        typer.echo(f"Interrupted: {reason} Go on with `tarantula item resume {urn}`.")
        raise typer.Exit(code or EXIT_INTERRUPTED)


def _collect_here(name: str, urn: str | None) -> tuple[str, list[int]]:
    collection, began = _run(name, urn)
    if not began:
        abandon_item(collection)
        log = Config().home / "tarantula.log"
        raise TarantulaError(f"The collection of {name} could not begin. {log} says why.")
    return collection.urn, [0 if collection.trouble is None else 2]


def _run(name: str, urn: str | None) -> tuple[Any, bool]:
    """Run the spider in this process; return its collection, and whether it began."""
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.settings import Settings

    from tarantula.spiders.publication import spider_for

    settings = Settings()
    settings.setmodule("tarantula.settings", priority="project")
    settings.set("TARANTULA_PROGRESS", True, priority="cmdline")
    # Until the item has a log of its own, what is logged goes here and not across the display.
    settings.set("LOG_FILE", str(Config().home / "tarantula.log"), priority="project")
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(spider_for(name))
    process.crawl(crawler, name=name, **({"item": urn} if urn else {}))
    process.start()
    restore_signal_handlers()
    return getattr(crawler.spider, "collection", None), not process.bootstrap_failed
