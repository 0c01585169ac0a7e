"""Whether the service lives, whether it is ready, and how it is doing."""

from typing import Literal

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from ..domain.errors import Refused
from ..runtime.telemetry import metrics
from .answers import Answer
from .common import Served, answer, replies

router = APIRouter(tags=["health"])


class Health(Answer):
    """It is well."""

    status: Literal["ok"]


@router.get("/healthz", responses=replies(Health))
async def healthz() -> Response:
    """The process answers."""
    return answer({"status": "ok"})


@router.get("/readyz", responses=replies(Health))
async def readyz(service: Served) -> Response:
    """Decisions can be made: all logs are read, the writer works and the last commit succeeded."""
    if service.closing or not service.writer.is_alive():
        raise Refused(503, "The service is shutting down.", retry_after=1)
    if not service.writer.replayed:
        raise Refused(503, "The logs of the experiments are still being read.", retry_after=1)
    if service.writer.failing is not None:
        raise Refused(503, f"The last commit failed ({service.writer.failing}).", retry_after=1)
    return answer({"status": "ok"})


@router.get("/metrics", responses=replies(None))
async def show_metrics(service: Served) -> Response:
    """Metrics for Prometheus."""
    metrics().open.clear()  # experiments that another process has taken over
    for name, owned in list(service.writer.owned.items()):
        metrics().open.labels(name).set(len(owned.experiment.open))
    return Response(generate_latest(metrics().registry), media_type=CONTENT_TYPE_LATEST)
