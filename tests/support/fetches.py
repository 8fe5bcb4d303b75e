"""Fetch one or several documents from a synchronous test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import uvloop

from tarantula.fetch.client import HttpClient
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import Exchange, FetchRequest
from tests.support.waits import TIMEOUT_SECONDS

LOCAL = EgressPolicy(allow_private=True)
"""The servers of tests are on loopback."""
T = TypeVar("T")
Runner = Callable[[Coroutine[Any, Any, T]], T]
RUNNERS: dict[str, Runner[Any]] = {"asyncio": asyncio.run, "uvloop": uvloop.run}


def fetch_all(requests: list[FetchRequest], run: Runner[Any] = asyncio.run, **options: Any) -> list[Exchange]:
    """Fetch one after another with the same client."""

    async def main() -> list[Exchange]:
        client = HttpClient(**{"policy": LOCAL, **options})
        try:
            return [await client.fetch(request) for request in requests]
        finally:
            await client.close()

    exchanges: list[Exchange] = run(main())
    return exchanges


def fetch(url: str, run: Runner[Any] = asyncio.run, *, client: dict[str, Any] | None = None, **limits: Any) -> Exchange:
    """Fetch one document with a new client."""
    return fetch_all([FetchRequest(url, **{"timeout": TIMEOUT_SECONDS} | limits)], run, **client or {})[0]
