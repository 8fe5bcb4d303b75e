"""Clients that disconnect before the response are no error; other failures are."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from tarantula.web.middleware import NO_RESPONSE, DisconnectMiddleware


def call(complaint: str, message: str) -> None:
    """Call an app that receives a message and then fails."""

    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        raise RuntimeError(complaint)

    async def receive() -> Message:
        return {"type": message}

    async def send(_message: Message) -> None:
        """Discard the message."""

    asyncio.run(DisconnectMiddleware(failing)({"type": "http"}, receive, send))


def test_a_disconnected_client_is_no_error() -> None:
    call(NO_RESPONSE, "http.disconnect")


@pytest.mark.parametrize(("complaint", "message"), [(NO_RESPONSE, "http.request"), ("broken", "http.disconnect")])
def test_other_failures_are_errors(complaint: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=complaint):
        call(complaint, message)
