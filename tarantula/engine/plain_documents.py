"""Documents as plain data for ``ItemAdapter``: feed exports (``-o``) and pipelines as in Scrapy's documentation."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, cast

from itemadapter.adapter import AdapterInterface, ItemAdapter

from tarantula.core.reasons import reason_fields
from tarantula.items import CollectedDocument

ENTRY_FIELDS = ("url", "server", "depth", "redirects", "tries")
DOCUMENT_FIELDS = ("state", "reason", "rule", "type", "size")
REASON_FIELDS = ("reason_code", "reason_parameters")
FIELDS = (*ENTRY_FIELDS, *DOCUMENT_FIELDS, *REASON_FIELDS, "collected_at", "links")


class DocumentAdapter(AdapterInterface):
    """Shows a `CollectedDocument` as texts and numbers, without its bodies; the link list is a list of URLs."""

    item: CollectedDocument

    @classmethod
    def is_item_class(cls, item_class: type) -> bool:
        return issubclass(item_class, CollectedDocument)

    @classmethod
    def get_field_names_from_class(cls, item_class: type) -> list[str] | None:
        return list(FIELDS)

    def __getitem__(self, field_name: str) -> Any:
        if field_name in ENTRY_FIELDS:
            return getattr(self.item.entry, field_name)
        if field_name in DOCUMENT_FIELDS:
            value = getattr(self.item, field_name)
            return int(value) if field_name == "state" else value
        if field_name in REASON_FIELDS:
            return reason_fields(self.item.why)[field_name]
        if field_name == "collected_at":
            return self.item.collected_at.isoformat() if self.item.collected_at else None
        if field_name == "links":
            return [link.url for link in self.item.links]
        raise KeyError(field_name)

    def __setitem__(self, field_name: str, value: Any) -> None:
        if field_name not in DOCUMENT_FIELDS:
            raise KeyError(f"{field_name} cannot be set; these can: {', '.join(DOCUMENT_FIELDS)}")
        setattr(self.item, field_name, value)

    def __delitem__(self, field_name: str) -> None:
        raise KeyError(f"{field_name} cannot be removed from a document")

    def __iter__(self) -> Iterator[str]:
        return iter(FIELDS)

    def __len__(self) -> int:
        return len(FIELDS)


def register_document_adapter() -> None:
    """Make ``ItemAdapter`` show documents as plain data; call it once before a collection."""
    adapters = cast("deque[type[AdapterInterface]]", ItemAdapter.ADAPTER_CLASSES)
    if DocumentAdapter not in adapters:
        adapters.appendleft(DocumentAdapter)
