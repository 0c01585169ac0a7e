"""A message to a webhook: its body, and the headers by which a receiver knows who sent it (https://www.standardwebhooks.com)."""

import base64
import hashlib
import hmac

from pydantic_core import to_json

from ...core.types import JsonObject
from ..domain.notices import Notice
from ..domain.times import MICROSECONDS, timestamp


def body_of(notice: Notice, experiment: str, board: str | None) -> bytes:
    """The body, in JSON. board: the sentence of the board's first card."""
    data: JsonObject = {"experiment": experiment, "event": notice.seq, "what": notice.what, "board": board, **notice.data}
    return to_json({"type": notice.kind, "timestamp": timestamp(notice.time), "data": data}, inf_nan_mode="null")


def headers_of(message: str, body: bytes, secret: bytes, now: int) -> dict[str, str]:
    """The headers of an attempt. now: microseconds since 1970, when it is made."""
    time = str(now // MICROSECONDS)
    signed = b".".join((message.encode(), time.encode(), body))
    signature = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    return {
        "Content-Type": "application/json", "User-Agent": "tightrope", "webhook-id": message, "webhook-timestamp": time,
        "webhook-signature": f"v1,{signature}",
    }  # fmt: skip
