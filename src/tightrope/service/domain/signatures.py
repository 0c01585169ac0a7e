"""Signatures with a key of the service: of certificates, cookies and forms."""

import hashlib
import hmac


def signature(key: bytes, text: bytes) -> str:
    """HMAC-SHA256 in hexadecimal."""
    return hmac.new(key, text, hashlib.sha256).hexdigest()


def agrees(key: bytes, text: bytes, given: str) -> bool:
    """Whether a signature is that of the text, compared in constant time."""
    return hmac.compare_digest(signature(key, text).encode(), given.encode())
