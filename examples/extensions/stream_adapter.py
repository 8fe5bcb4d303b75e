"""A stream adapter: values in lines of a text, by line number."""

from __future__ import annotations

from pydantic import BaseModel

from tarantula.streams.adapters.base import Adapter, AdapterMemory, ReadRow, SourceReading, SourceResponse
from tarantula.streams.sources.config import SourceConfig


class LineOptions(BaseModel):
    """No options."""


class LinePlace(BaseModel):
    """Number of the line, from 1."""

    line: int = 1


class LineAdapter(Adapter):
    """Read lines of a text by number."""

    Options = LineOptions
    Place = LinePlace

    def read(self, response: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        lines = dict(enumerate(response.body.decode().splitlines(), 1))
        texts, missing = {}, {}
        for field in source.fields:
            number = LinePlace.model_validate(field.place).line
            if number in lines:
                texts[field.key] = lines[number]
            else:
                missing[field.key] = f"The text has only {len(lines)} lines."
        return SourceReading([ReadRow(texts)], missing=missing)
