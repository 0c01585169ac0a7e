"""The service's own secrets: made at first need, kept in the database, used to sign."""

import hashlib
import hmac
import secrets

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from .store.tables import secrets as table


def secret(connection: Connection, name: str) -> bytes:
    """256 random bits of this name; the same for all processes on the database. The connection must be one that writes."""
    query = sa.select(table.c.value).where(table.c.name == name)
    found = connection.execute(query).scalar_one_or_none()
    if found is None:
        try:
            with connection.begin_nested():
                connection.execute(sa.insert(table).values(name=name, value=secrets.token_bytes(32)))
        except sa.exc.IntegrityError:  # another process was first
            pass
        found = connection.execute(query).scalar_one()
    return bytes(found)


def signature(key: bytes, text: bytes) -> str:
    """HMAC-SHA256 in hexadecimal."""
    return hmac.new(key, text, hashlib.sha256).hexdigest()


def agrees(key: bytes, text: bytes, given: str) -> bool:
    """Whether a signature is that of the text, compared in constant time."""
    return hmac.compare_digest(signature(key, text).encode(), given.encode())
