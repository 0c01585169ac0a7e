"""Connections that say nothing: closed after a while, so that nobody holds all of them half open."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

PATIENCE = 20.0  # seconds for a whole request to arrive, from its first byte or from the opening of its connection


class PatientProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which waits for ever for the end of a request that has begun."""

    _impatience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._calm()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._calm()

    def _expect(self) -> None:
        self._calm()
        self._impatience = self.loop.call_later(PATIENCE, self._give_up)

    def _calm(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
