"""The service's own secrets: made at first need, kept in the database."""

import secrets

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from .tables import secrets as table

CERTIFYING = "certificates"  # the private key for Ed25519 that certificates are signed with: any 32 bytes are one


def secret(connection: Connection, name: str) -> bytes:
    """256 random bits of this name; the same for all processes on the database. The connection must be one that writes."""
    query = sa.select(table.c.value).where(table.c.name == name)
    value = connection.execute(query).scalar_one_or_none()
    if value is None:
        try:
            with connection.begin_nested():
                connection.execute(sa.insert(table).values(name=name, value=secrets.token_bytes(32)))
        except sa.exc.IntegrityError:  # another process was first
            pass
        value = connection.execute(query).scalar_one()
    return bytes(value)
