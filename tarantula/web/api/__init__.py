"""The API: one module a noun."""

from __future__ import annotations

from fastapi import APIRouter

from tarantula.web.api import (
    alerts,
    decisions,
    documents,
    items,
    people,
    publications,
    search,
    servers,
    streams,
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
        documents,
        items,
        people,
        search,
    ),
    *(streams, streams, views, alerts),
)
for noun in RESOURCES:
    router.include_router(noun.router)
