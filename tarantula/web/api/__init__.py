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
from tarantula.web.api.common import API_DEPENDENCIES, ERROR_RESPONSES

__all__ = ["router"]

router = APIRouter(prefix="/api", dependencies=API_DEPENDENCIES, responses=ERROR_RESPONSES)
RESOURCES = (
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
for noun in RESOURCES:
    router.include_router(noun.router)
