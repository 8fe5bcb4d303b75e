"""The page with which a mirror opens: what it is a mirror of, and its report."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from rich.filesize import decimal

from tarantula.archive.quality.report import ItemReport
from tarantula.links.relocation_part_moved import LinkDestination
from tarantula.publications.config import PublicationConfig
from tarantula.tables.publications import Item

MAX_SERVER_ROWS = 20
"""Servers that are listed."""

STYLE = """
body { font: 16px/1.5 sans-serif; max-width: 52em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin-bottom: 2em }
caption { text-align: left; font-weight: bold }
th, td { text-align: left; padding: .1em 1.5em .1em 0; vertical-align: top; overflow-wrap: anywhere }
td.number { text-align: right }
"""

TableCells = Iterable[tuple[str | int | float, ...]]


def index_page(item: Item, report: ItemReport, base: LinkDestination, skipped: Iterable[tuple[str, str]]) -> str:
    """Return the page of an item whose base document is at *base*; *skipped* are documents that could not be read."""
    config = PublicationConfig.model_validate(item.configuration)
    totals = report.totals
    lost = _table("Documents that could not be read", ("address", "why"), skipped)
    tables = (
        _table("States", ("state", "meaning", "documents"), [(r.state, r.meaning, r.documents) for r in report.states]),
        _table("Types", ("type", "documents", "bytes"), [(r.type, r.documents, r.bytes) for r in report.types]),
        _table(
            "Servers",
            ("server", "documents", "bytes"),
            [(r.server, r.documents, r.bytes) for r in report.servers[:MAX_SERVER_ROWS]],
        ),
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{escape(item.urn)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{escape(item.urn)}</h1>
<p>{escape(config.description)}</p>
<dl>
<dt>Publication</dt><dd>{escape(config.name)}</dd>
<dt>Base document</dt><dd><a href="{escape(_address(base))}">{escape(config.base_url)}</a></dd>
<dt>Collected</dt><dd>{escape(_dates(item))}</dd>
</dl>
<p>{totals.documents:,} documents, {totals.collected:,} of them collected from {totals.servers:,} servers:
{decimal(totals.bytes)}, {totals.links:,} links. The whole report is in <a href="report.json">report.json</a>.</p>
{lost}{"".join(tables)}</body>
</html>
"""


def _address(base: LinkDestination) -> str:
    return (base.path or base.url) + base.fragment


def _dates(item: Item) -> str:
    moments = [moment.strftime("%Y-%m-%d %H:%M UTC") for moment in (item.started_at, item.finished_at) if moment]
    return " to ".join(moments) or item.planned_at.strftime("%Y-%m-%d %H:%M UTC")


def _table(caption: str, headings: tuple[str, ...], rows: TableCells) -> str:
    lines = ["".join(map(_cell, row)) for row in rows]
    if not lines:
        return ""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return f"<table>\n<caption>{escape(caption)}</caption>\n<tr>{head}</tr>\n{body}</table>\n"


def _cell(value: str | float) -> str:
    return f"<td>{escape(value)}</td>" if isinstance(value, str) else f'<td class="number">{value:,}</td>'
