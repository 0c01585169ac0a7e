"""Requests whose address and headers are too large: refused before these are kept."""

from pydantic_core import to_json
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..domain.errors import Refused

MOST_HEAD = 64 * 1024  # bytes of a request's address and headers
MOST_HEADERS = 100
SLICE = 8 * 1024  # bytes that are parsed before the head is measured again
LINGER = 2.0  # seconds in which who is refused may read why; what else it sends is not kept


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which keeps headers of any size."""

    _refused = False
    _moved = False  # whether a request, its body or one of its headers came to an end in this slice
    _head = 0  # bytes of the address and the headers that are whole
    _piece = 0  # bytes of the one that is not

    def data_received(self, data: bytes) -> None:
        for first in range(0, len(data), SLICE):
            if self._refused or self.parser is None or self.transport.is_closing():
                return
            piece = data[first : first + SLICE]
            self._moved = False
            super().data_received(piece)
            self._piece = 0 if self._moved else self._piece + len(piece)
            if self._head + self._piece > MOST_HEAD:
                self._refuse_head()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._measure(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._measure(len(name) + len(value) + 4)

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._moved = True

    def on_chunk_complete(self) -> None:
        self._moved = True

    def send_400_response(self, msg: str) -> None:
        if not self._refused:
            super().send_400_response(msg)

    def _measure(self, size: int) -> None:
        """One more part of the head, or of what may follow a body like one."""
        self._moved = True
        self._head += size
        if self._head > MOST_HEAD or len(self.headers) > MOST_HEADERS:
            self._refuse_head()
            raise ValueError("The head is too large.")  # so that the parser ends

    def _refuse_head(self) -> None:
        if self._refused:
            return
        self._refused = True
        message = f"The request has more than {MOST_HEAD} bytes of address and headers, or more than {MOST_HEADERS} headers; send fewer."
        body = to_json(Refused(431, message).body())
        head = "HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\nconnection: close\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER, self.transport.close)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head, self._moved = 0, True
