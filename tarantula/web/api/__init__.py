"""The API: one module a noun."""

from __future__ import annotations

from fastapi import APIRouter

from tarantula.web.api import (
    alerts,
    comparing,
    decisions,
    documents,
    exports,
    items,
    people,
    publications,
    searching,
    servers,
    streams,
    types,
    views,
)
from tarantula.web.api.common import GUARDS, REFUSALS

__all__ = ["router"]

router = APIRouter(prefix="/api", dependencies=GUARDS, responses=REFUSALS)
NOUNS = (
    *(publications, types, items, documents, servers, decisions, comparing, exports, people, searching),
    *(streams, views, alerts),
)
for noun in NOUNS:
    router.include_router(noun.router)
