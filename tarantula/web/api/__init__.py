"""The API: one module a noun."""

from __future__ import annotations

from fastapi import APIRouter

from tarantula.web.api import (
    alerts,
    decisions,
    documents,
    documents_part_comparing,
    items,
    items_part_exports,
    people,
    publications,
    search,
    servers,
    streams,
    streams_part_stream_exports,
    types,
    views,
)
from tarantula.web.api.common import GUARDS, REFUSALS

__all__ = ["router"]

router = APIRouter(prefix="/api", dependencies=GUARDS, responses=REFUSALS)
NOUNS = (
    *(
        publications,
        types,
        items,
        documents,
        servers,
        decisions,
        documents_part_comparing,
        items_part_exports,
        people,
        search,
    ),
    *(streams, streams_part_stream_exports, views, alerts),
)
for noun in NOUNS:
    router.include_router(noun.router)
