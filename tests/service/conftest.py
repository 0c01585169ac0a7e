import asyncio
import json
import pathlib
import sys
import time

import httpx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from postgres import server
from running import PRICES, Clock, create, documented, place, service_at

from tightrope_service import keys
from tightrope_service.app import create_app
from tightrope_service.settings import Settings


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def service(tmp_path, clock):
    """A service without HTTP on a new SQLite file, with a clock that the test moves."""
    with service_at(tmp_path / "a.db", clock) as running:
        yield running


@pytest.fixture
def served(tmp_path):
    """A function that sends requests to an application in this process, and its service. Every
    answer is held to OpenAPI."""
    with service_at(tmp_path / "a.db") as service:
        with service.database.write() as connection:
            made = {role: keys.create(connection, role) for role in keys.ROLES} | {
                "slow": keys.create(connection, "decide", per_second=2)
            }
        service.keys.refresh()
        app = create_app(Settings(most_bytes=200_000), service)

        async def sent(method, path, body, key, headers):
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            content = (
                body
                if isinstance(body, bytes)
                else None
                if body is None
                else json.dumps(body).encode()
            )
            async with httpx.AsyncClient(transport=transport, base_url="http://t") as client:
                given = {"Authorization": f"Bearer {made.get(key, key)}"} if key else {}
                return await client.request(
                    method,
                    path,
                    content=content,
                    headers=given | {"Content-Type": "application/json"} | headers,
                )

        def send(method, path, body=None, key="admin", **headers):
            answer = asyncio.run(sent(method, path, body, key, headers))
            documented(app.openapi(), method, path, answer)
            return answer

        send.app, send.service, send.keys = app, service, made
        yield send


@pytest.fixture
def price(service):
    """The experiment "price" of the service."""
    create(service)


@pytest.fixture
def served_price(served):
    served("POST", "/v1/experiments", PRICES)


@pytest.fixture(params=["sqlite", "postgresql"])
def path(request, tmp_path):
    """A new SQLite file, and a PostgreSQL server of its own."""
    if request.param == "sqlite":
        yield place(tmp_path / "k.db")
    else:
        with server(durable=False) as url:
            yield url


@pytest.fixture
def postgres_database(monkeypatch):
    """A new database of the PostgreSQL server that all tests share."""
    monkeypatch.setenv("TIGHTROPE_TEST_POSTGRES", "1")
    return place(f"test-{time.monotonic_ns()}")
