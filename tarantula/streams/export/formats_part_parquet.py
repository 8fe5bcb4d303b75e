"""Parquet, for whoever calculates further."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from sqlalchemy.orm import Session

from tarantula.core.errors import TarantulaError
from tarantula.store.bulk import chunks
from tarantula.streams.export.rows import ExportQuery, export_rows

PARQUET_GROUP_ROWS = 50_000
"""Of one group: what is in memory at a time."""


class _ChunkBuffer(BytesIO):
    """What was written since somebody looked."""

    def taken(self) -> bytes:
        """Return it, and forget it; the writer goes on counting from where it was."""
        data = self.getvalue()
        self.seek(0)
        self.truncate()
        return data


def parquet_chunks(session: Session, what: ExportQuery) -> Iterator[bytes]:
    """Yield a file; moments are in UTC, values are texts, exact, and ``number`` is what they are for drawing."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise TarantulaError("Parquet is written with pyarrow: pip install 'tarantula[streams]'") from error
    schema = pyarrow.schema([(column, _type(pyarrow, column)) for column in what.columns])
    outlet = _ChunkBuffer()
    with parquet.ParquetWriter(pyarrow.PythonFile(outlet, mode="w"), schema) as writer:
        for some in chunks(export_rows(session, what), PARQUET_GROUP_ROWS):
            columns = [list(column) for column in zip(*some, strict=True)]
            arrays = [pyarrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            yield outlet.taken()
    yield outlet.taken()


def _type(pyarrow: Any, column: str) -> Any:
    if column in ("at", "start"):
        return pyarrow.timestamp("us", "UTC")
    return {"count": pyarrow.int64(), "number": pyarrow.float64()}.get(column, pyarrow.string())
