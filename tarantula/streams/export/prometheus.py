"""Latest values for Prometheus: ``tarantula_stream_value``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.models import Series, Source
from tarantula.streams.export.rows import ExportQuery
from tarantula.streams.history import last_values

METRIC_NAME = "tarantula_stream_value"
METRIC_HELP = "Latest value of a source."
METRIC_LABELS = ("source", "field", "row")


class MetricLabels(NamedTuple):
    source: str
    field: str
    row: str


def last_numbers(session: Session) -> dict[MetricLabels, float]:
    """Return the latest numeric values of all public sources."""
    rows = session.execute(
        select(Series.id, Source.name, Series.field, Series.row)
        .join(Source, Source.id == Series.source_id)
        .where(Source.is_private.is_(False))
        .order_by(Source.name, Series.id)
    ).all()
    return _numbers(session, {series: MetricLabels(*labels) for series, *labels in rows})


def selected_numbers(session: Session, query: ExportQuery) -> dict[MetricLabels, float]:
    """Return the latest numeric values of a selection; its source may be private."""
    return _numbers(session, {one.id: MetricLabels(query.source, one.field, one.row) for one in query.series})


def _numbers(session: Session, wanted: Mapping[int, MetricLabels]) -> dict[MetricLabels, float]:
    latest = last_values(session, wanted)
    return {
        labels: number
        for series, labels in wanted.items()
        if series in latest and (number := latest[series].number) is not None and math.isfinite(number)
    }


def prometheus_text(values: Mapping[MetricLabels, float]) -> bytes:
    """Return values in Prometheus's text format."""
    lines = [f"# HELP {METRIC_NAME} {METRIC_HELP}", f"# TYPE {METRIC_NAME} gauge"]
    for labels, value in values.items():
        named = ",".join(f'{label}="{_escaped(text)}"' for label, text in zip(METRIC_LABELS, labels, strict=True))
        lines.append(f"{METRIC_NAME}{{{named}}} {value!r}")
    return ("\n".join(lines) + "\n").encode()


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
