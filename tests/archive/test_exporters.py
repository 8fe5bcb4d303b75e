"""Export formats by name and import path."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from tarantula.archive.export.exporter import Exporter, export_formats, export_item
from tarantula.archive.export.records import ExportProgress
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.registry import ComponentError
from tarantula.models import Item
from tests.support.archived_items import archive

PATH = f"{__name__}.UrnExporter"


class UrnExporter(Exporter):
    """Writes only the urn of an item."""

    suffix = ".txt"

    def write(
        self, session: Session, installation: Config, item: Item, path: Path, scratch: Path, progress: ExportProgress
    ) -> dict[str, int]:
        path.write_text(item.urn)
        return {"lines": 1}


@pytest.mark.parametrize(("setting", "format_name"), [("", PATH), (f"urn={PATH}; other = {PATH}", "urn")])
def test_an_export_format_is_chosen_by_name_or_import_path(
    sqlite: Database, config: Config, setting: str, format_name: str
) -> None:
    urn = archive(sqlite, config)
    result = export_item(config.model_copy(update={"exporters": setting}), sqlite, urn, format_name)
    assert (result.format, result.contents, result.bytes) == (format_name, {"lines": 1}, len(urn))
    assert Path(result.path) == config.home / "exports" / f"{urn}.txt"
    assert Path(result.path).read_text() == urn


@pytest.mark.parametrize(
    ("setting", "format_name", "message"),
    [
        ("", "waz", r"There is no export format waz\. Did you mean wacz\?.* wacz, bagit"),
        (f"urn={PATH}", "nothing", "wacz, bagit, urn"),
        ("", "json.JSONDecoder", "json.JSONDecoder is not a subclass of .*Exporter"),
        ("", "no.such.Exporter", "There is no export format no.such.Exporter"),
        (PATH, "wacz", "Write it as name=package.module.Class"),
    ],
)
def test_an_unsuitable_format_is_reported(config: Config, setting: str, format_name: str, message: str) -> None:
    with pytest.raises(ComponentError, match=message):
        export_formats(config.model_copy(update={"exporters": setting})).load(format_name)
