"""``tarantula item show``, ``validate`` and ``reject``: what helps to decide about an item, and the decision."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from getpass import getuser
from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal

from tarantula.archive.quality.baseline import BaselineComparison, Vanished
from tarantula.archive.quality.indicators import Indicators, fired_rules, load_indicators
from tarantula.archive.quality.validation import ItemDecision, list_decisions
from tarantula.cli.terminal import console, local_time, table, write_json
from tarantula.core.database import open_database
from tarantula.publications.attention import FiredRule
from tarantula.publications.attention_part_attention import is_complete
from tarantula.services.deposit import Deposit
from tarantula.store.listings import find_item
from tarantula.tables.publications import Item

ItemUrn = Annotated[str, typer.Argument(metavar="URN", help="The item.")]
By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who decides; your login name unless told.")]


def validate(
    urn: ItemUrn,
    by: By = None,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason.")] = "",
    anyway: Annotated[bool, typer.Option("--anyway", help="Also if it is not complete.")] = False,
) -> None:
    """Accept an item: a librarian found it good."""
    with _deposit() as deposit:
        _say(deposit.validate(urn, _who(by), why, anyway))


def reject(
    urn: ItemUrn,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason.")],
    by: By = None,
) -> None:
    """Refuse an item: a librarian found it bad."""
    with _deposit() as deposit:
        _say(deposit.reject(urn, _who(by), why))


def show(urn: ItemUrn, as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False) -> None:
    """Show what helps to decide about an item, the rules that it breaks, and what was decided."""
    with open_database() as database, database.reading() as session:
        item = find_item(session, urn)
        indicators = load_indicators(session, item)
        history = list_decisions(session, item)
    fired = fired_rules(item, indicators)
    complete = is_complete(item.state, [one.effect for one in fired])
    if as_json:
        write_json(
            {
                "urn": item.urn,
                "state": item.state,
                "complete": complete,
                "validation": item.validation,
                "rules": [asdict(one) for one in fired],
                "decisions": [one.as_dict() for one in history],
                "indicators": indicators.as_dict(),
            }
        )
    else:
        _draw(item, complete, indicators, fired, history)


def _deposit() -> Deposit:
    # Hooks of one's own are found beside one, as `scrapy` finds components.
    sys.path.insert(0, os.getcwd())
    return Deposit()


def _who(by: str | None) -> str:
    if by is not None:
        return by
    try:
        return getuser()
    except (ImportError, KeyError, OSError):
        return ""


def _say(decided: ItemDecision) -> None:
    print(f"{decided.urn} is {decided.validation}, says {decided.by}.")


def _draw(
    item: Item, complete: bool, indicators: Indicators, fired: list[FiredRule], history: list[ItemDecision]
) -> None:
    screen = console()
    called = "complete" if complete else "not complete"
    screen.print(f"{item.urn}: {item.state}, {called}, {item.validation}", style="bold")
    for one in fired:
        screen.print(f"{one.effect}: {one.reason}", style="red" if one.effect == "incomplete" else "yellow")
    _draw_indicators(screen, indicators)
    if history:
        drawn = table("decided", "by", "when", "why", title="\nDecisions")
        for decided in history:
            drawn.add_row(decided.validation, decided.by, local_time(decided.at), decided.why)
        screen.print(drawn)


def _draw_indicators(screen: Console, indicators: Indicators) -> None:
    drawn = table("indicator", "value", title="\nIndicators")
    base, needed = indicators.base, indicators.requisites
    drawn.add_row("documents", f"{indicators.documents:,}, {indicators.collected:,} collected")
    drawn.add_row("bytes", decimal(indicators.bytes))
    drawn.add_row("errors", f"{indicators.errors:,} of {indicators.asked:,} that were asked for")
    drawn.add_row("base document", f"{base.url}: {base.state}{_changed(base.changed)}")
    drawn.add_row(
        "requisites",
        f"{needed.wanted:,}: {needed.collected:,} collected, {needed.refused:,} refused, {needed.missing:,} missing",
    )
    for missing in needed.examples:
        drawn.add_row("", f"missing: {missing.url}: {missing.state} {missing.reason or ''}".rstrip())
    for row in indicators.states:
        drawn.add_row(f"state {row.state}", f"{row.documents:,} ({row.percent:.1f} %): {row.meaning}")
    if indicators.before is not None:
        for name, value in _rows_of(indicators.before):
            drawn.add_row(name, value)
    screen.print(drawn)


def _rows_of(before: BaselineComparison) -> list[tuple[str, str]]:
    return [
        ("compared with", ", ".join(before.items)),
        ("usual documents", f"{before.documents:,.0f}{_change(before.documents_change)}"),
        ("usual bytes", f"{decimal(int(before.bytes))}{_change(before.bytes_change)}"),
        ("vanished servers", _vanished(before.servers)),
        ("vanished types", _vanished(before.types)),
    ]


def _vanished(vanished: Vanished) -> str:
    names = f": {', '.join(vanished.names)}" if vanished.names else ""
    return f"{vanished.number:,} of {vanished.of:,}{names}"


def _change(change: float | None) -> str:
    return "" if change is None else f" ({change:+.1f} % now)"


def _changed(changed: bool | None) -> str:
    return "" if changed is None else ", changed" if changed else ", as before"
