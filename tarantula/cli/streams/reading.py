"""``tarantula stream read``, ``poll`` and ``aside``: read sources, and review values put aside."""

from __future__ import annotations

import getpass
from enum import StrEnum
from typing import Annotated, Any

import typer

from tarantula.cli.entry_point import EXIT_REFUSED, restore_signal_handlers
from tarantula.cli.streams.source_options import local_second
from tarantula.cli.terminal import console, table, write_json
from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.core.errors import TarantulaError
from tarantula.streams import require_packages
from tarantula.streams.ingest import put_aside
from tarantula.streams.ingest.outcome import FailedReading, IngestResult
from tarantula.streams.sources import registry
from tarantula.streams.values.value import Value


def read(
    beside: Annotated[int | None, typer.Option(metavar="PID", help="As long as this parent process.")] = None,
) -> None:
    """Read every source when it is due, until Ctrl-C."""
    require_packages()
    Config().make_home()
    spider = _crawl({"TARANTULA_BESIDE": beside or 0})
    if spider is None or spider.collection.trouble is not None:
        raise typer.Exit(EXIT_REFUSED)


def poll(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The source.")],
    dry: Annotated[bool, typer.Option("--dry", help="Keep nothing of it.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Read one source once, now, and show what was read."""
    require_packages()
    with open_database() as database, database.reading() as session:
        registry.validated_config(registry.get(session, name))
    spider = _crawl({"LOG_LEVEL": "ERROR"}, poll=name)
    from tarantula.streams.reading.reader import ingest_polled

    attempt = spider.collection.attempt if spider is not None else None
    if attempt is None:
        raise TarantulaError(f"{name} was not read.")
    with open_database() as database:
        kept = ingest_polled(database, attempt, is_dry=dry)
    if isinstance(attempt.outcome, FailedReading):
        # What happened now, whatever is said of it in general.
        kept.status, kept.sentence = attempt.outcome.status, attempt.outcome.sentence
    if as_json:
        write_json(_as_dict(kept))
    else:
        _show(kept, dry)


def _crawl(settings: dict[str, Any], **arguments: str) -> Any:
    """Run the spider in this process; return it, if it began."""
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.settings import Settings

    from tarantula.spiders.streams import StreamsSpider

    used = Settings()
    used.setmodule("tarantula.settings", priority="project")
    used.setdict(settings, priority="cmdline")
    process = AsyncCrawlerProcess(used)
    crawler = process.create_crawler(StreamsSpider)
    process.crawl(crawler, **arguments)
    process.start()
    restore_signal_handlers()
    return None if process.bootstrap_failed else crawler.spider


def _as_dict(kept: IngestResult) -> dict[str, Any]:
    """Return what was read for JSON; the keys are an interface."""
    return {
        "status": kept.status,
        "sentence": kept.sentence,
        "values": [
            {"field": field, "row": row, "kind": value.kind, "value": value.text, "unit": _unit(kept, field, value)}
            for (field, row), value in kept.values.items()
        ],
        "events": len(kept.events),
        "put_aside": [
            {"field": doubt.field, "row": doubt.row, "read": doubt.text[:1000], "why": doubt.why}
            for doubt in kept.aside
        ],
        "missing": kept.missing,
    }


def _show(kept: IngestResult, dry: bool) -> None:
    drawn = table("field", "row", "value", "kind", "unit")
    for (field, row), value in kept.values.items():
        drawn.add_row(field, row, value.text, value.kind, _unit(kept, field, value))
    if kept.values:
        console().print(drawn)
    for doubt in kept.aside:
        where = " ".join(part for part in (doubt.field, doubt.row) if part)
        print(f"Put aside: {where}: {doubt.text[:80]!r}. {doubt.why}")
    for field, sentence in kept.missing.items():
        print(f"Missing: {field}. {sentence}")
    if kept.sentence and not (kept.aside or kept.missing):
        print(kept.sentence)
    number = len(kept.events)
    print("Nothing is kept." if dry else f"{number} event{'' if number == 1 else 's'} kept.")


def _unit(kept: IngestResult, field: str, value: Value) -> str:
    """Return the unit in which a value is kept, whatever the page wrote behind it."""
    return kept.config.field(field).unit or value.unit


class ReviewAction(StrEnum):
    """What can be done."""

    LIST = "list"
    ACCEPT = "accept"
    DISMISS = "dismiss"


def aside(
    act: Annotated[ReviewAction, typer.Argument(help="What is done.")] = ReviewAction.LIST,
    which: Annotated[str, typer.Argument(metavar="WHICH", help="A source to list, or the number to decide on.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
    by: Annotated[str | None, typer.Option("--by", help="Who decides; the login name unless told.")] = None,
) -> None:
    """Show texts that may not be the value that was meant, and say of one that it is, or is not."""
    if act is ReviewAction.LIST:
        _aside_show(which or None, as_json)
        return
    from tarantula.streams.ingest import decisions

    if not which.isdigit():
        raise TarantulaError(f"Name the number of what was put aside, as `tarantula stream aside {act} 3`.")
    who = by or getpass.getuser()
    with open_database() as database, database.session() as session:
        if act is ReviewAction.ACCEPT:
            value = decisions.accept_text(session, int(which), who)
            print(f"{value.text} is the value. Where it was found is where it is looked for from now on.")
        else:
            decisions.dismiss_text(session, int(which), who)
            print(f"Number {which} is not shown any more.")


def _aside_show(name: str | None, as_json: bool) -> None:
    with open_database() as database, database.reading() as session:
        rows = put_aside.pending_texts(session, name)
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
