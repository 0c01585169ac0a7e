"""Whether the service lives, whether it is ready, and how it is doing."""

from typing import Literal

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from ..answers import example
from ..errors import Refused
from ..telemetry import metrics
from .common import Served, answer, replies

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """It is well."""

    model_config = example(status="ok")

    status: Literal["ok"]


@router.get("/healthz", responses=replies(Health))
async def healthz() -> Response:
    """The process answers."""
    return answer({"status": "ok"})


@router.get("/readyz", responses=replies(Health))
async def readyz(office: Served) -> Response:
    """Decisions can be made: the writer works and the last commit succeeded."""
    if office.closing or not office.writer.is_alive():
        raise Refused(503, "The service is shutting down.", retry_after=1)
    if office.writer.failing is not None:
        raise Refused(503, f"The last commit failed ({office.writer.failing}).", retry_after=1)
    return answer({"status": "ok"})


@router.get("/metrics", responses=replies(None))
async def show_metrics(office: Served) -> Response:
    """Metrics for Prometheus."""
    metrics().open.clear()  # experiments that another process has taken over
    for name, held in list(office.writer.held.items()):
        metrics().open.labels(name).set(len(held.live.open))
    return Response(generate_latest(metrics().registry), media_type=CONTENT_TYPE_LATEST)
