"""A sentence where the extra is not installed."""

import importlib.util

PACKAGES = ("fastapi", "uvicorn", "sqlalchemy", "alembic", "psycopg", "prometheus_client", "structlog", "httpx", "cryptography")


def require(packages: tuple[str, ...] = PACKAGES, extra: str = "service") -> None:
    """Raise ValueError that says what to install."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(f"{', '.join(missing)} is not installed; run pip install 'tightrope[{extra}]'.")
