"""The HTTP API: one module for each kind of resource."""

from __future__ import annotations

from fastapi import APIRouter

from tarantula.web.api import (
    alerts,
    documents,
    items,
    people,
    publications,
    search,
    servers,
    streams,
    types,
    views,
    withholding,
)
from tarantula.web.api.common import API_DEPENDENCIES, ERROR_RESPONSES

__all__ = ["router"]

router = APIRouter(prefix="/api", dependencies=API_DEPENDENCIES, responses=ERROR_RESPONSES)
ROUTERS = (
    publications.router,
    types.router,
    items.router,
    documents.router,
    items.files_router,
    servers.router,
    items.decisions_router,
    documents.differences_router,
    items.exports_router,
    withholding.router,
    people.router,
    search.router,
    streams.router,
    streams.exports_router,
    views.router,
    alerts.router,
)
for resource in ROUTERS:
    router.include_router(resource)
