"""Decisions over HTTP, with a log that is the truth; needs `pip install 'tightrope[service]'`."""

import importlib.util
import random
import secrets
import time
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
PACKAGES = (
    "fastapi",
    "uvicorn",
    "sqlalchemy",
    "alembic",
    "psycopg",
    "prometheus_client",
    "structlog",
    "httpx",
    "cryptography",
)


def require(packages: tuple[str, ...] = PACKAGES, extra: str = "service") -> None:
    """Raise ValueError that says what to install."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(
            f"{', '.join(missing)} is not installed; run pip install 'tightrope[{extra}]'."
        )


# Ids of decisions, made where a client gives none, and by the client library.


_RANDOM = random.Random(secrets.randbits(256))  # ids are not secret, only distinct


def new_id() -> str:
    """An id that nobody else makes; later ones sort behind earlier ones, which keeps the database's
    index compact."""
    return f"{time.time_ns() // 1_000_000:012x}{_RANDOM.getrandbits(80):020x}"
