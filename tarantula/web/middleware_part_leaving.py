"""Whoever leaves before the answer is there is nobody's error."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

NO_RESPONSE = "No response returned."
"""What Starlette says of an answer that was given up because nobody waits for it."""


class DisconnectMiddleware:
    """Says nothing of answers that somebody did not wait for: a browser goes on to the next page at any moment."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass."""
        left = False

        async def receiving() -> Message:
            nonlocal left
            message = await receive()
            left |= message["type"] == "http.disconnect"
            return message

        try:
            await self._app(scope, receiving, send)
        except RuntimeError as error:
            if not left or str(error) != NO_RESPONSE:
                raise
