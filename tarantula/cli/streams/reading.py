"""``tarantula stream read``, ``poll`` and ``aside``: read sources, and review values put aside."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from tarantula.cli.streams.source_options import local_second
from tarantula.cli.terminal import Json, console, table, write_json
from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.termination import EXIT_REFUSED, restore_signal_handlers
from tarantula.services.context import local_context
from tarantula.services.streams import sources, values
from tarantula.streams import require_packages
from tarantula.streams.ingest.value_typing import FailedReading, IngestResult
from tarantula.streams.values.value import Value


class ReviewAction(StrEnum):
    """What ``aside`` does."""

    LIST = "list"
    ACCEPT = "accept"
    DISMISS = "dismiss"


def read(
    beside: Annotated[int | None, typer.Option(metavar="PID", help="Run as long as this parent process.")] = None,
) -> None:
    """Read every source when it is due, until Ctrl-C."""
    require_packages()
    Config().make_home()
    spider = _run_spider({"TARANTULA_BESIDE": beside or 0})
    if spider is None or spider.collection.trouble is not None:
        raise typer.Exit(EXIT_REFUSED)


def poll(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The source.")],
    dry: Annotated[bool, typer.Option("--dry", help="Store nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Read one source once, now, and show the values."""
    require_packages()
    with local_context() as context:
        sources.check_source(context, name)
    spider = _run_spider({"LOG_LEVEL": "ERROR"}, poll=name)
    from tarantula.streams.reading.reader import ingest_polled

    attempt = spider.collection.attempt if spider is not None else None
    if attempt is None:
        raise TarantulaError("{name} was not read.", name=name)
    with local_context() as context:
        result = ingest_polled(context.database, attempt, is_dry=dry)
    if isinstance(attempt.outcome, FailedReading):
        # Show the failure of this reading instead of the status of the source.
        result.status, result.sentence = attempt.outcome.status, attempt.outcome.sentence
    if as_json:
        write_json(_as_dict(result))
    else:
        _show(result, dry)


def aside(
    action: Annotated[ReviewAction, typer.Argument(help="What to do.")] = ReviewAction.LIST,
    which: Annotated[str, typer.Argument(metavar="WHICH", help="A source to list, or the number to decide.")] = "",
    as_json: Json = False,
    by: Annotated[str | None, typer.Option("--by", help="Who decides; default your login name.")] = None,
) -> None:
    """List doubtful texts that were put aside, and accept or dismiss one as the value."""
    if action is ReviewAction.LIST:
        _list_put_aside(which or None, as_json)
        return
    if not which.isdigit():
        raise TarantulaError(
            "Give the number of a text that was put aside, as `tarantula stream aside {action} 3`.", action=action
        )
    number = int(which)
    with local_context() as context:
        if action is ReviewAction.ACCEPT:
            value = values.accept_put_aside(context, number, by)
            print(f"{value} is the value. The source is read from its place from now on.")
        else:
            values.dismiss_put_aside(context, number, by)
            print(f"Number {number} is dismissed.")


def _run_spider(settings: dict[str, Any], **arguments: str) -> Any:
    """Run the spider in this process; return it, or ``None`` if it did not start."""
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.settings import Settings

    from tarantula.engine.blame import failed_component, failure_sentence, run_to_end
    from tarantula.spiders.streams import StreamsSpider

    spider_settings = Settings()
    spider_settings.setmodule("tarantula.settings", priority="project")
    spider_settings.setdict(settings, priority="cmdline")
    process = AsyncCrawlerProcess(spider_settings)
    crawler = process.create_crawler(StreamsSpider)
    # The event loop logs exceptions with tracebacks unless they are retrieved.
    error = run_to_end(process, process.crawl(crawler, **arguments))
    restore_signal_handlers()
    if error is not None and failed_component(error, crawler.settings) is not None:
        raise TarantulaError(failure_sentence(error, crawler.settings)) from error
    if error is not None:
        raise error
    return None if process.bootstrap_failed else crawler.spider


def _as_dict(result: IngestResult) -> dict[str, Any]:
    """Return the result as JSON values; the keys are stable."""
    return {
        "status": result.status,
        "sentence": result.sentence,
        "values": [
            {"field": field, "row": row, "kind": value.kind, "value": value.text, "unit": _unit(result, field, value)}
            for (field, row), value in result.values.items()
        ],
        "events": len(result.events),
        "put_aside": [
            {"field": doubt.field, "row": doubt.row, "read": doubt.text[:1000], "why": doubt.why}
            for doubt in result.aside
        ],
        "missing": result.missing,
    }


def _show(result: IngestResult, dry: bool) -> None:
    drawn = table("field", "row", "value", "kind", "unit")
    for (field, row), value in result.values.items():
        drawn.add_row(field, row, value.text, value.kind, _unit(result, field, value))
    if result.values:
        console().print(drawn)
    for doubt in result.aside:
        where = " ".join(part for part in (doubt.field, doubt.row) if part)
        print(f"Put aside: {where}: {doubt.text[:80]!r}. {doubt.why}")
    for field, sentence in result.missing.items():
        print(f"Missing: {field}. {sentence}")
    if result.sentence and not (result.aside or result.missing):
        print(result.sentence)
    number = len(result.events)
    print("Nothing is stored." if dry else f"{number} event{'' if number == 1 else 's'} stored.")


def _unit(result: IngestResult, field: str, value: Value) -> str:
    """Return the unit of the stored value: that of the field, or that on the page."""
    return result.config.field(field).unit or value.unit


def _list_put_aside(name: str | None, as_json: bool) -> None:
    with local_context() as context:
        rows = values.pending_texts(context, name)
    if as_json:
        write_json(
            [
                {
                    "number": row.id,
                    "source": source,
                    "field": row.field,
                    "row": row.row,
                    "read": row.read,
                    "why": row.why,
                    "times": row.times,
                    "at": row.at,
                }
                for source, row in rows
            ]
        )
        return
    drawn = table("number", "source", "field", "row", "read", "times", "last", "why", numbers=("number", "times"))
    for source, row in rows:
        text = row.read if len(row.read) <= 80 else f"{row.read[:79]}…"
        drawn.add_row(str(row.id), source, row.field, row.row, text, str(row.times), local_second(row.at), row.why)
    console().print(drawn)
